"""What a search has found, for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hpcbench.analysis.quantities import Quantity
from hpcbench.analysis.ratios import in_brackets, percent
from hpcbench.config.parameters import CHOICES, Parameters
from hpcbench.report.formats import between, formatter, value_in_words
from hpcbench.report.plural import plural
from hpcbench.tuning.finding import Answer, BySection, Finding, Grid, Setting


def lines(finding: Finding, quantity: Quantity) -> Iterator[str]:
    """The finding, line by line; the first is its title."""
    yield finding.title
    if finding.answer is None:
        yield "  no setting could be measured"
    else:
        yield from _answer(finding.answer, quantity)
    if finding.by_section:
        yield from _by_section(finding.by_section, quantity)
    yield f"  measuring  {_measuring(finding)}"
    if finding.disturbed:
        how_many = f"{finding.disturbed:,} of {plural(finding.measurements, 'measurement')}"
        yield f"  disturbed  {how_many} by others on this machine: the intervals are wider for it"
    if finding.grid and finding.answer:
        yield f"  full grid  {_grid(finding.grid, finding.answer.best, quantity)}"
    for case, why in finding.failed.items():
        yield f"  failed     {case}: {why}"
    if finding.answer:
        yield from _usage(finding.answer)


def _answer(answer: Answer, quantity: Quantity) -> Iterator[str]:
    yield f"  best       {_setting(answer.best, quantity)}"
    if answer.best != answer.default:
        yield f"  default    {_setting(answer.default, quantity)}"
    yield f"  gain       {_gain(answer, quantity)}"
    if answer.share_beaten is not None:
        others = f"{answer.beats:,} of the {answer.of:,} other settings that were measured"
        yield f"  it beats   {others} ({percent(answer.share_beaten)})"


def _setting(setting: Setting, quantity: Quantity) -> str:
    words, value = in_words(setting.parameters), setting.value
    if value is None:
        return words
    limits = between(value.low, value.high, formatter(quantity))
    return f"{words}: {value_in_words(quantity, value.estimate)}{f' [{limits}]' if limits else ''}"


def in_words(parameters: Mapping[str, Any]) -> str:
    """`intra_op_threads=2 inter_op_threads=1`; what is not set, or as it is where nobody sets it, is left out."""
    usual = {name: Parameters.model_fields[name].default for name in CHOICES}
    told = {name: value for name, value in parameters.items() if value is not None and value != usual.get(name)}
    return " ".join(f"{name}={value}" for name, value in told.items()) or "nothing set"


def _gain(answer: Answer, quantity: Quantity) -> str:
    if answer.winner == answer.default:
        return "none: nothing seemed better than the default"
    if answer.gain is None:
        failed = "the default could not be measured" if answer.certain else "the one that seemed best failed at last"
        return f"not known: {failed}"
    if answer.certain:
        return f"{in_brackets(answer.gain)} {quantity.better} than the default"
    seemed = f"{in_words(answer.winner.parameters)} seemed best, and beside the default was {in_brackets(answer.gain)}"
    return f"none that is certain: {seemed} as good"


def _by_section(found: BySection, quantity: Quantity) -> Iterator[str]:
    if found.schedule is None:
        yield f"  sections   one count of threads for all of them: {found.why}"
        return
    gain = "not known: one of both failed" if found.gain is None else in_brackets(found.gain)
    if not found.certain:
        unsure = f"that a schedule is {quantity.better} is not certain, {gain}"
        yield f"  sections   one count of threads for all of them: {unsure}"
        return
    yield f"  sections   {gain} {quantity.better} with threads by section than the best fixed setting: {found.schedule}"
    yield f"             in a program: with apply_schedule(model, {found.schedule!r}): ..."
    for each in found.held_out:
        stays = "could not be measured" if each.gain is None else in_brackets(each.gain)
        yield f"             at {in_words(each.shape)}: {stays}{'' if each.certain else ', not certain'}"


def _measuring(finding: Finding) -> str:
    return f"{_beside_grid(finding)}{_for_sections(finding.by_section)}"


def _for_sections(found: BySection | None) -> str:
    return f"; threads by section: {_time(found.seconds)} more" if found and found.seconds else ""


def _beside_grid(finding: Finding) -> str:
    if not finding.grid_seconds:
        return _time(finding.seconds)
    grid = f"the full grid {'took' if finding.grid else 'would take about'} {_time(finding.grid_seconds)}"
    return f"{_time(finding.seconds)}; {grid} ({percent(finding.seconds / finding.grid_seconds)})"


def _grid(grid: Grid, found: Setting, quantity: Quantity) -> str:
    if grid.best.case == found.case:
        return f"its best is the same: {_setting(grid.best, quantity)}"
    took = f"{in_brackets(grid.slower)} the cost of the grid's best"
    beats = f"beats {grid.beats:,} of {plural(grid.of, 'other setting')}"
    return f"{took}, {_setting(grid.best, quantity)}; {beats}"


def _usage(answer: Answer) -> Iterator[str]:
    usage = answer.usage
    if answer.best == answer.default or not any(usage):
        return
    yield "  outside hpcbench:"
    variables = [f"{name}={shlex.quote(value)}" for name, value in usage.variables.items()]
    start = " ".join(["env", *variables] if variables else [])
    for cpus in usage.cpus or ((),):
        placed = f"taskset --cpu-list {','.join(map(str, cpus))}" if cpus else ""
        yield f"    {' '.join(filter(None, (start, placed, 'python your_program.py')))}"
    if usage.lines:
        yield f"    in it, before its first operation: {'; '.join(usage.lines)}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
