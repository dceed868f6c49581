"""What is false about the advice to resume, or not to, after failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.reporting_rules import Evidence
from hpcbench.analysis.studies.rule_checks import missing_cases
from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.status.fails_again import failing_again, how_to_continue
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from tests.fixtures.records import a_record
from tests.report.sentences.random_tables import ERROR_TYPES, Made
from tests.report.sentences.truth import Truth

_SURE = ("data", "setup")  # of ERROR_TYPES, those that do not depend on the attempt
_FINAL = ("completed", "unsupported")


def progresses(made: Made) -> list[Progress]:
    """The state of each sweep of a table, with a record of each run."""
    return [_progress(str(sweep), rows, made.causes) for sweep, rows in made.repetitions.groupby("sweep", sort=False)]


def _progress(sweep: str, rows: pd.DataFrame, causes: dict[str, int]) -> Progress:
    runs = []
    for number, row in enumerate(rows[["case", "run", "status", "error"]].to_dict("records")):
        planned = PlannedRun(row["case"], 0, row["run"], number, {}, {}, {"repetitions": 1})
        error = None if pd.isna(row["error"]) else row["error"]
        record = _record(row["status"], error, error and ERROR_TYPES[causes[error]])
        runs.append(RunProgress("job-1", number, planned, row["status"], record=record, attempts=(record,)))
    return Progress(Sweep(Workspace(Path()).paths(sweep), {}), tuple(runs), ())


@cache
def _record(status: str, message: str | None, kind: str | None) -> Record:
    error = {"type": kind, "message": message, "last_lines": []} if message else None
    return a_record(status=status, error=error)


def with_failures(results: Results, found: list[Progress]) -> Results:
    """The results with the cases that would fail again, as `hpcbench report` makes them."""
    again = {(each.sweep.paths.name, run.planned.case_id) for each in found for run in failing_again(each)}
    return replace(results, fails_again=again)


def of_resume(results: Results, found: list[Progress], truth: Truth, made: Made) -> Iterator[str]:
    rows = truth.rows[~truth.rows["status"].isin(_FINAL)]
    again = {index for index, row in rows.iterrows() if _fails_again(row, truth, made)}
    cases = {(row["sweep"], row["case"]) for _, row in rows.loc[sorted(again)].iterrows()}
    yield from _of_rule(results, {key for key, row in truth.failed.items() if row["status"] != "unsupported"}, cases)
    for each in found:
        own = rows[rows["sweep"] == each.sweep.paths.name]
        text = how_to_continue(each)
        run = re.search(r"to resume ([\d,]+) runs?: hpcbench resume (\S+?)(?:;|$)", text)
        lost = re.search(r"([\d,]+) runs? would fail again", text)
        told = [int(match[1].replace(",", "")) if match else 0 for match in (run, lost)]
        if told != [len(own) - sum(own.index.isin(again)), sum(own.index.isin(again))]:
            yield f"{sum(own.index.isin(again))} of {len(own)} runs would fail again: {text}"


def _fails_again(row: pd.Series[Any], truth: Truth, made: Made) -> bool:
    """An error that does not depend on the attempt, or one cause of all runs of the case."""
    if row["status"] == "cancelled":
        return False
    all_runs = truth.runs[row["sweep"], row["case"]]
    kinds = {
        (status, made.causes.get(error)) for status, error in zip(all_runs["status"], all_runs["error"], strict=True)
    }
    return ERROR_TYPES[made.causes[row["error"]]] in _SURE or (len(all_runs) > 1 and len(kinds) == 1)


def _of_rule(results: Results, unfinished: set[tuple[str, str]], again: set[tuple[str, str]]) -> Iterator[str]:
    found = missing_cases(Evidence(results))
    text = found.remedy if found else ""
    told = re.search(r"([\d,]+) cases? would fail again", text)
    some = unfinished & again
    if ("hpcbench resume" in text) != bool(unfinished - again):
        yield f"{len(some)} of {len(unfinished)} cases would fail again: {text}"
    if told and int(told[1].replace(",", "")) != len(some):
        yield f"{len(some)} cases would fail again: {text}"
    if ("correct the cause" in text) != bool(some):
        yield f"{len(some)} cases would fail again without a word, or with one: {text}"
