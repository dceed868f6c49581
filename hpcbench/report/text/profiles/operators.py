"""Profiles of operators as columns and sentences, for terminal, page and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from hpcbench.analysis.profiles.clock_states import ClockStates
from hpcbench.analysis.profiles.step_profile import IN_NETWORK, STREAM, StepProfile
from hpcbench.analysis.results import Results
from hpcbench.report.text.numbers import column_format, duration, factor, figure
from hpcbench.report.text.profiles.clock_states import CLOCK_MOVED, MOVED, SENSORS, TIME
from hpcbench.report.text.text_columns import NEVER, Column
from hpcbench.util.fast_json import decoded
from hpcbench.util.text import plural

MAX_OPERATORS = 10  # of a profile
_LEAST, _MOST = 0.9, 1.1  # ratio of the sum of all operators to the step, if their times account for it
_MAX_TENSORS = 3  # of an operator
_MAX_TEXT = 60  # characters of its arguments
_LARGEST = 2**16  # characters of arguments that are parsed
_COUNTS, _SHAPES, _OTHER_TIMES, _ENERGY = 2, 1, 3, 4  # values of Column.gives_way


def title_of_states(case: ClockStates, results: Results) -> str:
    """Return a title: `clock states of model=lstm`."""
    return f"clock states of {results.label_of_profile(case)}"


def title_of(profile: StepProfile, results: Results) -> str:
    """Return a title: `operators of model=lstm: 96.2 % of a step of 12.3 ms`."""
    step = f"a step of {duration(profile.network_s)}" if profile.network_s else "a step that was not measured"
    if profile.network_s:
        step = f"{_percent(profile.sum_s / profile.network_s)} of {step}"
    return f"operators of {results.label_of_profile(profile)}: {step}"


def kinds_of(profile: StepProfile) -> list[Column]:
    """Return the columns of the table of kinds of operators: calls, time and share of a step, energy if measured."""
    kinds = profile.kinds
    unit, written = column_format(TIME, kinds["step_s"])
    columns = [
        Column("phase", tuple(kinds["phase"]), is_text=True),
        Column("kind", tuple(kinds["kind"]), is_text=True),
        Column("operators", tuple(f"{count:,}" for count in kinds["operators"]), _COUNTS),
        Column("calls", tuple(f"{count:,.0f}" for count in kinds["calls"]), _COUNTS),
        Column(f"time per step ({unit})", tuple(map(written, kinds["step_s"]))),
        Column("% of step", tuple(f"{100 * share:.1f}" for share in kinds["share"])),
    ]
    if profile.joules_per_step is not None:
        columns.append(Column("J per step", tuple(map(figure, kinds["joules_per_step"])), _ENERGY))
        covers = tuple(f"{100 * part:.0f}" for part in kinds["energy_covers"])
        columns.append(Column("% of time with energy", covers, _ENERGY))
    return columns


def longest_of(profile: StepProfile) -> list[Column]:
    """Return the columns of the table of the longest operators: shapes, calls, share, times of one call and rate."""
    rows = profile.operators[profile.operators["step_s"].notna()].head(MAX_OPERATORS)
    columns = [
        Column("operator", tuple(map(short_name, rows["operator"])), is_text=True),
        Column("phase", tuple(rows["phase"]), _COUNTS, is_text=True),
        Column("tensors", tuple(map(tensors, rows["arguments"])), _SHAPES, is_text=True),
        Column("calls", tuple(f"{count:,.0f}" for count in rows["calls_per_step"])),
        Column("% of step", tuple(f"{100 * share:.1f}" for share in rows["share"])),
    ]
    named = {"time of a call": "call_s", "hot": "hot_s", "cold": "cold_s", "in network": "in_network_s"}
    unit, written = column_format(TIME, pd.concat([rows[column] for column in named.values()]))
    for name, column in named.items():
        if rows[column].notna().any():
            cells = tuple("-" if pd.isna(time) else written(time) for time in rows[column])
            columns.append(Column(f"{name} ({unit})", cells, _OTHER_TIMES if column != "call_s" else NEVER))
    if rows["flops_per_s"].notna().any():
        rates = tuple(figure(rate / 1e9) for rate in rows["flops_per_s"])
        columns.append(Column("GFLOP/s", rates, _OTHER_TIMES))
    if rows["joules_per_step"].notna().any():
        columns += _joules(rows)
    return columns


def _joules(rows: pd.DataFrame) -> Iterator[Column]:
    """Yield the energy of a call in its step, marked if the clock moved, and its expanded uncertainty."""
    marks = [MOVED if moved else "" for moved in rows["clock_moved"]]
    joules, uncertainties = (
        [figure(value) for value in rows[name] / rows["calls_per_step"]]
        for name in ("joules_per_step", "joules_uncertainty")
    )
    cells = tuple(f"{value}{mark}" for value, mark in zip(joules, marks, strict=True))
    yield Column("J per call", cells, _ENERGY)
    yield Column("+- (95 %)", tuple(uncertainties), is_interval=True)


def no_energy_of_all(profiles: Sequence[StepProfile]) -> str:
    """Return the sentence on missing energy that all profiles share; empty if they differ, or one has energy."""
    found = {None if profile.joules_per_step is not None else _energy(profile) for profile in profiles}
    return found.pop() or "" if len(found) == 1 else ""


def sentences(profile: StepProfile, shared: str = "") -> Iterator[str]:
    """Yield sentences on the sum of the operators, the framework overhead, operators not timed alone, and energy.

    Omit the sentence `shared`, which the caller prints once for all profiles.
    """
    if profile.network_s and profile.sums:
        ratios = ", ".join(f"{name} {factor(each.ratio or 0)}{_lacking(each.lacking)}" for name, each in _sums(profile))
        yield f"Sum of all operators over the time of the whole step: {ratios}."
        yield from _which_times(profile)
    if profile.overhead is not None:
        yield _overhead(profile.overhead)
    if len(profile.not_alone):
        yield f"Not timed alone: {'; '.join(_not_alone(profile.not_alone.to_dict('records')))}."
    if _energy(profile) != shared:
        yield _energy(profile)
    if profile.operators["clock_moved"].any():
        yield CLOCK_MOVED


def _sums(profile: StepProfile) -> list[tuple[str, Any]]:
    """Return the sums, that in the stream first."""
    return sorted(profile.sums.items(), key=lambda item: item[0] != STREAM)


def _which_times(profile: StepProfile) -> Iterator[str]:
    """Yield which times account for the step, if those in the stream do not."""
    ratio = profile.sums[STREAM].ratio if STREAM in profile.sums else None
    if ratio is not None and not _LEAST <= ratio <= _MOST and IN_NETWORK in profile.sums:
        yield (
            f"The stream times do not account for the step (ratio not between {_LEAST} and {_MOST}): use the "
            "`in network` times. The framework overhead is computed from the stream times."
        )


def _lacking(count: int) -> str:
    return f" (without {plural(count, 'operator')})" if count else ""


def _overhead(part: float) -> str:
    if part < 0:
        return f"The operators take {_percent(-part)} longer than the whole step; framework overhead: not measurable."
    return f"Framework overhead: {_percent(part)} of the step is outside the operators."


def _not_alone(rows: Sequence[dict[Any, Any]]) -> Iterator[str]:
    for row in rows:
        share = f", {_percent(row['share'])} of the step" if row["share"] > 0 else ""
        yield f"{plural(row['operators'], 'operator')} ({plural(int(row['calls']), 'call')}{share}): {row['reason']}"


def _energy(profile: StepProfile) -> str:
    if profile.joules_per_step is None:
        return f"Energy by operator: not measured ({profile.no_energy}). {SENSORS}"
    text = f"Energy of the operators: {figure(profile.joules_per_step)} J per step"
    text += f", measured for {_percent(profile.energy_covers)} of their time"
    whole = profile.network.get("energy_per_call_j")
    return f"{text}; the whole step: {figure(whole)} J." if whole is not None and pd.notna(whole) else f"{text}."


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def short_name(operator: str) -> str:
    """Return the name of an operator without library and default overload: `convolution` for aten.convolution.default.

    Names of fused kernels, which list their members, are shortened.
    """
    name = operator.removeprefix("aten.").removesuffix(".default")
    return name if len(name) <= _MAX_TEXT else f"{name[: _MAX_TEXT - 3]}..."


def tensors(arguments: str) -> str:
    """Return the shapes of the largest tensors in arguments as JSON: `input 8x3x224x224, weight 64x3x7x7`.

    Another user may have written the text: it is shortened if it has no tensors by name.
    """
    try:
        given = decoded(arguments) if len(arguments) <= _LARGEST else None
    except ValueError:
        given = None
    found = list(_shapes(given)) if isinstance(given, dict) else []
    found.sort(key=lambda each: -each[0])
    if found:
        return ", ".join(text for _, text in found[:_MAX_TENSORS])[: 2 * _MAX_TEXT]
    return arguments if len(arguments) <= _MAX_TEXT else f"{arguments[: _MAX_TEXT - 3]}..."


def _shapes(given: dict[str, Any]) -> Iterator[tuple[float, str]]:
    """Yield size and text of each tensor, and of each list of tensors."""
    for name, value in given.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield float("inf"), f"{name}: {plural(len(value), 'tensor')}"
        number = value.get("tensors") if isinstance(value, dict) else None  # of a list that is too long
        if type(number) is int and 0 <= number < 2**63:
            yield float("inf"), f"{name}: {plural(number, 'tensor')}"
        shape = value.get("shape") if isinstance(value, dict) else None
        if isinstance(shape, list) and all(type(size) is int and 0 <= size < 2**63 for size in shape):
            size = 1.0
            for length in shape:
                size *= length
            yield size, f"{name} {'x'.join(map(str, shape)) or 'scalar'}"
