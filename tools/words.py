"""List words that the writing rules of CONTRIBUTING.md exclude, and sentences of the documentation that are too long.

    tools/words.py [PATH...]

PATH is a file or a folder below the top level; by default all files that a user or a developer reads are checked:
documentation, templates, comments and descriptions in configs/, and docstrings, comments and messages of the package.
The words are in words.txt. Code blocks and code in backticks are skipped. Exit with status 1 if anything is listed.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "templates", "configs", "hpcbench")
LONG = 25  # words per sentence: the goal
TOO_LONG = 40  # words per sentence: listed
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
FENCE = re.compile(r"^[ >]*(`{3,}|~{3,}).*?^[ >]*\1`*\s*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\([^)\s]*(?: \"[^\"]*\")?\)")
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
TAG = re.compile(r"<!--.*?-->|<(style|script)\b.*?</\1>|</?[a-zA-Z][^<>]*>", re.DOTALL)
# A list item, a table row, a heading, a definition, an admonition or a tab starts a new block of text.
BLOCK = re.compile(r"^\s*(?:[-*+] |\d+\. |\||#|: |!!! |\?\?\? |=== )")
SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?]+[)\"'*]*(?:\s+|$)")
WORD = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True)
class Rule:
    """A pattern that must not occur, and what to use instead."""

    pattern: re.Pattern[str]
    instead: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Passage:
    """Connected text of a file, without code, and the line on which it begins."""

    line: int
    text: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings and a summary. Return 1 if there are findings, otherwise 0."""
    parser = argparse.ArgumentParser(description="List words and sentences that the writing rules exclude.")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="[default: all texts]")
    options = parser.parse_args(arguments)
    for path in options.paths:
        if not path.exists():
            parser.error(f"{str(path)!r} not found")
    files = sorted(_files(options.paths or [ROOT / source for source in SOURCES]))
    findings = 0
    lengths: list[int] = []
    for path in files:
        for found in _findings(path):
            print(found)
            findings += 1
        if path.suffix == ".md":
            lengths += [words for _, words in _sentences(_markdown(path.read_text()))]
    print(_summary(findings, len(files), lengths))
    return 1 if findings else 0


def _summary(findings: int, files: int, lengths: list[int]) -> str:
    """Return the numbers of findings and files, and the fraction of sentences with more words than the goal."""
    text = f"{findings} findings in {files} files"
    if lengths:
        percent = 100 * sum(words > LONG for words in lengths) / len(lengths)
        text += f"; {percent:.1f} % of {len(lengths)} sentences in Markdown have more than {LONG} words"
    return text


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        candidates = path.rglob("*") if path.is_dir() else [path]
        yield from (file for file in candidates if file.is_file() and _kind(file))


def _kind(path: Path) -> str:
    """Return docs, comments or python: how the text of the file is found; "" if it has none."""
    kinds = {".md": "docs", ".j2": "docs", ".yaml": "comments", ".yml": "comments", ".py": "python"}
    return kinds.get(path.suffix, "")


def _findings(path: Path) -> Iterator[str]:
    """Yield the findings of a file in the order of its lines, as text."""
    kind = _kind(path)
    source = path.read_text()
    passages = list(_passages(path.suffix, source))
    found = [
        (
            passage.line + passage.text.count("\n", 0, match.start()),
            f"{' '.join(match[0].split())!r}: use {rule.instead}",
        )
        for passage in passages
        for rule in rules()
        if not rule.kinds or kind in rule.kinds
        for match in rule.pattern.finditer(passage.text)
    ]
    if path.suffix == ".md":
        found += [
            (line, f"sentence of {words} words: use at most {LONG}")
            for line, words in _sentences(passages)
            if words > TOO_LONG
        ]
    for line, message in sorted(found):
        yield f"{_shown(path)}:{line}: {message}"


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


@cache
def rules() -> tuple[Rule, ...]:
    """Read the rules from words.txt."""
    lines = (Path(__file__).parent / "words.txt").read_text().splitlines()
    return tuple(_rule(line) for line in lines if line and not line.startswith("#"))


def _rule(line: str) -> Rule:
    pattern, instead, *kinds = re.split(r"\s{2,}", line)
    before = "" if pattern.startswith(",") else r"(?<![-\w./])"
    after = "" if pattern.endswith((",", ")")) else r"(?![-\w/]|\.\w)"
    words = re.compile(before + rf"(?:{pattern})".replace(" ", r"\s+") + after, re.IGNORECASE)
    return Rule(words, instead, frozenset(kinds[0].split()) if kinds else frozenset())


def _passages(suffix: str, source: str) -> Iterable[Passage]:
    if suffix == ".py":
        return _python(source)
    return _yaml(source) if suffix in (".yaml", ".yml") else _markdown(source)


def _without(pattern: re.Pattern[str], text: str, instead: str = "") -> str:
    """Replace the matches of the pattern, but keep their line breaks."""
    return pattern.sub(lambda match: instead + "\n" * match[0].count("\n"), text)


def _markdown(source: str) -> list[Passage]:
    """Return the paragraphs, list items, headings and table rows of Markdown or of a template."""
    text = source
    for pattern, instead in ((FENCE, ""), (CODE, "`X`"), (LINK, "]"), (JINJA, ""), (TAG, "")):
        text = _without(pattern, text, instead)
    passages = []
    block: list[str] = []
    first = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if block and (not line.strip() or BLOCK.match(line)):
            passages.append(Passage(first, "\n".join(block)))
            block = []
        if line.strip():
            first = first if block else number
            block.append(line)
    return passages


def _sentences(passages: Iterable[Passage]) -> Iterator[tuple[int, int]]:
    """Yield the line and the number of words of each sentence. A table cell ends a sentence."""
    for passage in passages:
        start = 0
        text = passage.text.replace("|", ".") if passage.text.lstrip().startswith("|") else passage.text
        for end in [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]:
            sentence = text[start:end]
            words = sum(bool(WORD.search(word)) for word in sentence.split())
            if words:
                indent = len(sentence) - len(sentence.lstrip())
                yield passage.line + text.count("\n", 0, start + indent), words
            start = end


def _yaml(source: str) -> Iterator[Passage]:
    """Yield the comments and the descriptions."""
    indent = -1  # of the description in whose lines the current one is, or -1
    for number, line in enumerate(source.splitlines(), start=1):
        depth = len(line) - len(line.lstrip())
        indent = indent if line.strip() and depth > indent else -1
        if match := re.match(r"\s*description:", line):
            indent = depth
            yield Passage(number, _without(CODE, line[match.end() :]))
        elif indent >= 0:
            yield Passage(number, _without(CODE, line))
        elif match := re.search(r"(?:^|\s)#(.*)", line):
            yield Passage(number, _without(CODE, match[1]))


def _python(source: str) -> Iterator[Passage]:
    """Yield the comments, the docstrings and other strings with spaces."""
    for line, text in (*_comments(source), *_strings(source)):
        yield Passage(line, _without(CODE, text, "`X`"))


def _comments(source: str) -> list[tuple[int, str]]:
    """Return the comments; those on consecutive lines are one."""
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = token.string.lstrip("#: ")
            if comments and comments[-1][0] + comments[-1][1].count("\n") + 1 == token.start[0]:
                text = f"{comments[-1][1]}\n{text}"
                comments[-1] = (comments[-1][0], text)
            else:
                comments.append((token.start[0], text))
    return comments


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings with spaces. The values inside an f-string become a placeholder."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        if " " in text:
            yield node.lineno, text


if __name__ == "__main__":
    sys.exit(main())
