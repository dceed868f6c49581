"""Evaluate each sentence of a report by its table of runs (truth.py), and return what is false."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.best_case import best_cases
from hpcbench.analysis.studies.scaling import scaling
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.ranking_notes import ranking_notes
from hpcbench.report.text.scaling_sentences import long_series
from hpcbench.report.text.text_columns import fitting
from tests.report.sentences.of_best_case import of_best
from tests.report.sentences.of_factors import of_factors
from tests.report.sentences.of_resume import of_resume, progresses, with_failures
from tests.report.sentences.of_rules import of_failures, of_rules
from tests.report.sentences.of_scaling import of_scaling
from tests.report.sentences.random_tables import Made
from tests.report.sentences.truth import Key, Truth, close


def false_claims(made: Made, results: Results) -> Iterator[str]:
    truth, found_runs = Truth(made.repetitions, made.base), progresses(made)
    results = with_failures(results, found_runs)
    yield from _of_workloads(results, truth)
    for found in best_cases(results):
        yield from of_best(found, sentence(found), truth, made)
    yield from of_factors(results, truth)
    for series in long_series(results):
        yield from of_scaling(scaling(series, results.replicates), series.cases, truth)
    yield from of_failures(results, truth, made)
    yield from of_rules(results, truth)
    yield from of_resume(results, found_runs, truth, made)
    yield from _of_notes(results, truth)
    yield from _of_tables(results, truth)


def _of_workloads(results: Results, truth: Truth) -> Iterator[str]:
    """Check that workloads are those of the rows, that titles differ, and that each speedup is over the right base."""
    found = [{*zip(work.cases["sweep"], work.cases["case"], strict=True)} for work in results.workloads]
    expected = {truth.workload(key): {*truth.alike(key)} for key in truth.measured}
    if sorted(map(sorted, found)) != sorted(map(sorted, expected.values())):
        yield f"workloads {found}, not {list(expected.values())}"
    for kind in ("title", "short_title"):
        names = [getattr(work, kind) for work in results.workloads]
        if len({*names}) < len(names):
            yield f"{kind}s of workloads are not distinct: {names}"
    for _, row in results.cases.iterrows():
        key = (row["sweep"], row["case"])
        if pd.isna(row["speedup_base"]) or pd.isna(row["speedup"]):
            continue
        base = truth.base(key)
        if row["speedup_base"] != "/".join(base or ()):
            yield f"speedup of {key} over {row['speedup_base']}, not {base}"
        if not truth.same_problem(key, _key(row["speedup_base"])):
            yield f"speedup of {key} over another problem size"
        column = "throughput_items_per_s"
        if not close(row["speedup"], truth.value(key, column) / truth.value(_key(row["speedup_base"]), column)):
            yield f"speedup of {key} is not {row['speedup']}"


def _key(name: str) -> Key:
    sweep, case = name.split("/")
    return sweep, case


def _of_notes(results: Results, truth: Truth) -> Iterator[str]:
    for text in ranking_notes(results):
        told = re.match(r"Workloads are ranked separately. They differ in: (.+)\.$", text)
        for name in told[1].split(", ") if told else ():
            values = {str(truth.case(key)[name]) for key in truth.measured}
            if len(values) < 2:
                yield f"{name} does not differ: {text}"
        if "ranked by time" in text:
            ranked = [work for work in results.workloads if results.ranked_by(work).column == "time_median_s"]
            if not ranked or not any(work.cases["metric_level"].notna().any() for work in ranked):
                yield f"not ranked by time: {text}"
    by_time = [work for work in results.workloads if results.ranked_by(work).column == "time_median_s"]
    by_time = [work for work in by_time if "metric_level" in work.cases and work.cases["metric_level"].notna().any()]
    if (
        by_time
        and results.quantity.column != "time_median_s"
        and not any("ranked by time" in text for text in ranking_notes(results))
    ):
        yield "ranked by time without a word"


def _of_tables(results: Results, truth: Truth) -> Iterator[str]:
    """Check that a value is never shown without its interval, however narrow the terminal is."""
    for work in results.workloads:
        columns = columns_of(work, results.quantity, results.metrics)
        for width in (60, 80, 120):
            kept = [column.header.replace("\n", " ") for column in fitting(columns, width)]
            wide = [column.header for column in columns]
            for place, header in enumerate(wide[:-1]):
                with_interval = wide[place + 1] == "95 % CI"
                if with_interval and header in kept and kept[kept.index(header) + 1 :][:1] != ["95 % CI"]:
                    yield f"{header} without its interval in {width} columns: {kept}"
