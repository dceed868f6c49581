"""Values that mean harm, from a seed, and the ways to bring them in and to see what became of them."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hpcbench.config.yaml_document import Document, parse_yaml

LONGEST = 9_000
FRAGMENTS = [
    *("$(touch CANARY)", "`touch CANARY`", "; touch CANARY;", "&& touch CANARY", "| touch CANARY", "\ntouch CANARY\n"),
    *("${IFS}touch${IFS}CANARY", "$((a[$(touch CANARY)]))", "<(touch CANARY)", "> CANARY", "a[$(touch CANARY)]"),
    *("'", '"', "'\\''", "\\", "\\\\", "\\n", "$", "${", "}", "$'", "`", "!", "!!", "~", "*", "?", "[a-z]", "{a,b}"),
    *("(", ")", "<", ">", "|", "&", ";", "#", "%", "^", "=", ":", ",", "/", "@", "+", "_", ".", "-", "--", " "),
    *("\n", "\r", "\r\n", "\t", "\v", "\f", "\x01", "\x1b[2J", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\uffff"),
    *("\u202e", "\u200f", "\u200b", "\u0301", "\u00e9", "\u6f22", "\U0001f600", "\u00a0", "\u3000"),
    *("{{ 1 }}", "{{", "}}", "{% raw %}", "{% for i in x %}", "{#", "#}", "{{ ''.__class__ }}", "{{ quote }}"),
    *("\n#SBATCH --output=CANARY\n", "#SBATCH", " --wrap=x", "--output=CANARY", "-o", "-n9", "--", " #", "hetjob"),
    *("../", "../../..", "/etc/passwd", "/", "//", "./", "~root", "..", "C:\\", "file:///", "%A_%a", "%j"),
    *(
        "EOF",
        "<<EOF",
        "export X=1",
        "\nset -e\n",
        "exit 1",
        "exec",
        "null",
        "true",
        "1e5",
        "0x10",
        "1_000",
        "- a",
        "a: b",
    ),
    *("BASH_ENV=CANARY", "() { :; }; touch CANARY", "LD_PRELOAD=CANARY", "&a", "*a", "!!python/object:os.system"),
]
UNWRITABLE = ["\0", "\ud800", "\udfff", "a\0b", "\udc80"]
TAME = string.ascii_letters + string.digits + "_.,:/@%+=*&|()[]!~^-"  # what an option of sbatch may have in it


class Hostile:
    """A stream of values. What a CANARY in them would make is a file at `canary`."""

    def __init__(self, seed: int, canary: Path) -> None:
        self._random = random.Random(seed)
        self.canary = canary

    def values(self, count: int) -> list[str]:
        """Values that a file can carry."""
        return [self._value() for _ in range(count)]

    def unwritable(self, count: int) -> list[str]:
        """Values that none can."""
        choose = self._random
        made = []
        for value in self.values(count):
            place = choose.randrange(len(value) + 1)
            made.append(value[:place] + choose.choice(UNWRITABLE) + value[place:])
        return made

    def tame(self, count: int) -> list[str]:
        """Values of letters that are allowed in options."""
        return ["".join(self._random.choices(TAME, k=self._random.randint(1, 20))) for _ in range(count)]

    def _value(self) -> str:
        choose = self._random
        parts = choose.choices(FRAGMENTS, k=choose.randint(1, 5))
        if choose.random() < 0.3:
            parts.append(_any_text(choose))
        if choose.random() < 0.002:
            parts.append(choose.choice(FRAGMENTS) * choose.randint(100, 2000))
        choose.shuffle(parts)
        return "".join(parts).replace("CANARY", str(self.canary))[:LONGEST]


def _any_text(choose: random.Random) -> str:
    codes = (choose.randrange(1, 0x11_0000 if choose.random() < 0.5 else 0x80) for _ in range(choose.randint(1, 8)))
    return "".join(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF)


class _Dumper(yaml.SafeDumper):
    """Every text in double quotes, so that nothing but its value is left to the loader."""


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def document(content: dict[str, Any], name: str = "hostile.yaml") -> Document:
    """A file with this content, as hpcbench reads it. Raises UserError."""
    return parse_yaml(yaml.dump(content, Dumper=_Dumper, width=10**9, sort_keys=False), name)


def sbatch_reads(script: str) -> Iterator[str]:
    """The options that sbatch finds in a script, as its own parser does (src/sbatch/opt.c of Slurm 20.11 to 24.11).

    It looks at the lines before the first that is neither empty nor a comment. In one that begins with the word, blanks
    end an option, quotes and backslashes are taken away, and # begins a comment; the words hetjob and packjob begin a
    component, wherever they stand.
    """
    for line in script.split("\n"):
        assert not line.startswith(("#SLURM", "#PBS", "#BSUB")), line
        if not line.startswith("#SBATCH"):
            if line.strip() and not line.lstrip().startswith("#"):
                return
            continue
        assert "hetjob" not in line.lower(), line
        assert "packjob" not in line.lower(), line
        yield from _arguments(line.removeprefix("#SBATCH"))


def _arguments(line: str) -> Iterator[str]:
    letters, quote, escaped, begun = "", "", False, False
    for letter in line:
        if escaped:
            letters, escaped = letters + letter, False
        elif letter == "\\":
            escaped = True
        elif quote:
            letters, quote = (letters, "") if letter == quote else (letters + letter, quote)
        elif letter in "\"'":
            quote, begun = letter, True
        elif letter == "#":
            break
        elif letter in " \t\v\f\r":
            if letters or begun:
                yield letters
            letters, begun = "", False
        else:
            letters += letter
    assert not quote, f"sbatch ends at an unmatched quote: {line}"
    if letters or begun:
        yield letters
