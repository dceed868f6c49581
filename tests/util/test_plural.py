"""One is one, and any other number of things is several."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from rich.console import Console

from hpcbench.report.text.counts import print_omitted
from hpcbench.util.text import plural


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 more cases"), (1, "1 more case"), (2, "2 more cases"), (2000, "2,000 more cases")]
)
def test_one_is_told_as_one(count: int, words: str) -> None:
    assert plural(count, "more case") == words


@pytest.mark.parametrize(("count", "words"), [(1, "... and 1 more case: show"), (3, "... and 3 more cases: show")])
def test_what_is_left_out_is_counted(count: int, words: str) -> None:
    console = Console(file=io.StringIO(), width=200)
    print_omitted(count, console, "--csv", "case")
    assert console.file.getvalue().startswith(words)  # type: ignore[attr-defined]


def test_counting_does_not_take_the_imports_of_a_report() -> None:
    code = "import sys, hpcbench.commands.shared.context; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
