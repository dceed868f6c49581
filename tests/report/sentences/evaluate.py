"""Evaluate each sentence of a report by its table of repetitions (truth.py), and return what is false."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.best_case import BestCase, best_cases
from hpcbench.analysis.studies.importance import Importance
from hpcbench.analysis.studies.reporting_rules import RULES, Evidence, RuleViolation, not_applicable
from hpcbench.analysis.studies.rule_checks import check
from hpcbench.analysis.studies.scaling import Scaling, scaling
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.failures import failures_of
from hpcbench.report.text.importance_sentences import sentences as of_importance
from hpcbench.report.text.insights import importances
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.ranking_notes import ranking_notes
from hpcbench.report.text.scaling_sentences import long_series
from hpcbench.report.text.scaling_sentences import sentences as of_scaling
from hpcbench.report.text.text_columns import fitting
from tests.report.sentences.random_tables import Made
from tests.report.sentences.truth import HARDLY, SURE, Key, Truth, Values, close, named

_RATIO = r"([\d.,e+-]+)x(?: \[(?:([\d.,e+-]+), ([\d.,e+-]+)|unknown)\])?"
# The rates by these laws for a rate of 1 on one processor.
_SHAPES: dict[str, Callable[..., Values]] = {
    "Amdahl's law": lambda p, serial: 1 / (serial + (1 - serial) / p),
    "Gustafson's law": lambda p, serial: serial + (1 - serial) * p,
    "Universal Scalability Law": lambda p, a, b: p / (1 + a * (p - 1) + b * p * (p - 1)),
}
_BETTER = {"throughput_items_per_s": 1, "speedup": 1, "metric_rate_it_per_s": 1}


def false_claims(made: Made, results: Results) -> Iterator[str]:
    truth = Truth(made.repetitions, made.base)
    yield from _of_workloads(results, truth)
    for found in best_cases(results):
        yield from _of_best(found, sentence(found), truth, made)
    yield from _of_factors(results, truth)
    for series in long_series(results):
        yield from _of_scaling(scaling(series, results.replicates), series.cases, truth)
    yield from _of_failures(results, truth, made)
    yield from _of_rules(results, truth)
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


def _of_best(found: BestCase, text: str, truth: Truth, made: Made) -> Iterator[str]:
    column = found.quantity.column
    keys = truth.alike(found.best.key)
    values = {key: truth.value(key, column) for key in keys}
    values = {key: value for key, value in values.items() if not math.isnan(value)}
    if column.startswith("time_p"):
        return
    sign = _BETTER.get(column, -1)
    best = found.best.key
    if not close(values[best], found.value.estimate):
        yield f"value {found.value.estimate}, not {values[best]}: {text}"
    if sign * values[best] < max(sign * value for value in values.values()) - 1e-9 * abs(values[best]):
        yield f"not the best of {values}: {text}"
    if (found.cases, found.unknown) != (len(values), len(keys) - len(values)):
        yield f"cases {len(values)}, without a value {len(keys) - len(values)}: {text}"
    yield from _of_base(found, text, truth, made, values)
    yield from _of_gain(found, text, truth, values)
    for other in found.alike:
        chance = truth.p_value(best, other.key, column)
        if chance is not None and chance < HARDLY and not _overlap(truth, best, other.key, column):
            yield f"{other} is not within noise (p = {chance}): {text}"
    for case in (found.best, found.base.case):
        if case.name in text and not named(case.name, truth.case(case.key)):
            yield f"{case.name} is not {case.key}: {text}"
    yield from _of_runs(found, text, truth, values)


def _of_runs(found: BestCase, text: str, truth: Truth, values: dict[Key, float]) -> Iterator[str]:
    """Check claims on interference in runs that count, on unmonitored runs, and on single runs."""
    best, base = found.best.key, found.base.case.key
    disturbed = [key for key in values if truth.all_disturbed(key)]
    if {key for key in (best, base) if key in disturbed} != {each.key for each in found.disturbed}:
        yield f"interference in all runs of {disturbed}: {text}"
    if bool(disturbed) != ("had interference" in text.split("only unmonitored")[0]):
        yield f"interference in all runs of {disturbed} is not in: {text}"
    told = re.search(r"All runs of ([\d,]+) of ([\d,]+) cases had", text)
    if told and (int(told[1]), int(told[2])) != (len(disturbed), len(values)):
        yield f"interference in {len(disturbed)} of {len(values)} cases: {text}"
    if any(truth.only_unmonitored(key) for key in (best, base)) != ("only unmonitored runs count" in text):
        yield f"unmonitored runs: {text}"
    if ("rests on one run" in text) != (len(values) > 1 and any(len(truth.valid[key]) == 1 for key in (best, base))):
        yield f"single runs: {text}"


def _overlap(truth: Truth, one: Key, other: Key, column: str) -> bool:
    both = [truth.runs_of(key, column) for key in (one, other)]
    return bool(both[0].min() <= both[1].max() and both[1].min() <= both[0].max())


def _of_base(found: BestCase, text: str, truth: Truth, made: Made, values: dict[Key, float]) -> Iterator[str]:
    base, best = found.base.case.key, found.best.key
    is_command = truth.case(best)["framework"] == "command"  # has no speedup
    given = [key for key in values if key[1] == made.base and not is_command]
    first = truth.in_order(values)
    own = truth.base(best)
    alike = [key for key in first if (truth.base(key) == own if own else truth.same_problem(best, key))]
    expected = given[0] if given else (alike if len(alike) > 1 or found.quantity.column == "speedup" else first)[0]
    if base != expected:
        yield f"compared with {base}, not {expected}: {text}"
    words = (
        "the base case" if given else "the first case of its problem size" if base != first[0] else "the first case,"
    )
    if found.cases > 1 and words not in text:
        yield f"{base} is not called {words}: {text}"
    other = found.cases > 1 and not truth.same_problem(best, base)
    if other != ("(another problem size)" in text):
        yield f"problem size of {base}: {text}"


def _of_gain(found: BestCase, text: str, truth: Truth, values: dict[Key, float]) -> Iterator[str]:
    best, base, column = found.best.key, found.base.case.key, found.quantity.column
    if "no ratio" in text and values[best] > 0 and values[base] > 0:
        yield f"there is a ratio: {text}"
    if found.cases == 1 or best == base or f" {found.quantity.better} than" not in text.split("No case is")[0]:
        return
    sign = _BETTER.get(column, -1)
    ratio = (values[best] / values[base]) ** sign if values[base] and values[best] else math.nan
    told = re.search(rf"{_RATIO} {found.quantity.better} than", text)
    if told is None:
        yield f"no ratio: {text}"
        return
    shown = float(told[1].replace(",", ""))
    if not math.isclose(shown, ratio, rel_tol=0.006) and abs(shown - ratio) > 0.0051:
        yield f"{shown} is not {ratio}: {text}"
    if told[2]:
        low, high = (float(limit.replace(",", "")) for limit in (told[2], told[3]))
        if not low * 0.99 - 0.006 <= shown <= high * 1.01 + 0.006:
            yield f"the interval does not contain the ratio: {text}"
    is_sure = "but" not in text.split(" than ")[0] and "without an interval" not in text
    chance = truth.p_value(best, base, column)
    if is_sure and (ratio <= 1 or (chance is not None and chance > SURE)):
        yield f"significant with p = {chance}, ratio {ratio}: {text}"


def _of_factors(results: Results, truth: Truth) -> Iterator[str]:
    for found in importances(results):
        if found.reason:
            continue
        texts = of_importance(found)
        keys = _cases_of(results, found, truth)
        yield from _of_shares(found, texts, keys, truth)
        names = [name for name in results.shown if name in truth.rows]
        for text in texts:
            yield from _of_effect(text, found, keys, names, truth)
            yield from _of_noise(text, found, keys, names, truth)


def _cases_of(results: Results, found: Importance, truth: Truth) -> list[Key]:
    of = {"speedup": "throughput_items_per_s"}  # speedups over different bases have no common scale
    ranked = [(work.cases, results.ranked_by(work).column) for work in results.workloads]
    works = [cases for cases, column in ranked if of.get(column, column) == found.quantity.column]
    keys = [key for cases in works for key in zip(cases["sweep"], cases["case"], strict=True)]
    return [key for key in keys if truth.runs_of(key, found.quantity.column).size]


def _per_item(truth: Truth, key: Key, column: str) -> Values:
    runs, items = truth.runs_of(key, column), truth.case(key)["items_per_step"]
    scaled = column in ("throughput_items_per_s", "speedup", "price_per_million_items") and not pd.isna(items)
    return runs / float(items) if scaled else runs


def _of_shares(found: Importance, texts: list[str], keys: list[Key], truth: Truth) -> Iterator[str]:
    """Check that the noise is the variation of ranks within cases, and that the shares add up to at most 100 %."""
    column = found.quantity.column
    if column in ("peak_memory_bytes",) or column.startswith("time_p"):
        return
    rows = [(truth.workload(key), key, value) for key in keys for value in _per_item(truth, key, column)]
    frame = pd.DataFrame(rows, columns=["work", "key", "value"])
    groups = frame.groupby("work")["value"]
    frame["rank"] = (groups.rank() - (groups.transform("size") + 1) / 2) / groups.transform("size")
    total = (frame["rank"] ** 2).sum()
    noise = ((frame["rank"] - frame.groupby("key")["rank"].transform("mean")) ** 2).sum()
    told = next(int(match[1]) for text in texts if (match := re.match(r"Noise between repetitions is (\d+) %", text)))
    if total > 0 and abs(told - 100 * noise / total) > 0.51:
        yield f"noise is {100 * noise / total} %, not {told} %"
    shares = [float(match[1]) for text in texts if (match := re.search(r" explains? (\d+) % of the variation", text))]
    if sum(shares) + told > 100 + len(shares) + 1:
        yield f"more than the whole: {texts}"
    if found.quantity.title not in "".join(texts):
        yield f"not about {found.quantity.title}: {texts}"


def _pairs(
    factor: str, levels: tuple[str, str], keys: list[Key], names: list[str], truth: Truth, column: str
) -> list[tuple[Key, Key]]:
    """Return the pairs of cases of one workload that differ only in a factor and in what is confounded with it."""
    first, _, more = factor.partition(" (with ")
    own = [
        each if each in truth.rows else f"tag_{each}" for each in [first, *filter(None, more.rstrip(")").split(", "))]
    ]
    others = [name for name in names if name not in own]

    def level(key: Key) -> str:
        value = truth.case(key)[own[0]]
        return "unset" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)

    def rest(key: Key) -> tuple[object, ...]:
        return truth.workload(key), *(str(truth.case(key)[name]) for name in others)

    better, worse = ([key for key in keys if level(key) == each] for each in levels)
    known = {rest(key): key for key in worse if truth.value(key, column) > 0}
    return [(key, known[rest(key)]) for key in better if rest(key) in known and truth.value(key, column) > 0]


def _of_effect(text: str, found: Importance, keys: list[Key], names: list[str], truth: Truth) -> Iterator[str]:
    column = "throughput_items_per_s" if found.quantity.column == "speedup" else found.quantity.column
    told = re.match(rf"(.+?) explains \d+ % of .*?: (\S+) instead of (\S+) is {_RATIO} (\w+) \((.+)\)", text)
    if told is None or column.startswith("time_p"):
        return
    if "values in" in told[1]:
        return  # bins
    pairs = _pairs(told[1], (told[2], told[3]), keys, names, truth, column)
    count = 1 if told[8] == "one pair" else int(re.search(r"of ([\d,]+) pairs", told[8])[1].replace(",", ""))  # type: ignore[index]
    sign = _BETTER.get(column, -1)
    values = [[_speed(truth, key, column) for key in pair] for pair in pairs]
    logs = sorted(sign * math.log(one / two) for one, two in values)
    if len(logs) != count:
        yield f"{len(logs)} pairs: {text}"
        return
    ratio = math.exp(float(np.median(logs))) if len(logs) >= 6 else float(np.median(np.exp(logs)))
    shown = float(told[4].replace(",", ""))
    if not math.isclose(shown, ratio, rel_tol=0.006) and abs(shown - ratio) > 0.0051:
        yield f"ratio {ratio}: {text}"
    if told[7] != found.quantity.better or ratio <= 1:
        yield f"not {told[7]}: {text}"


def _speed(truth: Truth, key: Key, column: str) -> float:
    value = truth.value(key, column)
    if column == "throughput_items_per_s" and math.isnan(value):
        return 1 / truth.value(key, "time_median_s")
    return value


def _of_noise(text: str, found: Importance, keys: list[Key], names: list[str], truth: Truth) -> Iterator[str]:
    """Check that a factor called possible noise is not an obvious one, which separates every pair in one direction."""
    told = re.match(r"Possibly only noise in the .+?: (.+)\.$", text)
    column = "throughput_items_per_s" if found.quantity.column == "speedup" else found.quantity.column
    if told is None or column.startswith("time_p") or column == "peak_memory_bytes":
        return
    for factor in re.split(r", (?![^(]*\))", told[1]):
        first = factor.partition(" (")[0]
        own = first if first in truth.rows else f"tag_{first}"
        levels = list(dict.fromkeys("unset" if pd.isna(value) else str(value) for value in truth.rows[own]))
        for one, two in combinations(levels, 2):
            pairs = _pairs(factor, (one, two), keys, names, truth, column)
            runs = [len(truth.runs_of(key, column)) for pair in pairs for key in pair]
            signs = {np.sign(_speed(truth, a, column) - _speed(truth, b, column)) for a, b in pairs}
            apart = all(not _apart_not(truth, a, b, column) for a, b in pairs)
            whole = 2 * len(pairs) == len(keys) and len(truth.measured) == len(keys)
            if len(pairs) >= 4 and min(runs) >= 4 and len(signs) == 1 and apart and whole:
                yield f"{factor} differs in each of {len(pairs)} pairs: {text}"


def _apart_not(truth: Truth, one: Key, other: Key, column: str) -> bool:
    both = [_per_item(truth, key, column) for key in (one, other)]
    return bool(both[0].min() <= both[1].max() and both[1].min() <= both[0].max())


def _of_scaling(found: Scaling, cases: pd.DataFrame, truth: Truth) -> Iterator[str]:
    texts = of_scaling(found)
    keys = list(zip(cases["sweep"], cases["case"], strict=True))
    rates = {key: truth.value(key, "throughput_items_per_s") for key in keys}
    counts = {key: int(count) for key, count in zip(keys, cases["processors"], strict=True)}
    items = {
        key: float(truth.case(key)["items_per_step"]) / (counts[key] if found.kind == "weak" else 1) for key in keys
    }
    text = texts[0]
    if len({*items.values()}) > 1:
        yield f"not the same work: {items}: {text}"
    fewest = min(counts.values())
    base = max((rates[key], key) for key in keys if counts[key] == fewest)
    best = max((rates[key], key) for key in keys)
    if "is faster than" in text:
        if best[0] > base[0] * (1 + 1e-9):
            yield f"{best} is faster than {base}: {text}"
        return
    told = re.search(rf": {_RATIO} on ([\d,]+) (?:CPUs|GPUs) over ([\d,]+), an efficiency of ([\d.e+-]+) %", text)
    if told is None:
        yield f"cannot be read: {text}"
        return
    gain, most = best[0] / base[0], int(told[4].replace(",", ""))
    if (most, int(told[5].replace(",", ""))) != (counts[best[1]], fewest):
        yield f"numbers of processors {counts}: {text}"
    if not math.isclose(float(told[1].replace(",", "")), gain, rel_tol=0.006):
        yield f"gain {gain}: {text}"
    if not math.isclose(float(told[6]), 100 * gain * fewest / most, rel_tol=0.006):
        yield f"efficiency {gain * fewest / most}: {text}"
    tops = [max(rates[key] for key in keys if counts[key] == count) for count in sorted({*counts.values()})]
    if "each step is faster" in text and any(after <= before for before, after in pairwise(tops)):
        yield f"not each step is faster, {tops}: {text}"
    beyond = re.search(r"beyond ([\d,]+) (?:CPUs|GPUs), no number", text)
    if beyond:
        yield from _of_beyond(int(beyond[1].replace(",", "")), text, rates, counts, truth)
    yield from _of_laws(found, texts, rates, counts)


def _of_beyond(limit: int, text: str, rates: dict[Key, float], counts: dict[Key, int], truth: Truth) -> Iterator[str]:
    for key, count in counts.items():
        fewer = max((rates[other], other) for other in counts if counts[other] < count) if count > limit else None
        if fewer and rates[key] > 1.5 * fewer[0]:
            chance = truth.p_value(key, fewer[1], "throughput_items_per_s")
            if (
                chance is not None
                and chance < HARDLY
                and not _apart_not(truth, key, fewer[1], "throughput_items_per_s")
            ):
                yield f"{key} is faster (p = {chance}): {text}"


def _of_laws(found: Scaling, texts: list[str], rates: dict[Key, float], counts: dict[Key, int]) -> Iterator[str]:
    """Check that a named law is within 10 % of each rate, for some rate on one processor."""
    p = np.array([counts[key] for key in rates], dtype=np.float64)
    x = np.array(list(rates.values()))
    for fit in found.fits:
        scaled = x / _SHAPES[fit.law.name](p, *(each.estimate for each in fit.parameters.values()))
        if 0.9 * scaled.max() > 1.1 * scaled.min() * (1 + 1e-6):
            yield f"{fit.law.name} is off by more than 10 %: {x / x[0]} on {p}"
    for text in texts[1:]:
        told = re.match(r"By (?:the )?(.+?)(?:,| [\d.])", text)
        if told is None or told[1] not in [fit.law.name for fit in found.fits]:
            yield f"law that does not fit: {text}"


def _of_failures(results: Results, truth: Truth, made: Made) -> Iterator[str]:
    found = failures_of(results)
    expected: dict[tuple[str, int], int] = {}
    for row in truth.failed.values():
        kind = row["status"], made.causes[row["error"]]
        expected[kind] = expected.get(kind, 0) + 1
    told = {(failure.status, made.causes[str(failure.error)]): len(failure.cases) for failure in found}
    if len(found) != len(expected) or told != expected:
        yield f"failures {told}, not {expected}"
    for failure in found:
        count = re.match(r"([\d,]+) cases \(", failure.in_words)
        if len(failure.cases) > 1 and (count is None or int(count[1].replace(",", "")) != len(failure.cases)):
            yield f"number of cases: {failure.in_words}"


def _of_rules(results: Results, truth: Truth) -> Iterator[str]:
    """Check the counts of cases in findings on rules, and that rules called kept are kept."""
    evidence = Evidence(results)
    found = check(evidence)
    yield from _of_kept(results, {each.rule for each in found}, not_applicable(evidence), truth)
    lost, measured = len(truth.failed), len(truth.measured)
    single = sum(len(truth.valid[key]) == 1 for key in truth.measured)
    some = sum(2 <= len(truth.valid[key]) < 6 for key in truth.measured)
    unknown = sum(
        bool(((rows["status"] == "completed") & (rows["interference"] == "unmonitored")).any())
        for rows in (truth.runs[key] for key in truth.measured)
    )
    patterns = {
        r"(\d+) of (\d+) cases? did not complete": (lost, len(truth.runs)),
        r"(\d+) of (\d+) cases? rests? on one run": (single, measured),
        r"(\d+) of (\d+) cases? rests? on fewer than 6": (some, measured),
        r"whether there was interference in (\d+) of (\d+)": (unknown, measured),
    }
    for pattern, expected in patterns.items():
        told = [match for each in found if (match := re.search(pattern, each.lacking))]
        if told and (int(told[0][1]), int(told[0][2])) != expected:
            yield f"{expected}: {told[0].string}"
        if bool(told) != bool(expected[0]):
            yield f"{pattern}: {expected}"
    for text in (each.remedy for each in found if each.rule == 2):
        if "hpcbench resume" in text and all(row["status"] == "unsupported" for row in truth.failed.values()):
            yield f"resume of what is unsupported: {text}"
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


def _of_kept(results: Results, broken: set[int], unused: dict[int, str], truth: Truth) -> Iterator[str]:
    """Check which rules are kept, and which do not apply."""
    for number in RULES:
        if number in unused and number in broken and number not in (2, 9):
            yield f"rule {number} is broken and not applicable: {unused[number]}"
    if not truth.measured and any(number not in unused and number not in broken and number != 2 for number in RULES):
        yield f"rules are kept although nothing was measured: {sorted(unused)}, {broken}"
    if 2 not in broken and truth.failed:
        yield "rule 2 is kept although cases failed"


def _of_notes(results: Results, truth: Truth) -> Iterator[str]:
    for text in ranking_notes(results):
        told = re.match(r"Ranked separately, because their work differs in: (.+)\.$", text)
        for name in told[1].split(", ") if told else ():
            values = {str(truth.case(key)[name]) for key in truth.measured}
            if len(values) < 2:
                yield f"{name} does not differ: {text}"
        if "ranked by time" in text:
            ranked = [work for work in results.workloads if results.ranked_by(work).column == "time_median_s"]
            if not ranked or not any(work.cases["metric_level"].notna().any() for work in ranked):
                yield f"not ranked by time: {text}"
    by_time = [work for work in results.workloads if results.undirected(work)]
    if by_time and not any("ranked by time" in text for text in ranking_notes(results)):
        yield "ranked by time without a word"


def _of_tables(results: Results, truth: Truth) -> Iterator[str]:
    """Check that a value is never shown without its interval, however narrow the terminal is."""
    for work in results.workloads:
        columns = columns_of(work, results.quantity, results.metrics)
        for width in (60, 80, 120):
            kept = [column.header.replace("\n", " ") for column in fitting(columns, width)]
            wide = [column.header for column in columns]
            for place, header in enumerate(wide[:-1]):
                with_interval = wide[place + 1] == "95 % interval"
                if with_interval and header in kept and kept[kept.index(header) + 1 :][:1] != ["95 % interval"]:
                    yield f"{header} without its interval in {width} columns: {kept}"
