"""What is false about failures and the rules for reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.reporting_rules import RULES, Evidence, RuleViolation, not_applicable
from hpcbench.analysis.studies.rule_checks import check
from hpcbench.report.text.failures import failures_of
from tests.report.sentences.random_tables import Made
from tests.report.sentences.truth import Key, Truth


def of_failures(results: Results, truth: Truth, made: Made) -> Iterator[str]:
    found = failures_of(results)
    expected: dict[tuple[str, int], int] = {}
    for row in truth.failed.values():
        kind = row["status"], made.causes[row["error"]]
        expected[kind] = expected.get(kind, 0) + 1
    told = {(failure.status, made.causes[str(failure.error)]): len(failure.cases) for failure in found}
    if len(found) != len(expected) or told != expected:
        yield f"failures {told}, not {expected}"
    for failure in found:
        count = re.match(r" ([\d,]+) cases \(", failure.in_words)
        if len(failure.cases) > 1 and (count is None or int(count[1].replace(",", "")) != len(failure.cases)):
            yield f"number of cases: {failure.in_words}"


def of_rules(results: Results, truth: Truth) -> Iterator[str]:
    """Counts of cases in findings, and that what is kept is."""
    evidence = Evidence(results)
    found = check(evidence)
    yield from _of_kept({each.rule for each in found}, not_applicable(evidence), results, truth)
    lost, measured = len(truth.failed), len(truth.measured)
    single = sum(len(truth.valid[key]) == 1 for key in truth.measured)
    some = sum(2 <= len(truth.valid[key]) < 6 for key in truth.measured)
    unknown = sum(
        bool(((rows["status"] == "completed") & (rows["interference"] == "unmonitored")).any())
        for rows in (truth.runs[key] for key in truth.measured)
    )
    patterns = {
        r"(\d+) of (\d+) cases? did not complete": (lost, len(truth.runs)),
        r"(\d+) of (\d+) cases? ha(?:s|ve) one run": (single, measured),
        r"(\d+) of (\d+) cases? ha(?:s|ve) fewer than 6 runs": (some, measured),
        r"interference is unknown for (\d+) of (\d+)": (unknown, measured),
    }
    for pattern, expected in patterns.items():
        told = [match for each in found if (match := re.search(pattern, each.lacking))]
        if told and (int(told[0][1]), int(told[0][2])) != expected:
            yield f"{expected}: {told[0].string}"
        if bool(told) != bool(expected[0]):
            yield f"{pattern}: {expected}"
    yield from _of_interference([each.lacking for each in found if each.rule == 9], truth)
    yield from _of_bases(results, found, truth)


def _of_bases(results: Results, found: list[RuleViolation], truth: Truth) -> Iterator[str]:
    if results.base_given:
        return
    bases = [truth.base(key) for key in truth.measured if not math.isnan(truth.value(key, "speedup"))]
    several = {base for base in bases if base and bases.count(base) > 1}
    for text in (each.lacking for each in found if each.rule == 1):
        told = re.search(r"of each of ([\d,]+) workloads or problem sizes", text)
        if int(told[1]) != len(several) if told else len(several) != 1:
            yield f"bases {several}: {text}"
    if bool(several) != any(each.rule == 1 for each in found):
        yield f"bases {several} without a word"


def _of_interference(texts: list[str], truth: Truth) -> Iterator[str]:
    """The runs with interference of measured cases, and how many of them count."""
    ended = {key: truth.runs[key][truth.runs[key]["status"] == "completed"] for key in truth.measured}
    noisy = {key: int((rows["interference"] == "interference").sum()) for key, rows in ended.items()}
    used = sum(count for key, count in noisy.items() if truth.all_disturbed(key))
    expected = (sum(noisy.values()), sum(map(len, ended.values())), sum(map(bool, noisy.values())), len(truth.measured))
    told = [
        match for text in texts if (match := re.match(r"interference in (\d+) of (\d+) runs, in (\d+) of (\d+)", text))
    ]
    if bool(told) != bool(expected[0]) or (told and tuple(map(int, told[0].groups())) != expected):
        yield f"interference {expected}: {[match.string for match in told]}"
    for match in told:
        left_out, kept = (re.search(rf"(\d+) {word}", match.string) for word in ("left out", "w(?:as|ere) used,"))
        if [int(each[1]) if each else 0 for each in (left_out, kept)] != [expected[0] - used, used]:
            yield f"{used} of {expected[0]} runs with interference are used: {match.string}"


def _of_kept(broken: set[int], unused: dict[int, str], results: Results, truth: Truth) -> Iterator[str]:
    """A rule is kept only if there is something that it could forbid, and that follows it."""
    applies = _applicable(results, truth)
    for number in RULES:
        if number not in broken and (number in unused) == applies[number]:
            yield f"rule {number} applies: {applies[number]}, but the report says {unused.get(number, 'kept')}"
        if number in unused and number in broken and number not in (2, 9):
            yield f"rule {number} is broken and not applicable: {unused[number]}"
    if 2 not in broken and truth.failed:
        yield "rule 2 is kept although cases failed"
    if not {5, *unused} & broken and any(len(truth.valid[key]) == 1 for key in truth.measured):
        yield "rule 5 is kept although a case has one run"
    if 11 not in broken | {*unused}:
        pairs = [(key, truth.base(key)) for key in truth.measured if not math.isnan(truth.value(key, "speedup"))]
        if not results.base_given and any(base and _width(truth, key) != _width(truth, base) for key, base in pairs):
            yield "rule 11 is kept although a speedup is over a case on another number of CPUs"


def _width(truth: Truth, key: Key) -> int:
    case = truth.case(key)
    return int(case["nodes"] * case["tasks_per_node"] * case["cpus_per_task"])


def _applicable(results: Results, truth: Truth) -> dict[int, bool]:
    """Whether there is something to check of each rule."""
    keys = truth.measured
    known = [key for key in keys if not math.isnan(truth.value(key, "speedup"))]
    speedups = any(truth.base(key) not in (None, key) for key in known)
    several = any(len(truth.alike(key)) > 1 for key in keys)
    intervals = any(len(truth.valid[key]) > 1 or truth.valid[key]["times_s"].map(len).max() > 1 for key in keys)
    tails = results.quantity.column.startswith("time_p") or any(truth.case(key)["task"] == "inference" for key in keys)
    parallel = any(truth.case(key)["nodes"] * truth.case(key)["tasks_per_node"] > 1 for key in keys)
    of_speedups, of_pairs, of_all = dict.fromkeys((1, 4, 11), speedups), dict.fromkeys((7, 12), several), (3, 5, 9)
    others = {2: True, 6: intervals, 8: bool(keys) and tails, 10: parallel}
    return {**of_speedups, **of_pairs, **dict.fromkeys(of_all, bool(keys)), **others}
