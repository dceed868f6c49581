"""The result of a tuning search on a terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hpcbench.analysis.cases.quantities import Quantity, in_items_of
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import in_brackets, percent
from hpcbench.config.parameters import Parameters
from hpcbench.core.frameworks import CHOICES, SETTINGS
from hpcbench.core.run_spec import SHELL
from hpcbench.report.text.numbers import between, formatter, value_in_words
from hpcbench.tuning.paired_comparison import NEGLIGIBLE
from hpcbench.tuning.result import (
    ConfigurationResult,
    Failure,
    GridResult,
    HeldOutResult,
    Recommendation,
    ScheduleResult,
    TuningResult,
)
from hpcbench.util.causes import cause
from hpcbench.util.text import plural

NOTHING_SET = "framework defaults"
# A program with arguments that a shell would not change.
_PLAIN = re.compile(r"[\w./-]+( [\w./:,=@%+-]+)*")


def lines(finding: TuningResult, quantity: Quantity) -> Iterator[str]:
    """Yield the lines of the result of a search for one workload; the first line is its title."""
    quantity = in_items_of(quantity, finding.model)
    yield finding.title
    if finding.answer is None:
        yield "  no configuration could be measured; fix the failures, then search again: hpcbench tune"
    else:
        yield from _answer(finding.answer, quantity, alone=finding.settings == 1)
    if finding.by_section:
        yield from _by_section(finding.by_section, finding.answer, quantity)
    yield f"  measuring  {_measuring(finding)}"
    if finding.with_interference:
        how_many = f"{finding.with_interference:,} of {plural(finding.measurements, 'measurement')}"
        again = "those that were not repeated widen the intervals"
        yield f"  noisy      {how_many} had interference: {again}"
    if finding.grid and finding.answer:
        yield f"  full grid  {_grid(finding.grid, finding.answer.best, quantity)}"
    yield from _failures(finding)
    if finding.failed and finding.answer:
        yield "             fix the failures, then search again: hpcbench tune"
    if finding.answer:
        yield from _usage(finding.answer)


def _failures(finding: TuningResult) -> Iterator[str]:
    """Yield a line for each cause of failure: the first configuration, the number of others, and its message."""
    causes: dict[str, list[Failure]] = {}
    for each in finding.failed:
        causes.setdefault(cause(each.why), []).append(each)
    for first, *others in causes.values():
        more = f" and {plural(len(others), 'other configuration')}" if others else ""
        yield f"  failed     {in_words(first.parameters)}{more}: {first.why}"


def headline(finding: TuningResult, quantity: Quantity) -> str:
    """Return the result of a search for one workload in a sentence."""
    answer = finding.answer
    if answer is None:
        return "No configuration could be measured"
    best = in_words(answer.best.parameters)
    if answer.winner == answer.default:
        return f"The default is best: {best}"
    if not answer.certain:
        why = (
            "most runs of the comparison had interference"
            if answer.is_mostly_with_interference
            else "no significant gain"
        )
        return f"Keep the default ({best}): {why}"
    return f"Best: {best}" if answer.gain is None else f"{best} is {_gain(answer, quantity)}"


def _answer(answer: Recommendation, quantity: Quantity, *, alone: bool) -> Iterator[str]:
    known = answer.certain or answer.winner == answer.default
    yield f"  {'best      ' if known else 'keep      '} {_of(answer, answer.best, quantity)}"
    if answer.best != answer.default:
        yield f"  default    {_of(answer, answer.default, quantity)}"
    if not alone:
        yield f"  gain       {_gain(answer, quantity)}"
    if answer.differs:
        differences = (f"{name} {best} instead of {default}" for name, (best, default) in answer.differs.items())
        yield f"  work       {'; '.join(differences)}: the gain is not only due to settings"
    if answer.share_beaten is not None:
        others = f"{answer.beats:,} of the {answer.of:,} other measured configurations"
        yield f"  beats      {others} ({percent(answer.share_beaten)})"


def _of(answer: Recommendation, setting: ConfigurationResult, quantity: Quantity) -> str:
    """Return a configuration with its value; for the default, with the inherited environment variables."""
    words = in_words(setting.parameters)
    if setting == answer.default and answer.inherited:
        but = "but" if words == NOTHING_SET else "with"
        words += f", {but} {_assigned(answer.inherited)} from the environment"
    return _measured(words, setting, quantity)


def _setting(setting: ConfigurationResult, quantity: Quantity) -> str:
    return _measured(in_words(setting.parameters), setting, quantity)


def _measured(words: str, setting: ConfigurationResult, quantity: Quantity) -> str:
    value = setting.value
    if value is None:
        return words
    limits = between(value.low, value.high, formatter(quantity))
    return f"{words}: {value_in_words(quantity, value.estimate)}{f' [{limits}]' if limits else ''}"


def in_words(parameters: Mapping[str, Any]) -> str:
    """Return parameters as `intra_op_threads=2 inter_op_threads=1`, without unset values and defaults."""
    usual = {name: Parameters.model_fields[name].default for name in CHOICES}
    given = {name: value for name, value in parameters.items() if value is not None and value != usual.get(name)}
    return " ".join(f"{name}={value}" for name, value in given.items()) or NOTHING_SET


def _gain(answer: Recommendation, quantity: Quantity) -> str:
    if not answer.of:
        return "unknown (no other configuration could be measured)"
    if answer.winner == answer.default:
        return "none: no configuration seemed better than the default"
    if answer.gain is None:
        failed = "the default could not be measured" if answer.certain else "the default or the best candidate failed"
        return f"unknown: {failed}"
    if answer.is_mostly_with_interference:
        seemed = f"{in_words(answer.winner.parameters)} was {in_brackets(answer.gain)} as good in the comparison"
        return f"unknown: {_interference(answer)}; {seemed}; search again on an idle machine"
    if answer.certain:
        more = f" ({_interference(answer)})" if answer.with_interference else ""
        return f"{in_brackets(answer.gain)} {quantity.better} than the default{more}"
    seemed = f"{in_words(answer.winner.parameters)} seemed best and was {in_brackets(answer.gain)} as good"
    few = "; too few pairs for a verdict" if answer.gain.low and answer.gain.low > 1 else ""
    more = f"{few}; a larger measure.repetitions may decide" if _may_gain(answer.gain) else ""
    return f"not significant: {seemed} in {plural(answer.pairs, 'pair')} with the default{more}"


def _interference(answer: Recommendation) -> str:
    return f"{answer.with_interference:,} of {plural(answer.runs, 'run')} of the comparison had interference"


def _may_gain(gain: Interval) -> bool:
    return gain.high is None or gain.high >= 1 + NEGLIGIBLE


def _by_section(found: ScheduleResult, answer: Recommendation | None, quantity: Quantity) -> Iterator[str]:
    if not found.certain or found.gain is None:
        which = "" if found.fixed_threads is None else f" (best: {found.fixed_threads})"
        yield f"  per layer  one thread count for all layer groups{which}: {_why_one_count(found, answer, quantity)}"
        if found.held_out_left:
            shapes = plural(found.held_out_left, "held-out shape")
            yield f"             {shapes} not measured, since no schedule is significantly {quantity.better}"
        return
    gain = f"{in_brackets(found.gain)} {quantity.better}"
    yield f"  per layer  {gain} with per-layer threads than the best fixed setting: {found.schedule}"
    own = "for your own model: docs/guides/threads.md"
    yield f"             other cases use it by `schedule: {found.schedule}`; {own}"
    for each in found.held_out:
        yield f"             at {in_words(each.shape)}: {_at_shape(each)}"


def _at_shape(found: HeldOutResult) -> str:
    if found.gain is None:
        return f"could not be measured{f': {found.why}' if found.why else ''}"
    return f"{in_brackets(found.gain)}{'' if found.certain else ', not significant'}"


def _why_one_count(found: ScheduleResult, answer: Recommendation | None, quantity: Quantity) -> str:
    if found.gain is None:
        return str(found.why)
    instances = answer.best.parameters.get("instances") or 1 if answer else 1
    more = f"; a schedule uses one process, the best setting {instances}" if instances > 1 else ""
    return f"no schedule is significantly {quantity.better}, {in_brackets(found.gain)}{more}"


def _measuring(finding: TuningResult) -> str:
    return f"{_beside_grid(finding)}{_for_sections(finding.by_section)}"


def _for_sections(found: ScheduleResult | None) -> str:
    return f"; per-layer threads: {time_in_words(found.seconds)} more" if found and found.seconds else ""


def _beside_grid(finding: TuningResult) -> str:
    if not finding.grid_seconds:
        return time_in_words(finding.seconds)
    grid = f"the full grid {'took' if finding.grid else 'would take about'} {time_in_words(finding.grid_seconds)}"
    return f"{time_in_words(finding.seconds)}; {grid} ({percent(finding.seconds / finding.grid_seconds)})"


def _grid(grid: GridResult, found: ConfigurationResult, quantity: Quantity) -> str:
    if grid.best.case == found.case:
        return f"same best: {_setting(grid.best, quantity)}"
    if grid.slower is None:
        failed, once = "the found configuration failed", "one run cannot verify the choice"
        return f"{failed if grid.failed else once}; the best of the grid is {_setting(grid.best, quantity)}"
    took = f"the found configuration costs {in_brackets(grid.slower)} as much as the grid's choice"
    beats = f"beats {grid.beats:,} of {plural(grid.of, 'other setting')} of the grid"
    return f"{took}, and {beats}; the best of the grid by all measurements is {_setting(grid.best, quantity)}"


def _usage(answer: Recommendation) -> Iterator[str]:
    usage = answer.usage
    if answer.best == answer.default or not any(usage):
        return
    yield "  outside hpcbench:"
    start = f"env {_assigned(usage.variables)}" if usage.variables else ""
    program = _program(usage.command) if usage.command else "python your_program.py"
    together = " &" if len(usage.cpus) > 1 else ""
    for cpus in usage.cpus or ((),):
        placed = f"taskset --cpu-list {','.join(map(str, cpus))}" if cpus else ""
        yield f"    {' '.join(filter(None, (start, placed, program)))}{together}"
    if usage.cpus:
        yield "    (the CPUs of that run on this machine; another job may get others)"
    if usage.lines:
        yield f"    in the program, before its first operation: {'; '.join(usage.lines)}"
    if usage.others:
        yield f"    by the options of the program: {in_words(usage.others)}"
    inexact = _inexact(answer)
    if inexact:
        yield f"    results may differ by {' and '.join(inexact)}: check the accuracy"


def _program(command: str) -> str:
    """Return a command in one line for env and taskset, run by a shell if necessary."""
    command = command.strip()
    return command if _PLAIN.fullmatch(command) else f"{' '.join(SHELL)} {_one_word(command)}"


def _one_word(text: str) -> str:
    """Return a text as one quoted word of bash in one line."""
    if "\n" not in text:
        return shlex.quote(text)
    escaped = text.replace("\\", r"\\").replace("'", r"\'").replace("\n", r"\n")
    return f"$'{escaped}'"


def _assigned(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())


def _inexact(answer: Recommendation) -> list[str]:
    """Return the settings of the best configuration that may change results."""
    best, default = answer.best.parameters, answer.default.parameters
    names = ("dtype", *(setting.name for setting in SETTINGS if setting.changes_results))
    return [name for name in names if (best.get(name) or False) != (default.get(name) or False)]


def time_in_words(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours: `32 s`, `5 min 32 s`, `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
