"""The messages on the troubleshooting page are messages of the code, so that a search for a message finds it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from hpcbench.core import status
from hpcbench.core.samples import THROTTLING
from hpcbench.node.monitor import interference
from hpcbench.slurm import reasons

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "help" / "troubleshooting.md"
VARIES = "\0"  # in a text of the code: a value that is inserted when the program runs
FORMAT = re.compile(r"%(?:\.\d+)?[sdgrf]")
SHELL = re.compile(r"\$\([^)]*\)|\$\{[^}]*\}|\$\w+|\{\{.*?\}\}")
MIN_FIXED = 8  # letters of a message that the code must have literally
MIN_SHARE = 1 / 3


def rows(first: str) -> list[list[str]]:
    """Return the rows of all tables of the page whose first column has this title."""
    found, inside = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and set(cells[0]) != set("-"):
            found.append(cells)
    return found


MESSAGES = [row[0].strip("`") for row in rows("Message")]


def texts_of(node: ast.AST) -> Iterator[str]:
    """Yield the texts in a syntax tree, each with marks for inserted values. Adjacent literals are one text."""
    if isinstance(node, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else VARIES for part in node.values)
        yield "".join(parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield FORMAT.sub(VARIES, node.value).replace("%%", "%")
    for child in ast.iter_child_nodes(node):
        yield from texts_of(child)


@lru_cache
def texts() -> tuple[list[str], ...]:
    """Return the fixed parts of each text of the package, and of the messages in its script templates."""
    found: set[str] = set()
    for file in (ROOT / "hpcbench").rglob("*.py"):
        found.update(texts_of(ast.parse(file.read_text(encoding="utf-8"))))
    for given in re.findall(r"hpcbench: gave up: ([^\"]+)", "\n".join(found)):
        found.add(FORMAT.sub(VARIES, given))
    for template in (ROOT / "templates").glob("*.j2"):
        for given in re.findall(r'give_up "([^"]*)"', template.read_text(encoding="utf-8")):
            found.add(SHELL.sub(VARIES, given))
    return tuple(text.strip(" ;:,").split(VARIES) for text in sorted(found) if letters(text) >= MIN_FIXED)


def letters(text: str) -> int:
    return sum(letter.isalpha() for letter in text)


def is_text(parts: list[str], message: str) -> bool:
    """Return whether a text of the code gives this message for some values, and has enough of it literally."""
    *starts, last = parts
    if not starts:
        return last == message
    if not message.startswith(starts[0]) or not message.endswith(last):
        return False
    place = 0
    for part in parts:
        place = message.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return letters("".join(parts)) >= MIN_SHARE * letters(message)


def test_the_page_has_the_messages_that_matter():
    assert 40 <= len(MESSAGES) == len(set(MESSAGES))


@pytest.mark.parametrize("message", MESSAGES)
def test_the_code_has_the_message(message: str):
    assert any(is_text(parts, message) for parts in texts()), f"no text of hpcbench gives this message: {message}"


@pytest.mark.parametrize(("reason", "later"), [(row[0].strip("`"), row[1]) for row in rows("Reason")])
def test_hpcbench_explains_the_reason(reason: str, later: str):
    known = reasons.explain(reason)
    assert known is not None
    assert later == ("no" if known.never else "yes")


def test_the_page_has_every_status_of_a_run():
    assert [row[0].strip("`") for row in rows("Status")] == list(status.STATUSES)


def test_the_page_has_every_cause_of_interference():
    causes = (interference.CPU, interference.MEMORY, interference.IO, interference.GPU)
    assert [row[0].strip("`") for row in rows("Cause")] == [*causes, interference.STEAL, THROTTLING]


def test_a_message_that_no_code_has_is_not_found():
    assert not any(is_text(parts, "the flux capacitor of 'NAME' is not charged") for parts in texts())
