"""The measurements of a case: time with interval, rates, percentiles, memory, energy, startup."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.latency import AVERAGED_OVER
from hpcbench.analysis.cases.quantities import items_of
from hpcbench.analysis.predicted.causes import differences
from hpcbench.analysis.predicted.columns import ABOVE, BELOW, DEVICE, REASON, TIME
from hpcbench.analysis.stats.intervals import Interval, minimum_samples
from hpcbench.analysis.stats.quantiles import PERCENTILES, short_name
from hpcbench.analysis.stats.ratio_text import in_brackets
from hpcbench.collect.class_bias import COLUMN
from hpcbench.config.metrics import interval_columns
from hpcbench.core.energy import KINDS
from hpcbench.core.frameworks import NONE, OPERATOR, SETTINGS, THREAD_COUNTS
from hpcbench.core.samples import INTERFERENCE
from hpcbench.core.training.communication import PORTS
from hpcbench.report.terminal.case.facts import Fact, Facts
from hpcbench.report.terminal.case.validation import validation_line
from hpcbench.report.terminal.case.view import CaseView, Row
from hpcbench.report.text.numbers import duration, figure, memory, rate_format
from hpcbench.report.text.predicted.ranking_columns import RATIO, ratio_cell
from hpcbench.util.text import plural

_BEFORE = {
    "import_s": "import",
    "build_s": "build",
    "first_step_s": "first step",
    "compile_s": "of which compile",
    "threads_search_s": "search for threads",
}

# Settings that are read back, except thread counts, which have a separate line.
_READ_BACK = [each.name for each in SETTINGS if each.effective and each.name not in THREAD_COUNTS]


def result(view: CaseView) -> Facts:
    """Return the measurements; none if nothing was measured."""
    row = view.row
    if row["time_median_s"] is None:
        return Facts([("validation", _validation(view)), ("warnings", row["warnings"])])
    facts: list[Fact] = [
        ("median", f"{duration(row['time_median_s'])}{_interval(row, 'time_ci_low_s', 'time_ci_high_s', duration)}"),
        ("", _of(row)),
        ("predicted", _predicted(row)),
        ("calls/s" if row["task"] == OPERATOR else f"{items_of(row['model'])}/s", _rate(row)),
        ("percentiles", _percentiles(row)),
        *_metrics(view),
        ("learning", _learning(row)),
        ("data", _data(row)),
        ("validation", _validation(view)),
        ("threads", _threads(view)),
        ("by layer group", _by_section(view)),
        ("computing", _computing(view)),
        ("settings", _settings(row)),
        ("memory", _memory(row)),
        ("communication", _communication(row)),
        ("energy", _energy(view)),
        (
            "before",
            ", ".join(f"{name} {duration(row[each])}" for each, name in _BEFORE.items() if row[each] is not None),
        ),
        ("work", _work(row)),
        ("warnings", row["warnings"]),
    ]
    return Facts(facts)


def _predicted(row: Row) -> str:
    """Return the predicted step time, or the reason if it is unknown; empty for sweeps without predictions."""
    if row.get(TIME.column) is None:
        return f"unknown ({row[REASON]})" if row.get(REASON) else ""
    low, high = (row[name] for name in TIME.limits)
    limits = f"90 % PI {duration(low)} - {duration(high)}"
    found = f"{RATIO} {ratio_cell(row, TIME)}" if row[TIME.ratio] is not None else "not measured"
    known = "; ".join(differences(row)) if row[TIME.verdict] in (ABOVE, BELOW) else ""
    return "; ".join(filter(None, (f"{duration(row[TIME.column])} ({limits}) on {row[DEVICE]}", found, known)))


def _interval(row: Row, low: str, high: str, written: Callable[[float], str]) -> str:
    return f" (95 % CI {written(row[low])} - {written(row[high])})" if row[low] is not None else ""


def _of(row: Row) -> str:
    """Return a description of the data that the median is computed from."""
    correlated = row["effective_measurements"] < row["measurements"]
    worth = f" ({row['effective_measurements']:,} effective)" if correlated else ""
    text = f"of {plural(row['runs'], 'run')}, {plural(row['measurements'], 'measurement')}{worth}"
    if not row["interference_runs"]:
        return text
    used = "used, because no clean run is left" if row["interference"] == INTERFERENCE else "left out"
    return f"{text}; {row['interference_runs']} with interference {used}"


def _rate(row: Row) -> str:
    if row["throughput_items_per_s"] is None:
        return ""
    items, low, high = row["items_per_step"], row["time_ci_low_s"], row["time_ci_high_s"]
    limits = [items / high, items / low] if low is not None and low > 0 else []
    written = rate_format(pd.Series([row["throughput_items_per_s"], *limits]))
    interval = f" (95 % CI {written(limits[0])} - {written(limits[1])})" if limits else ""
    return f"{written(row['throughput_items_per_s'])}{interval}"


def _percentiles(row: Row) -> str:
    """Return the known percentiles, and the reason why others are unknown."""
    if row[AVERAGED_OVER]:
        return f"unknown: measurements are means over {row[AVERAGED_OVER]}"
    known = [f"{short_name(name)} {duration(row[name])}" for name in PERCENTILES if row[name] is not None]
    unknown = next((name for name in PERCENTILES if row[name] is None), None)
    lacking = f"{short_name(unknown)} requires {minimum_samples(PERCENTILES[unknown]):,}" if unknown else ""
    return "; ".join(filter(None, [", ".join(known), lacking and f"{lacking} measurements"]))


def _metrics(view: CaseView) -> Iterator[Fact]:
    for column, metric in view.metrics.items():
        lacking = [why for record in view.records if (why := record.metrics_not_found.get(metric.name))]
        value = ""
        if view.row[column] is not None:
            is_time = metric.unit == "s" and view.row[column] > 0
            written, unit = (duration, "") if is_time else (figure, metric.unit)
            interval = _interval(view.row, *interval_columns(column), written)
            value = f"{written(view.row[column])} {unit}".rstrip() + interval
        count = f" in {plural(len(lacking), 'run')}" if value else ""
        not_found = f"not found{count}: {lacking[-1]}" if lacking else ""
        yield metric.name, "; ".join(filter(None, [value, not_found]))


def _learning(row: Row) -> str:
    if row["accuracy"] is None:
        return ""
    several = row["models"] > 1
    reached = f"; {row['models_trained']:g} of {row['models']} models reached the target" if several else ""
    rate = f", {row['models_per_minute']:.3g} models per minute" if several else ""
    epochs = f"{row['epochs']:g} epoch{'' if row['epochs'] == 1 else 's'}"
    return f"accuracy {row['accuracy']:.4f} after {epochs}{reached}{rate}"


def _data(row: Row) -> str:
    """Return whether the input pipelines delivered each item once per epoch, and the test for class bias."""
    if row["repeated_items"] is None:
        return ""
    order = {True: "reshuffled in each epoch", False: "the same order in each epoch"}.get(
        row["reshuffled"], "order not compared"
    )
    counts = (
        f"{row['repeated_items']:g} items repeated, {row['missing_items']:g} missing, {row['dropped_items']:g} dropped"
    )
    bias = row[COLUMN]
    return f"{counts}, {order}" + (f"; test for class bias: p = {bias:.2g}" if bias is not None else "")


def _validation(view: CaseView) -> str:
    return validation_line([record.validation for record in view.ended if record.validation])


def _threads(view: CaseView) -> str:
    """Return the effective thread counts, the requested ones if they differ, and how they were set."""
    parts = []
    for kind in THREAD_COUNTS:
        effective, asked = view.row[f"effective_{kind}"], view.row[kind]
        if effective is not None:
            differs = f" (requested: {asked})" if asked is not None and asked != effective else ""
            parts.append(f"{kind.removesuffix('_threads').replace('_', '-')} {effective}{differs}")
    setters = dict.fromkeys(by for record in view.ended if record.threads and (by := record.threads.by))
    by = f"; by {', '.join(setters)}" if setters else ""
    if view.planned.parameters["threads"] == NONE:
        by = "; not set by the experiment"
    return ", ".join(parts) + (by if parts else "")


def _dynamic(view: CaseView) -> Mapping[str, Any] | None:
    """Return the result of the last run with a per-layer thread plan."""
    return next((record.dynamic for record in reversed(view.ended) if record.dynamic), None)


def _computing(view: CaseView) -> str:
    """Return how many threads were active in each layer group at the largest thread count."""
    sections = (_dynamic(view) or {}).get("sections") or []
    if not sections:
        return ""
    most = max(sections[0]["busy"], key=int)
    seen = (f"{_place(section)} {section['busy'][most]}" for section in sections)
    return f"{', '.join(seen)}; {most} were set"


def _by_section(view: CaseView) -> str:
    """Return the per-layer thread plan and its gain, or the reason why a single count was kept."""
    found = _dynamic(view)
    if found is None or found["schedule"] is None:
        return f"one count: {found['why']}" if found else ""
    counts = (_section(section) for section in found["schedule"]["sections"])
    gain = ""
    if found.get("measured"):  # a schedule from a file has no gain
        gain = f"{in_brackets(Interval(*found['measured']['gain']))} faster than {found['fixed_threads']} for all"
    return "; ".join(filter(None, [", ".join(counts), gain]))


def _place(section: dict[str, Any]) -> str:
    return f"{section['module'] or 'all'}{' backward' if section['phase'] == 'backward' else ''}"


def _section(section: dict[str, Any]) -> str:
    branches = f" for {len(section['branches'])} concurrent branches" if section.get("branches") else ""
    return f"{_place(section)} {section['threads']}{branches}"


def _settings(row: Row) -> str:
    """Return the settings that were read back as effective."""
    effective = {name: row[f"effective_{name}"] for name in _READ_BACK}
    return ", ".join(f"{name} {value}" for name, value in effective.items() if value is not None)


def _memory(row: Row) -> str:
    sizes = {"process": row["peak_memory_bytes"], "device": row["peak_device_bytes"]}
    peaks = [f"{name} {memory(size)} peak" for name, size in sizes.items() if size is not None]
    saved = row["saved_activation_bytes"]
    return ", ".join([*peaks, *([] if saved is None else [f"saved activations {memory(saved)}"])])


def _communication(row: Row) -> str:
    """Return the bytes that a rank exchanges per step, and their ratio to the expected ones."""
    if row["communication_algorithm"] is None:
        return ""
    expected = f"{memory(row['expected_communication_bytes_per_step'])} by {row['communication_algorithm']}"
    if row["communication_bytes_per_step"] is None:
        return f"not measured ({row['communication_reason']}); expected per step and direction: {expected}"
    ratio = f"{row['communication_ratio']:.2f} x the expected {expected}"
    where = " at the ports of the nodes" if row["communication_source"] == PORTS else ""
    return f"{memory(row['communication_bytes_per_step'])} per task, step and direction{where}; {ratio}"


def _energy(view: CaseView) -> str:
    """Return the measured energy in J, or the reason why it is unknown."""
    row, parts = view.row, []
    for kind in KINDS:
        joules, off, each = (row[f"energy_{kind}_{what}"] for what in ("j", "uncertainty_j", "j_per_item"))
        if joules is not None:
            per_item = f", {figure(each)} J per item" if each is not None else ""
            parts.append(f"{kind} {figure(joules)} +- {figure(off)} J{per_item}")
    if row["energy_slurm_j"] is not None:
        parts.append(f"by Slurm {figure(row['energy_slurm_j'])} J")
    return "; ".join(parts) or _why_no_energy(view)


def _why_no_energy(view: CaseView) -> str:
    """Return the distinct reasons of the sensors for unknown energy."""
    reasons: dict[str, dict[str, None]] = {}
    for part in (part for record in view.ended for node in record.monitors for part in node.energy):
        if part.joules is None and (part.kind != "gpu" or view.planned.on_gpus):
            reasons.setdefault(str(part.reason), {})[part.domain] = None
    text = "; ".join(f"{', '.join(domains)}: {reason}" for reason, domains in reasons.items())
    return f"unknown: {text or view.row['energy_reason']}" if text or view.row["energy_reason"] else ""


def _work(row: Row) -> str:
    if row["parameter_count"] is None:
        return ""
    text = f"{row['parameter_count']:,} parameters, {row['flops_per_item']:,} FLOPs per item, "
    shapes = ", ".join(f"{name} {shape}" for name, shape in json.loads(row["input_shapes"]).items())
    return text + f"{shapes}, {row['dtype']}, {row['math_mode']}"
