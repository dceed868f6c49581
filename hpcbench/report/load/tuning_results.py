"""What a search has found, above the report of its measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent
from typing import NamedTuple

from hpcbench.status.progress import Progress
from hpcbench.store.sweep import Sweep


class TuningSummary(NamedTuple):
    """What a search has found: of which workload, in a sentence, and line by line; of one that has not ended only
    the sentence."""

    title: str
    headline: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the lines without their common indent."""
        return dedent("\n".join(self.lines))


def searches(progresses: Sequence[Progress]) -> list[str]:
    """Return the names of the searches among these sweeps."""
    return [progress.sweep.paths.name for progress in progresses if progress.sweep.tuning]


def tuning_summaries(progresses: Sequence[Progress]) -> Iterator[TuningSummary]:
    """Yield the result of each search among these sweeps, or that it has not ended."""
    for progress in progresses:
        if progress.sweep.tuning:
            yield from _summaries(progress.sweep)


def _summaries(search: Sweep) -> Iterator[TuningSummary]:
    # A quarter of a second, which reports of other sweeps need not wait for.
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
    """Return the case of the framework defaults if the sweep is one search of one workload: the base case."""
    searches = [progress.sweep.paths for progress in progresses if progress.sweep.tuning]
    if len(progresses) != 1 or not searches:
        return None
    from hpcbench.tuning.result_file import read_results  # late, as above

    found = read_results(searches[0]) or []
    answer = found[0].answer if len(found) == 1 else None
    return answer.default.case if answer and answer.default.value else None
