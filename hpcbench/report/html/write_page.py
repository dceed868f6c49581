"""Write the report page, with usage and commands of its sweeps."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from hpcbench.analysis.results import Results
from hpcbench.collect.resource_usage import used
from hpcbench.report.charts.components import Figure
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.html.build_page import Origin, page_of
from hpcbench.report.html.page_model import Command, Headline
from hpcbench.report.html.render import render
from hpcbench.report.load.tuning_results import TuningSummary
from hpcbench.report.terminal.usage import use_in_words
from hpcbench.report.text.insights import insights
from hpcbench.status.fails_again import failing_again
from hpcbench.status.progress import Progress
from hpcbench.submit.template import quoted


def write_page(
    results: Results,
    figures: Sequence[Figure],
    progresses: Sequence[Progress],
    searched: Sequence[TuningSummary],
    file: str,
) -> None:
    """Write the report page of `progresses` to `file`. Raise UserError if it cannot be written."""
    origin = Origin(
        tuple(_sweep_in_words(progress) for progress in progresses),
        tuple(use_in_words(used(progress)) for progress in progresses),
        tuple(command for progress in progresses for command in _again(progress)),
        datetime.datetime.now().astimezone(),
    )
    found = [Headline(summary.headline, about=summary.title, text=summary.text) for summary in searched]
    write_text(render(page_of(results, figures, insights(results), origin, found)), file)


def _sweep_in_words(progress: Progress) -> str:
    described = progress.sweep.description
    what = described["experiment"]["description"] or described["experiment"]["name"]
    return f"{what}; {progress.sweep.paths.name} on {described['site']['name']}, planned {described['created_at'][:10]}"


def _again(progress: Progress) -> Iterator[Command]:
    """Yield the commands that reproduce a sweep from a checkout of the same commit."""
    name, git = quoted(progress.sweep.paths.name), progress.sweep.description["git"] or {}
    if git.get("commit"):
        yield Command(f"git checkout {quoted(git['commit'])}", "the same workspace")
    yield Command(f"hpcbench sweep --from {name}", "rerun the same cases; warns about differences")
    yield Command(f"hpcbench archive {name}", "one file with the sweep, to store or share")
    if len(progress.to_do()) > len(failing_again(progress)):
        yield Command(f"hpcbench resume {name}", "rerun only missing and failed runs")
