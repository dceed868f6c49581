"""The profiles of operators on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbench.analysis.profiles.clock_states import ClockStates
from hpcbench.analysis.profiles.step_profile import StepProfile
from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.text.profiles.clock_states import DEFAULT_ONLY, columns_of, sentences_of
from hpcbench.report.text.profiles.clock_states import RULE as CLOCK_RULE
from hpcbench.report.text.profiles.operators import (
    kinds_of,
    longest_of,
    no_energy_of_all,
    sentences,
    title_of,
    title_of_states,
)
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

MAX_PROFILES = 24
_RULE = (
    "The time of an operator is that in the stream: on CPUs in real steps, on GPUs with weights not in the caches. "
    "Without it, the tables have its time inside the network."
)


def operators_of(results: Results) -> page_model.Aggregates | None:
    """Return tables of the clock states of each case, of its kinds of operators and of the longest operators.

    Return None without a profile.
    """
    profiles, cases = results.profiles, results.clock_states
    if not profiles and not cases:
        return None
    states = [_states(case, results) for case in cases[:MAX_PROFILES]]
    shared = no_energy_of_all(profiles[:MAX_PROFILES])
    operators = [table for profile in profiles[:MAX_PROFILES] for table in _tables(profile, results, shared)]
    about = f"{_RULE} {DEFAULT_ONLY} {CLOCK_RULE}" if cases else _RULE
    if shared:
        about += f" {shared}"
    if len(profiles) > MAX_PROFILES:
        about += f" The first {MAX_PROFILES} of {plural(len(profiles), 'profile')}."
    if len(cases) > MAX_PROFILES:
        about += f" The first {MAX_PROFILES} of {plural(len(cases), 'case')} with clock states."
    has_energy = any(each.joules_per_step is not None for each in profiles)
    has_energy = has_energy or any(state.joules_per_step is not None for case in cases for state in case.states)
    title = "Time and energy by operator" if has_energy else "Time by operator"
    return page_model.Aggregates(title, about, (*states, *operators), "Operators")


def _states(case: ClockStates, results: Results) -> page_model.Ranking:
    """Return the table of the step by state of the device."""
    return _table(title_of_states(case, results), columns_of(case), " ".join(sentences_of(case)))


def _tables(profile: StepProfile, results: Results, shared: str) -> Iterator[page_model.Ranking]:
    title = title_of(profile, results)
    note = " ".join(sentences(profile, shared))
    yield _table(f"{title}, by kind", kinds_of(profile), "")
    yield _table(f"{title}, the longest operators", longest_of(profile), note)


def _table(title: str, columns: Sequence[Column], note: str) -> page_model.Ranking:
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    return page_model.Ranking(title[:1].upper() + title[1:], headings, tuple(map(page_model.TableRow, rows)), note)
