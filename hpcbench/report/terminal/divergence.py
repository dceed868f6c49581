"""The divergence of trainings on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.analysis.results import Results
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.text_columns import as_table, fitting
from hpcbench.report.text.training.divergence import TITLE, divergence_columns


def print_divergences(results: Results, top: int, console: Console) -> None:
    """Print the first `top` pairs of trainings, if trajectories were recorded."""
    pairs = results.divergences[:top]
    if not pairs:
        return
    console.print(Text(TITLE, style="italic"), soft_wrap=True)
    console.print(as_table(fitting(divergence_columns(results, pairs), console.width)))
    print_omitted(len(results.divergences) - top, console, "--html")
