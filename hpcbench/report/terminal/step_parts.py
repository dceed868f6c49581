"""The parts of training steps on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.analysis.results import Results
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.step_parts import TITLE, parts_columns, parts_of
from hpcbench.report.text.text_columns import as_table, fitting


def print_step_parts(results: Results, top: int, console: Console) -> None:
    """Print the parts of the first `top` training steps, if cases of the task backward allow any."""
    parts = parts_of(results)
    if parts.empty:
        return
    console.print(Text(TITLE, style="italic"), soft_wrap=True)
    console.print(as_table(fitting(parts_columns(results, parts.head(top)), console.width)))
    print_omitted(len(parts) - top, console, "--html")
