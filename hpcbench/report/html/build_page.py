"""Build the model of the report page from the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.studies.best_case import BestCase, best_cases, key_of
from hpcbench.analysis.studies.reporting_rules import RULES, Evidence, RuleViolation, not_applicable
from hpcbench.analysis.studies.rule_checks import check
from hpcbench.core.samples import INTERFERENCE
from hpcbench.core.status import COMPLETED, FAILED
from hpcbench.report.charts import components
from hpcbench.report.html import page_model
from hpcbench.report.html.acceptance import acceptance_of
from hpcbench.report.html.divergence import divergences_of
from hpcbench.report.html.figure import on_page
from hpcbench.report.html.large_sweeps import aggregates_of, best_of_each, is_large, notice
from hpcbench.report.html.operators import operators_of
from hpcbench.report.html.predictions import predictions_of
from hpcbench.report.html.table import table_of
from hpcbench.report.html.threads import threads_of
from hpcbench.report.html.training_tables import equal_epochs_of, step_parts_of
from hpcbench.report.terminal.threads import gains
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.case_warnings import case_warnings
from hpcbench.report.text.failures import failures_of
from hpcbench.report.text.lone_cases import lone_cases
from hpcbench.report.text.predicted.notes import summaries
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.ranking_notes import ranking_notes
from hpcbench.util.text import plural

TOP = 10  # rows of a ranking
TOP_ALONE = 100  # rows of a table of cases that are the only ones of their workloads
MAX_WORKS = 12  # rankings
MAX_FAILURES = 50  # kinds of failures
MAX_NAMED = 20  # cases per kind of failure
OF_SEARCH = (
    "The tables below list all measurements of the search, including brief ones. Their best cases are not verified."
)


@dataclass(frozen=True)
class Origin:
    """The origin of the results, and the commands to reproduce them."""

    sweeps: Sequence[str]  # descriptions with sites
    use: Sequence[str]  # sentences on the resource usage of each sweep
    commands: Sequence[page_model.Command]
    created_at: datetime


def page_of(
    results: Results,
    figures: Iterable[components.Figure],
    insights: Sequence[str],
    origin: Origin,
    found: Sequence[page_model.Headline] = (),
) -> page_model.Page:
    """Return the page of a report.

    The headlines are the `found` results of searches, if any: the best of all measurements may differ from these by
    chance, or since it was measured briefly.
    """
    compared, alone = lone_cases(results)
    answers = [] if found else best_cases(results, compared)
    cut = is_large(results)
    return page_model.Page(
        title=f"{', '.join(dict.fromkeys(results.cases['experiment']))}: results",
        subtitle=tuple(origin.sweeps),
        created_at=origin.created_at,
        headlines=tuple(found) or _headlines(answers, compared, alone, results),
        notices=(*([OF_SEARCH] if found else []), *_notices(results, compared)),
        rankings=(
            *(_ranking(work, answers, results) for work in compared[:MAX_WORKS]),
            *(_without_ranks(work, results) for work in alone),
        ),
        insights=tuple(insights),
        figures=tuple(map(on_page, figures)),
        threads=threads_of(results),
        operators=operators_of(results),
        aggregates=aggregates_of(results) if cut else None,
        acceptance=acceptance_of(results),
        predictions=predictions_of(results),
        step_parts=step_parts_of(results),
        divergences=divergences_of(results),
        equal_epochs=equal_epochs_of(results),
        table=table_of(best_of_each(results.cases) if cut else results.cases, results),
        failures=tuple(_failures(results)),
        trust=_trust(results, origin.use),
        machines=tuple(_machines(results.repetitions)),
        again=page_model.Reproduction(tuple(origin.commands), _versions(results.repetitions)),
    )


def _headlines(
    answers: list[BestCase], compared: list[Workload], alone: list[Workload], results: Results
) -> tuple[page_model.Headline, ...]:
    """Return the headlines; gains of thread modes come first, if there are several modes."""
    if not results.workloads and len(results.failed) == len(results.cases):
        return (_without_results(results),)
    if not answers and not compared and alone:
        return (page_model.Headline("No comparison: each workload has one case."),)
    ways = tuple(gains(results))
    of_threads = [page_model.Headline(ways[0], about="Threads by mode", details=ways[1:])] if ways else []
    several = len(results.workloads) > 1 or bool(of_threads)
    return (*of_threads, *(_headline(each, several=several) for each in answers))


def _without_results(results: Results) -> page_model.Headline:
    """Return the headline if no case completed. The cases may have measurements, for example if validations failed."""
    counts = results.cases["status"].value_counts()
    said = (
        f"none of {plural(len(results.cases), 'case')} completed ({', '.join(f'{n:,} {s}' for s, n in counts.items())})"
    )
    if set(counts.index) == {FAILED}:
        said = f"all {len(results.cases):,} cases failed" if len(results.cases) > 1 else "the only case failed"
    reasons = [failure.error or "" for failure in failures_of(results)]
    return page_model.Headline(
        f"No results: {said}.", details=tuple(reasons) if len(reasons) == 1 and reasons[0] else ()
    )


def _headline(answer: BestCase, *, several: bool) -> page_model.Headline:
    runs = f"{answer.cases:,} cases" if answer.cases > 1 else "1 case"
    rests = f"{runs}; 95 % CI, n >= {answer.runs}."
    return page_model.Headline(sentence(answer), about=answer.work.short_title if several else "", details=(rests,))


def _notices(results: Results, compared: list[Workload]) -> Iterable[str]:
    if is_large(results):
        yield notice(results)
    if len(compared) > MAX_WORKS:
        text = f"Rankings show the first {MAX_WORKS} of {len(compared):,} workloads"
        yield f"{text}; the table below has all cases."
    yield from ranking_notes(results)
    yield from summaries(results)
    if not results.workloads:
        yield "No case has results; see the failures below."


def _ranking(work: Workload, answers: list[BestCase], results: Results) -> page_model.Ranking:
    headings, rows = _cells(work, results, TOP)
    answer = next((each for each in answers if each.work is work), None)
    best = work.cases.head(TOP)
    standings = [_standing(case, place, answer) for place, (_, case) in enumerate(best.iterrows())]
    places = tuple(
        page_model.TableRow(*each) for each in zip(rows, _bars(best, results.ranked_by(work)), standings, strict=True)
    )
    return page_model.Ranking(work.title, headings, places, _note(len(work.cases) - TOP))


def _without_ranks(work: Workload, results: Results) -> page_model.Ranking:
    headings, rows = _cells(work, results, TOP_ALONE)
    return page_model.Ranking(
        work.title, headings, tuple(map(page_model.TableRow, rows)), _note(len(work.cases) - TOP_ALONE)
    )


def _cells(work: Workload, results: Results, most: int) -> tuple[tuple[page_model.Heading, ...], list[tuple[str, ...]]]:
    columns = columns_of(work, results.quantity, results.metrics)
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    return headings, list(zip(*(column.cells for column in columns), strict=True))[:most]


def _note(left: int) -> str:
    return f"and {left:,} more, in the table below" if left > 0 else ""


def _bars(cases: pd.DataFrame, quantity: Quantity) -> list[page_model.Bar | None]:
    """Return the quantity with its interval as fractions of the longest bar."""
    columns = [quantity.column, *quantity.limits]
    known = np.array([cases[name] if name in cases else [np.nan] * len(cases) for name in columns], dtype=np.float64).T
    finite = known[np.isfinite(known)]
    if not finite.size or finite.max() <= 0:
        return [None] * len(cases)
    return [_bar(*row) for row in (known / finite.max()).tolist()]


def _bar(share: float, low: float, high: float) -> page_model.Bar | None:
    if not share >= 0:
        return None
    return page_model.Bar(share, max(low, 0.0), min(high, 1.0)) if low <= high else page_model.Bar(share)


def _standing(case: pd.Series[Any], place: int, answer: BestCase | None) -> page_model.Standing:
    if answer is None or pd.isna(case["time_median_s"]):
        return page_model.BEHIND
    if place == 0:
        return page_model.BEST
    return page_model.WITHIN_NOISE if key_of(case) in {each.key for each in answer.alike} else page_model.BEHIND


def _failures(results: Results) -> Iterable[page_model.Failure]:
    found = failures_of(results)
    for failure in found[:MAX_FAILURES]:
        named = () if failure.is_only_case else failure.cases[:MAX_NAMED]
        yield page_model.Failure(failure.status, failure.error or "", len(failure.cases), named, failure.log or "")
    more = found[MAX_FAILURES:]
    if more:
        count = sum(len(failure.cases) for failure in more)
        yield page_model.Failure("others", f"{plural(len(more), 'more reason')}; see --csv", count)


def _trust(results: Results, use: Sequence[str]) -> page_model.DataQuality:
    rows = results.repetitions
    completed = rows[rows["status"] == COMPLETED]
    with_interference = int((completed["interference"] == INTERFERENCE).sum())
    unsteady = int((completed["steady"] == False).sum())  # noqa: E712 - may be null
    facts = [
        page_model.Fact("runs", f"{len(completed):,} completed of {len(rows):,}"),
        page_model.Fact("with interference", f"{with_interference:,} of {len(completed):,}"),
        page_model.Fact("not steady after warm-up", f"{unsteady:,} of {len(completed):,}"),
    ]
    evidence = Evidence(results)
    found, unused = check(evidence), not_applicable(evidence)
    rules = tuple(
        _rule(number, [each for each in found if each.rule == number], unused.get(number)) for number in RULES
    )
    return page_model.DataQuality(tuple(facts), rules, (*use, *case_warnings(results.cases, results.full_label)))


def _rule(number: int, broken: list[RuleViolation], unused: str | None) -> page_model.RuleKept:
    rule = RULES[number]
    findings = tuple(f"{each.lacking}; {each.remedy}" for each in broken) or (unused or rule.kept,)
    verdict = "not kept" if broken else "not applicable" if unused else "kept"
    return page_model.RuleKept(number, rule.name, not broken, findings, verdict)


def _machines(repetitions: pd.DataFrame) -> Iterable[page_model.System]:
    """Yield a system per site and CPU model, with the distinct values of its facts."""
    known = repetitions[repetitions["cpu_model"].notna()]
    for (site, processor), rows in known.groupby(["site", "cpu_model"], sort=False):
        columns = {
            "GPUs": rows["gpu_model"],
            "nodes": rows["nodes_used"].str.split(",").explode(),
            "kernel": rows["kernel"],
            "CPU frequency governor": rows["cpu_governor"],
            "turbo": rows["cpu_turbo"],
        }
        facts = [page_model.Fact(name, _joined(values)) for name, values in columns.items() if values.notna().any()]
        yield page_model.System(f"{site}: {processor}", tuple(facts))


def _versions(repetitions: pd.DataFrame) -> tuple[page_model.Fact, ...]:
    named = {"hpcbench": "hpcbench_version", "git commit": "git_commit", "software": "software"}
    columns = {name: repetitions[column] for name, column in named.items()}
    return tuple(
        page_model.Fact(name, _joined(values, "; ")) for name, values in columns.items() if values.notna().any()
    )


def _joined(values: pd.Series[Any], separator: str = ", ") -> str:
    return separator.join(map(str, dict.fromkeys(values.dropna())))
