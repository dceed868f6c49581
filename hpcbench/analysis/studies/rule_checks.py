"""Checks of a report against the rules of reporting_rules.py. To add a check, add it to CHECKS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from hpcbench.analysis.cases import confounders, labels
from hpcbench.analysis.cases.confounders import WORK
from hpcbench.analysis.cases.latency import AVERAGED_OVER, INSTANCES, STEPS, TASKS, larger_steps
from hpcbench.analysis.cases.quantities import LATENCIES, MEMORY
from hpcbench.analysis.stats.intervals import MIN_TO_RESAMPLE, minimum_samples
from hpcbench.analysis.stats.quantiles import PERCENTILES, short_name
from hpcbench.analysis.stats.ratio_text import says_nothing
from hpcbench.analysis.studies.reporting_rules import Evidence, RuleViolation
from hpcbench.core.frameworks import FORWARD_TASKS
from hpcbench.core.run_spec import COMMAND, MOST_RUNS
from hpcbench.core.samples import INTERFERENCE, PROBED
from hpcbench.core.status import COMPLETED, UNSUPPORTED
from hpcbench.util.text import percent_above, plural

WIDE = 0.05  # fraction of the median to either side; the paper's example after rule 5
TAIL = "time_p99_s"
_WITHOUT_INTERVAL = (*LATENCIES, MEMORY)
_NOTHING = ""  # AVERAGED_OVER of measurements that are not means
_MAX_VALUES = 3  # named values in a line of text
_SEARCH_AGAIN = "fix the failures, then search again: hpcbench tune"


def check(evidence: Evidence) -> list[RuleViolation]:
    """Return the violations of a report, the worst first."""
    return [finding for each in CHECKS if (finding := each(evidence)) is not None]


def missing_cases(evidence: Evidence) -> RuleViolation | None:
    lost = evidence.results.cases.loc[evidence.results.cases["status"] != COMPLETED, "status"]
    if lost.empty:
        return None
    states = ", ".join(f"{count:,} {state}" for state, count in lost.value_counts().items())
    lacking = f"{_share(lost, evidence.results.cases)} did not complete ({states})"
    cases = evidence.results.cases.loc[lost.index]
    remedy = "explain why they are left out"
    if (lost != UNSUPPORTED).any():
        remedy = f"{_SEARCH_AGAIN if evidence.were_searched(cases) else _rerun(evidence, cases)}, or {remedy}"
    return RuleViolation(2, lacking, remedy)


def _rerun(evidence: Evidence, cases: pd.DataFrame) -> str:
    """Return the `hpcbench resume` command, or what else to do for cases that would fail again."""
    unfinished = cases[cases["status"] != UNSUPPORTED]
    keys = zip(unfinished["sweep"], unfinished["case"], strict=True)
    again = pd.Series([key in evidence.results.fails_again for key in keys], unfinished.index, dtype=bool)
    if not again.any():
        return _resume(unfinished)
    change = "correct the cause of the failures and start a new sweep"
    if again.all():
        return change
    return f"{_resume(unfinished[~again])}; {plural(int(again.sum()), 'case')} would fail again: {change}"


def single_runs(evidence: Evidence) -> RuleViolation | None:
    single = _those(evidence.measured, evidence.measured["runs"] == 1)
    if single is None:
        return None
    share = _share(single, evidence.measured, "has", "have")
    lacking = f"{share} one run: the interval excludes the variation between runs"
    return RuleViolation(5, lacking, _more_runs(evidence, single, 2))


def _more_runs(evidence: Evidence, cases: pd.DataFrame, required: int) -> str:
    """Return how to get the required runs of each case: those that had interference may suffice."""
    if evidence.were_searched(cases):
        return "a search measures dropped configurations only once; hpcbench tune --exhaustive measures all"
    left_out = cases["interference_runs"].where(cases["interference"] != INTERFERENCE, 0)
    if ((left_out > 0) & (cases["runs"] + left_out >= required)).any():
        return f"{_resume(cases)} --interference reruns those with interference"
    of_commands = cases["framework"].eq(COMMAND).all()
    option = "--repetitions (measure.repetitions)" if of_commands else "measure.repetitions"
    return f"set {option} to {MIN_TO_RESAMPLE} or more"


def interference_rule(evidence: Evidence) -> RuleViolation | None:
    """Check that no run had interference, an uncontrolled factor."""
    cases = _those(evidence.measured, evidence.measured["interference_runs"] > 0)
    if cases is None:
        return None
    causes = ", ".join(dict.fromkeys(", ".join(cases["interference_causes"].dropna()).split(", ")))
    lost = cases[cases["interference"] == INTERFERENCE]
    left_out = int(cases["interference_runs"].sum()) - int(lost["interference_runs"].sum())
    kept = [f"{left_out:,} left out"] if left_out else []
    kept += [_used(lost)] if len(lost) else []
    completed = int(evidence.measured["runs"].sum()) + left_out
    runs = f"{cases['interference_runs'].sum():,} of {completed:,} runs, in {_share(cases, evidence.measured)}"
    lacking = f"interference in {runs} ({causes}), in all attempts; {', '.join(kept)}"
    again = "a new search" if evidence.were_searched(cases) else f"{_resume(cases)} --interference, or a new sweep"
    place = "on whole nodes (exclusive: true)" if evidence.used_slurm else "on an idle machine"
    remedy = f"{again} {place} or with measure.idle_node"
    return RuleViolation(9, lacking, remedy)


def _used(cases: pd.DataFrame) -> str:
    """Return that the runs of cases with interference in all runs count."""
    count = int(cases["interference_runs"].sum())
    whose = "this case has" if len(cases) == 1 else "these cases have"
    return f"{count:,} {'was' if count == 1 else 'were'} used, because {whose} no clean runs"


def _resume(cases: pd.DataFrame) -> str:
    """Return the `hpcbench resume` command, with the name of the sweep if there is only one."""
    sweeps = cases["sweep"].unique()
    return f"hpcbench resume {sweeps[0] if len(sweeps) == 1 else 'SWEEP'}"


def unmonitored_runs(evidence: Evidence) -> RuleViolation | None:
    cases = _those(evidence.measured, evidence.measured["unmonitored"] > 0)
    if cases is None:
        return None
    lacking = f"interference is unknown for {_share(cases, evidence.measured)}"
    return RuleViolation(9, lacking, "see interference.reason in the records; very short commands cannot be monitored")


def unsteady_runs(evidence: Evidence) -> RuleViolation | None:
    """Check that runs were stationary, since no statistic describes a drifting time."""
    rows = evidence.valid
    unsteady = (rows["steady"] == False) | (rows["drift"].astype(float).abs() > WIDE)  # noqa: E712 - may be null
    cases = rows.loc[unsteady, ["sweep", "case"]].drop_duplicates()
    if cases.empty:
        return None
    share = _share(cases, evidence.measured, "was", "were")
    lacking = f"{share} not steady after warm-up, or drifted by over {100 * WIDE:.0f} %"
    of_programs = rows.loc[unsteady, PROBED].notna().all()
    more = "increase the number of steps in the program" if of_programs else "increase measure.max_warmup_s"
    return RuleViolation(5, lacking, f"{more}, or inspect --csv - --level measurement")


def uncontrolled_factors(evidence: Evidence) -> RuleViolation | None:
    found = confounders.uncontrolled(evidence.valid)
    if not found:
        return None
    lacking = f"differs between cases, but is not an axis: {', '.join(map(confounders.in_words, found.items()))}"
    for factor in found:
        axes = confounders.confounded_with(evidence.valid, factor, evidence.results.shown)
        if axes and factor != confounders.PLACE:  # a node is confounded with its only case
            names = " and ".join(map(labels.plain, axes))
            lacking += f"; {factor} is confounded with {names}: their effects cannot be separated"
    remedy = "keep it constant (slurm options, environment), or make it an axis with a user parameter"
    return RuleViolation(9, lacking, remedy)


def missing_intervals(evidence: Evidence) -> RuleViolation | None:
    several = evidence.intervals[(evidence.measured["runs"] > 1) & evidence.intervals["centre"].notna()]
    without = several[several[["low", "high"]].isna().any(axis=1)]
    if without.empty:
        return None
    share = _share(without, evidence.measured, "has", "have")
    lacking = f"{share} no interval: one value, or few values that are not all above 0"
    return RuleViolation(5, lacking, _more_runs(evidence, evidence.measured.loc[without.index], MIN_TO_RESAMPLE))


def wide_intervals(evidence: Evidence) -> RuleViolation | None:
    intervals = evidence.intervals[evidence.measured["runs"] > 1]
    away = intervals[["low", "high"]].sub(intervals["centre"], axis=0).abs().max(axis=1)
    reach = away / intervals["centre"].abs()
    wide = reach[reach > WIDE]
    if wide.empty:
        return None
    # Tables do not show the limits of these.
    limits = zip(wide.index, *(intervals.loc[wide.index, name] for name in ("low", "high")), strict=True)
    unknown = [index for index, low, high in limits if says_nothing(low, high)]
    remedy = "use more or longer runs, or an idle machine"
    bound, largest = f"{100 * WIDE:.0f} % from the median", percent_above(100 * WIDE, 100 * wide.max())
    if len(evidence.measured) == 1:
        lacking = f"the CI extends more than {bound}: {largest}"
        return RuleViolation(5, "the CI is unknown, because the runs differ too much" if unknown else lacking, remedy)
    widest = wide[wide.index.isin(unknown)] if unknown else wide
    several = f"the CIs of {_share(wide, evidence.measured)} extend more than {bound}"
    extent = " or are unknown" if unknown else f", up to {largest}"
    named = evidence.results.full_label(evidence.measured.loc[widest.nlargest(1).index].iloc[0])
    return RuleViolation(5, f"{several}{extent} ({named})", remedy)


def uncertain_order(evidence: Evidence) -> RuleViolation | None:
    """Check that the intervals of neighbours in the ranking do not overlap (section 3.2)."""
    quantity = evidence.results.quantity
    if not evidence.measured[WORK].duplicated().any():
        return None
    if quantity in _WITHOUT_INTERVAL:
        lacking = f"the ranking is by {quantity.column}, which has no interval"
        return RuleViolation(7, lacking, "inspect --csv - --level run to see whether the order is significant")
    after = evidence.intervals
    before = after.groupby(evidence.measured[WORK]).shift()
    neighbours = after["centre"].notna() & before["centre"].notna()
    known = neighbours & after["low"].notna() & before["low"].notna()
    uncertain = neighbours & ~((after["low"] > before["high"]) | (before["low"] > after["high"]))
    if not uncertain.any():
        return None
    missing = "" if known.equals(neighbours) else " or are missing"
    pairs = f"{uncertain.sum():,} of {plural(int(neighbours.sum()), 'pair')} of neighbours in the ranking"
    have = "has" if uncertain.sum() == 1 else "have"
    lacking = f"{pairs} {have} intervals that overlap{missing}"
    return RuleViolation(7, lacking, "ignore their order, or narrow the intervals with more runs")


def unknown_tails(evidence: Evidence) -> RuleViolation | None:
    """Check that tail latencies are known: those of inference, or of all cases if the ranking is by a percentile."""
    asked = evidence.results.quantity in LATENCIES
    column = evidence.results.quantity.column if asked else TAIL
    cases = evidence.measured[[column, AVERAGED_OVER, "task", "framework", PROBED]]
    cases = cases if asked else cases[cases["task"].isin(FORWARD_TASKS)]
    unknown = cases[cases[column].isna()]
    if unknown.empty:
        return None
    fewest = minimum_samples(PERCENTILES[column])
    more = f"increase min_measurements and max_time_s: {fewest:,} in all runs"
    if unknown[PROBED].notna().all():
        more = f"increase the number of steps in the program: {fewest:,} in all runs"
    elif (unknown["framework"] == COMMAND).all():  # with one measurement per run
        lower = f"rank by a lower percentile: a case has at most {MOST_RUNS:,} runs"
        more = f"set measure.repetitions to {fewest}" if fewest <= MOST_RUNS else lower
    causes = {
        STEPS: ("timed in blocks of steps", f"increase {larger_steps(unknown)} until single steps can be timed"),
        TASKS: ("means over tasks", "use a single task"),
        INSTANCES: ("means over instances", "run a single instance"),
        _NOTHING: (f"with fewer than {fewest:,} measurements", more),
    }
    counts = unknown[AVERAGED_OVER].fillna(_NOTHING).value_counts()
    causes = {cause: reason for cause, reason in causes.items() if cause in counts}
    lacking = ", ".join(f"{counts[cause]:,} {words}" for cause, (words, _) in causes.items())
    remedy = "; ".join(remedy for _, remedy in causes.values())
    return RuleViolation(8, f"{short_name(column)} is unknown for {_share(unknown, cases)} ({lacking})", remedy)


def averaged_rates(evidence: Evidence) -> RuleViolation | None:
    if not evidence.results.mean_rates:
        return None
    lacking = f"arithmetic means of rates: {', '.join(evidence.results.mean_rates)}"
    return RuleViolation(3, lacking, "set `reduce: median` for the metric, or measure the work and its time")


def unstated_base(evidence: Evidence) -> RuleViolation | None:
    if evidence.results.base_given:
        return None
    bases = _those(evidence.compared, evidence.compared["is_base"])
    if bases is None:
        return None
    first = bases.iloc[0]
    over = f"the first case, {evidence.results.full_label(first)} ({first['time_median_s']:.3g} s)"
    if len(bases) > 1:
        over = f"the first case of each of {len(bases):,} workloads or problem sizes (1.00x)"
    return RuleViolation(1, f"without a base case, speedups are relative to {over}", "set one with --baseline-case")


def few_runs(evidence: Evidence) -> RuleViolation | None:
    few = _those(evidence.measured, evidence.measured["runs"].between(2, MIN_TO_RESAMPLE - 1))
    if few is None:
        return None
    share = _share(few, evidence.measured, "has", "have")
    lacking = f"{share} fewer than {MIN_TO_RESAMPLE} runs: the CI assumes a log-normal distribution"
    remedy = f"{_more_runs(evidence, few, MIN_TO_RESAMPLE)}; {MIN_TO_RESAMPLE} or more assume none"
    return RuleViolation(6, lacking, remedy)


def missing_bounds(evidence: Evidence) -> RuleViolation | None:
    """Check that speedups have a bound (section 5.1): none is needed on as many processors as the base has."""
    cases = evidence.compared
    processors = cases["nodes"] * cases["tasks_per_node"] * cases["cpus_per_task"].where(cases["device"] == "cpu", 1)
    bases = cases.loc[cases["is_base"], ["speedup_base", "device"]].set_index("speedup_base")
    comparable = cases["device"] == cases["speedup_base"].map(bases["device"])
    of_base = cases["speedup_base"].map(processors[cases["is_base"]].set_axis(bases.index))
    ideal = (processors / of_base)[comparable]
    if ideal.eq(1).all():
        return None
    lacking = "speedups on more or fewer CPUs or GPUs than the base have no upper bound"
    bound = f"compare them with ideal scaling, here {ideal.min():g}x to {ideal.max():g}x"
    return RuleViolation(11, lacking, f"{bound}, as the figures of --html and --figures do")


def unknown_factors(evidence: Evidence) -> RuleViolation | None:
    unknown = confounders.unknown(evidence.valid)
    if not unknown:
        return None
    remedy = "ask the administrators, and report the value"
    if not evidence.used_slurm:
        remedy = "find the values on the machine, and report them"
    return RuleViolation(9, f"unknown for some runs: {', '.join(unknown)}", remedy)


def uncommitted_changes(evidence: Evidence) -> RuleViolation | None:
    dirty = evidence.valid.loc[evidence.valid["git_dirty"].eq(True), "sweep"].unique()
    if not dirty.size:
        return None
    sweeps = ", ".join(dirty) if dirty.size <= _MAX_VALUES else f"{dirty.size} sweeps"
    return RuleViolation(9, f"uncommitted changes in the workspace of {sweeps}", "commit changes before a sweep")


CHECKS: tuple[Callable[[Evidence], RuleViolation | None], ...] = (  # worst first, since a terminal shows the first ones
    missing_cases,
    single_runs,
    interference_rule,
    uncontrolled_factors,
    unsteady_runs,
    missing_intervals,
    wide_intervals,
    uncertain_order,
    unknown_tails,
    averaged_rates,
    unstated_base,
    few_runs,
    missing_bounds,
    unmonitored_runs,
    unknown_factors,
    uncommitted_changes,
)


def _those(cases: pd.DataFrame, chosen: pd.Series[bool]) -> pd.DataFrame | None:
    """Return the chosen cases; None instead of an empty frame, which is slow to make with many columns."""
    return cases[chosen] if chosen.any() else None


def _share(some: pd.DataFrame | pd.Series[Any], cases: pd.DataFrame, one: str = "", many: str = "") -> str:
    """Return `1 of 3 cases`, followed by the verb `one` for a single case, `many` for several."""
    verb = one if len(some) == 1 else many
    return f"{len(some):,} of {len(cases):,} {'case' if len(cases) == 1 else 'cases'} {verb}".rstrip()
