"""The results of tuning searches, for the beginning of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent
from typing import NamedTuple

from hpcbench.status.progress import Progress
from hpcbench.store.sweep import Sweep


class TuningSummary(NamedTuple):
    """The result of a search: workload, sentence, and lines of the terminal; only the sentence if it has not ended."""

    title: str
    headline: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the lines without their common indent."""
        return dedent("\n".join(self.lines))


def searches(progresses: Sequence[Progress]) -> list[str]:
    """Return the names of the tuning searches among these sweeps."""
    return [progress.sweep.paths.name for progress in progresses if progress.sweep.tuning]


def tuning_summaries(progresses: Sequence[Progress]) -> Iterator[TuningSummary]:
    """Yield a summary per workload of each search among these sweeps, or one that the search has not ended."""
    for progress in progresses:
        if progress.sweep.tuning:
            yield from _summaries(progress.sweep)


def _summaries(search: Sweep) -> Iterator[TuningSummary]:
    # Slow imports, deferred until a sweep is a search.
    from hpcbench.config.experiment import load_experiment
    from hpcbench.report.terminal.tuning import headline, lines
    from hpcbench.submit.rerun import Rerun
    from hpcbench.tuning.objective import objective_of
    from hpcbench.tuning.result_file import read_results

    found = read_results(search.paths)
    if found is None:
        name = search.paths.name
        yield TuningSummary("", f"the search {name} has not ended; to continue: hpcbench resume {name}", ())
        return
    experiment = load_experiment(Rerun.of(search.paths).document())
    objective = objective_of(str((search.tuning or {}).get("metric")), experiment)
    for finding in found:
        title, *below = lines(finding, objective.quantity)
        yield TuningSummary(title, headline(finding, objective.quantity), tuple(below))


def default_of_search(progresses: Sequence[Progress]) -> str | None:
    """Return the case id of the framework defaults if the only sweep is a search of one workload, or None."""
    searches = [progress.sweep.paths for progress in progresses if progress.sweep.tuning]
    if len(progresses) != 1 or not searches:
        return None
    from hpcbench.tuning.result_file import read_results  # slow import, deferred as above

    found = read_results(searches[0]) or []
    answer = found[0].answer if len(found) == 1 else None
    return answer.default.case if answer and answer.default.value else None
