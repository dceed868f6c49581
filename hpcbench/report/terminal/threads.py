"""Thread modes as sentences and a table with a row per context, for terminal and page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import in_brackets, percent, times
from hpcbench.analysis.studies.guideline_transfer import Transfer, guideline_test
from hpcbench.analysis.studies.guidelines import TOLERANCE
from hpcbench.analysis.studies.threads import (
    GAINS,
    MODES,
    Overall,
    ThreadContext,
    ThreadMode,
    contexts_of,
    kept_as_unset,
    overall,
    schedules_kept,
)
from hpcbench.core.frameworks import DYNAMIC, FIXED, NONE
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.numbers import between, column_format, figure
from hpcbench.report.text.ranking import INTERVAL
from hpcbench.report.text.text_columns import NEVER, Column, as_table, fitting
from hpcbench.report.text.units import header_of
from hpcbench.util.text import plural

NAMES = {NONE: "none", FIXED: "best fixed", DYNAMIC: "dynamic"}
# Values of Column.gives_way.
_OVER_FIXED, _OF_FIXED, _SHARES, _ENERGY, _SETTING, _OF_TIME = 1, 2, 3, 4, 5, 6


def print_threads(results: Results, top: int, console: Console) -> None:
    """Print the comparison of thread modes, with the first `top` contexts; nothing without several modes."""
    contexts = contexts_of(results)
    if not contexts:
        return
    console.print(Text("threads by mode", style="italic"))
    console.print(as_table(fitting(columns_of(contexts[:top], guideline_test(results)), console.width)))
    print_omitted(len(contexts) - top, console, "--html", "context")
    for sentence in (*gains(results), *sentences(results)):
        console.print(Text(sentence), soft_wrap=True)


def gains(results: Results) -> Iterator[str]:
    """Yield a sentence on the gain of each pair of modes over all contexts, dynamic over none first."""
    for slower, faster in GAINS[::-1]:
        gain = overall(contexts_of(results), slower, faster)
        if gain:
            text = f"Threads, {NAMES[faster]} over {NAMES[slower]}: {_in_words(gain)}"
            yield text + _of_one_setting(results) if (slower, faster) == (NONE, DYNAMIC) else text


def _in_words(gain: Overall) -> str:
    text = f"{in_brackets(gain.gain)}, the median of {plural(gain.contexts, 'context')}; significantly faster in "
    text += f"{gain.above:,}, significantly slower in {gain.below:,}"
    chance = f"; if there were no difference, about {figure(round(gain.by_chance, 2))} of each would be due to chance"
    return f"{text}{chance if gain.by_chance else ''}."


def _of_one_setting(results: Results) -> str:
    """Return a sentence if dynamic threads mostly kept the default count, otherwise an empty string."""
    same, of = kept_as_unset(contexts_of(results), results.planned_repetitions)
    if 2 * same <= of:
        return ""
    text = f" In {same:,} of {plural(of, 'run')}, dynamic threads kept the default count"
    return f"{text}: both are then the same setting, and differ only by noise or by the measurement."


def sentences(results: Results) -> Iterator[str]:
    """Yield sentences on kept schedules, on the test of guidelines, and on the reliability of the times."""
    contexts, test = contexts_of(results), guideline_test(results)
    kept, others = schedules_kept(results.planned_repetitions)
    if kept or others:
        yield _of_schedules(kept, others)
    if test:
        yield _of_guidelines(test)
    elif contexts:
        yield "No guideline was tested: a test requires several networks, and a rule that holds on the others."
    yield from _remarks([mode for each in contexts for mode in each.modes.values()])


def columns_of(contexts: Sequence[ThreadContext], test: Transfer | None) -> list[Column]:
    """Return the columns that identify the contexts, and times, gains, shares beaten and energy of the modes."""
    names = [name for name, _ in contexts[0].context]
    rows = [dict(each.context) for each in contexts]
    columns = [_of_context(name, [row[name] for row in rows]) for name in names]
    for name in MODES:
        modes = [each.modes.get(name) for each in contexts]
        if any(modes):
            columns += _of_mode(name, modes)
    for pair in GAINS[::-1]:
        ratios = [each.gains.get(pair) for each in contexts]
        if any(ratios):
            columns += _of_gain(*pair, ratios)
    return [*columns, *_shares(contexts, test), *_energies(contexts)]


def _of_context(name: str, values: list[str]) -> Column:
    return Column(header_of(name), tuple(values), is_text=not all(map(_is_number, values)))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _of_mode(name: str, modes: Sequence[ThreadMode | None]) -> list[Column]:
    unit, written = column_format(TIME, pd.Series([mode.time_s.estimate for mode in modes if mode]))
    time = tuple(written(mode.time_s.estimate) if mode else "-" for mode in modes)
    limits = tuple(between(mode.time_s.low, mode.time_s.high, written) if mode else "" for mode in modes)
    columns = [Column(f"{NAMES[name]} ({unit})", time, _OF_TIME), Column(INTERVAL, limits, is_interval=True)]
    if name == FIXED:
        columns.append(Column("fixed threads", tuple(_setting(mode) for mode in modes), _SETTING, is_text=True))
    return columns


def _setting(mode: ThreadMode | None) -> str:
    """Return the thread counts of a mode, e.g. `2 intra, 1 inter`."""
    return ", ".join(f"{count} {name.split('_')[0]}" for name, count in mode.setting.items()) if mode else "-"


def _of_gain(slower: str, faster: str, ratios: Sequence[Interval | None]) -> list[Column]:
    cells = tuple(times(ratio.estimate) if ratio else "-" for ratio in ratios)
    limits = tuple(between(ratio.low, ratio.high, times) if ratio else "" for ratio in ratios)
    gives_way = {(NONE, FIXED): _OF_FIXED, (FIXED, DYNAMIC): _OVER_FIXED}.get((slower, faster), NEVER)
    return [
        Column(f"{NAMES[faster]} over {NAMES[slower]}", cells, gives_way),
        Column(INTERVAL, limits, is_interval=True),
    ]


def _shares(contexts: Sequence[ThreadContext], test: Transfer | None) -> list[Column]:
    """Return the fractions of other configurations that the default, dynamic threads and the guideline beat."""
    shares = {name: [each.modes[name].beats if name in each.modes else math.nan for each in contexts] for name in MODES}
    followed = {each.case: each.beats for each in test.followed} if test else {}
    named = {"none beats": shares[NONE], "dynamic beats": shares[DYNAMIC]}
    named["guideline beats, of none and fixed"] = [
        next((followed[case] for case in each.shares if case in followed), math.nan) for each in contexts
    ]
    return [
        Column(header, tuple("-" if math.isnan(share) else percent(share) for share in values), _SHARES)
        for header, values in named.items()
        if not all(map(math.isnan, values))
    ]


def _energies(contexts: Sequence[ThreadContext]) -> list[Column]:
    found = []
    for name in MODES:
        energies = [each.modes[name].energy_j if name in each.modes else None for each in contexts]
        if any(energies):
            cells = tuple(figure(energy.estimate) if energy else "-" for energy in energies)
            found.append(Column(f"{NAMES[name]} J per step", cells, _ENERGY))
    return found


def _of_schedules(kept: int, others: Counter[str]) -> str:
    text = f"With dynamic threads, {kept:,} of {plural(kept + others.total(), 'run')} kept a schedule"
    if not others:
        return f"{text}."
    ((why, often),) = others.most_common(1)
    return f"{text}; the others kept the best single count, {often:,} of them for this reason: {why}."


def _of_guidelines(test: Transfer) -> str:
    rules = Counter(each.words for each in test.followed)
    (rule, _), *others = rules.most_common()
    text = f"The guideline of the other networks ({rule}) beats"
    if others:
        text = f"The guidelines of the other networks (mostly: {rule}) beat"
    tested = f"{plural(len(test.followed), 'context')} of {plural(test.networks - test.without_rule, 'network')}"
    text += f" {_share(test.beats)} of the other configurations without dynamic threads (median over {tested})."
    within = sum(each.is_within for each in test.followed)
    limit = f"within {100 * TOLERANCE:g} % of the best of these in {plural(within, 'context')} ({_share(test.within)})"
    text += f" {'They are' if others else 'It is'} {limit}"
    unclear = sum(each.is_unclear for each in test.followed)
    text += f", in {unclear:,} of them within the noise." if unclear else "."
    none = f" For {plural(test.without_rule, 'network')}, no rule held on the others."
    return text + none if test.without_rule else text


def _share(share: Interval) -> str:
    """Return a share with its interval, e.g. `83 % [70 %, 91 %]`."""
    if share.low is None or share.high is None:
        return percent(share.estimate)
    return f"{percent(share.estimate)} [{percent(share.low)}, {percent(share.high)}]"


def _remarks(modes: Sequence[ThreadMode]) -> Iterator[str]:
    """Yield sentences on the reliability of the times and on the reason for unknown energy."""
    for name in MODES:
        chosen = [mode for mode in modes if mode.name == name and mode.chosen_of > 1]
        best = "best fixed" if name == FIXED else f"best {NAMES[name]}"
        if any(mode.is_lucky for mode in chosen):
            yield f"With one run per case, the gain of the {best} setting is biased upwards; repeat the runs."
        elif chosen:
            yield f"The time of the {best} setting is from runs that did not choose it."
    reasons = dict.fromkeys(mode.no_energy for mode in modes if mode.no_energy)
    if reasons and not any(mode.energy_j for mode in modes):
        yield f"The energy of a step is unknown: {next(iter(reasons))}."
