"""The twelve rules of Hoefler and Belli, held against a report.

T. Hoefler and R. Belli, 2015, "Scientific benchmarking of parallel computing systems: twelve ways to tell the masses
when reporting performance results", SC15. docs/rules.md says of each rule how it is kept or checked. A check is a
function of the evidence to a finding, or None; a new one is added to CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from hpcbench.analysis.cases import confounders
from hpcbench.analysis.cases.case_table import case_names, speaking_rows, work_groups
from hpcbench.analysis.cases.confounders import WORK
from hpcbench.analysis.cases.latency import AVERAGED_OVER, INFERENCE, INSTANCES, PERCENTILES, STEPS, TASKS, short_name
from hpcbench.analysis.cases.quantities import LATENCIES, MEMORY, OF_TIME, SPEEDUP, THROUGHPUT, TIME
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import FEWEST_TO_RESAMPLE, fewest_samples
from hpcbench.core.samples import DISTURBED
from hpcbench.core.status import COMPLETED

WIDE = 0.05  # of the median, on either side: the paper's example of an interval worth reporting, after rule 5
TAIL = "time_p99_s"
_WITHOUT_INTERVAL = (*LATENCIES, MEMORY)
_NOTHING = ""  # what single samples are averaged over
_MOST_VALUES, _LONGEST = 3, 40  # of a factor, in a line of text


class Rule(NamedTuple):
    """`kept` says how a report keeps the rule, where no finding says otherwise."""

    name: str
    kept: str


RULES = {
    1: Rule(
        "base case",
        "a speedup is over the case that --base names, or, of a case alone in its kind of work, over itself",
    ),
    2: Rule("subsets", "every case of these sweeps was measured"),
    3: Rule("means", "rates are work over time, not means of rates; means are of times"),
    4: Rule("ratios", "a speedup is a ratio of medians; no ratios are averaged"),
    5: Rule("intervals", "the interval of each time is over several runs, and within 5 % of the median"),
    6: Rule("normality", "no distribution is assumed: what intervals there are, are bootstrapped"),
    7: Rule("comparison", "the intervals of neighbours in the ranking do not overlap"),
    8: Rule("percentiles", "the tails of latencies are known, as far as there are latencies"),
    9: Rule("factors", "what differs between cases was asked for, and the setup is in the records"),
    10: Rule("parallel time", "tasks that wait for each other: the slowest; replicas that infer: their rates added"),
    11: Rule("bounds", "among cases on one kind of device, no speedup is over one with fewer or more CPUs or GPUs"),
    12: Rule("plots", "figures show medians with their intervals, join what is on one axis only, and name their units"),
}


_ANEW = "when what failed is mended, search anew: hpcbench tune"


class Finding(NamedTuple):
    """What a report does not keep of a rule, and what to do about it."""

    rule: int
    lacking: str
    remedy: str


@dataclass(frozen=True)
class Evidence:
    """What the rules look at: the tables of a report, and what follows from them."""

    results: Results

    def were_searched(self, cases: pd.DataFrame) -> bool:
        """Whether all of them are of searches, which decide by themselves what they measure."""
        return bool(cases["sweep"].isin(list(self.results.searches)).all())

    @cached_property
    def measured(self) -> pd.DataFrame:
        """The measured cases, in order, with the number of their kind of work."""
        cases = self.results.cases.assign(**{WORK: work_groups(self.results.cases)})
        return cases[cases[WORK] >= 0]

    @cached_property
    def speaking(self) -> pd.DataFrame:
        """The repetitions that speak for the measured cases (see summary.py), with the number of their kind of work."""
        keys = ["sweep", "case"]
        return speaking_rows(self.results.repetitions).merge(self.measured[[*keys, WORK]], on=keys)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Of the measured cases: centre, low and high of what they are ranked by, or else of their times."""
        cases, quantity = self.measured, self.results.quantity
        has_its_own = quantity.limits[0] in cases and quantity not in OF_TIME
        columns = (quantity.column, *quantity.limits) if has_its_own else (TIME.column, *TIME.limits)
        items = cases["items_per_step"].astype(float).fillna(1.0) if quantity in (THROUGHPUT, SPEEDUP) else 1.0
        named = zip(("centre", "low", "high"), columns, strict=True)
        return pd.DataFrame({name: cases[column].astype(float) / items for name, column in named})

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The measured cases that have a speedup over another one's; `is_base` marks the bases."""
        cases = self.measured[self.measured["speedup"].notna()]
        cases = cases[cases.groupby(WORK)[WORK].transform("size") > 1]
        return cases.assign(is_base=case_names(cases) == cases["speedup_base"])


def check(evidence: Evidence) -> list[Finding]:
    """What the report does not keep, the worst first."""
    return [finding for each in CHECKS if (finding := each(evidence)) is not None]


def missing_cases(evidence: Evidence) -> Finding | None:
    lost = evidence.results.cases.loc[evidence.results.cases["status"] != COMPLETED, "status"]
    if lost.empty:
        return None
    states = ", ".join(f"{count:,} {state}" for state, count in lost.value_counts().items())
    lacking = f"{_share(lost, evidence.results.cases)} did not complete ({states})"
    cases = evidence.results.cases.loc[lost.index]
    remedy = f"{_ANEW if evidence.were_searched(cases) else _resume(cases)}, or say why they are left out"
    return Finding(2, lacking, remedy)


def single_runs(evidence: Evidence) -> Finding | None:
    single = evidence.measured[evidence.measured["repetitions"] == 1]
    if single.empty:
        return None
    share = _share(single, evidence.measured, "rests", "rest")
    lacking = f"{share} on one run, whose interval says nothing about the next"
    return Finding(5, lacking, _more_runs(evidence, single))


def _more_runs(evidence: Evidence, cases: pd.DataFrame) -> str:
    """Where others disturbed some of them, more may be there already."""
    if evidence.were_searched(cases):
        return "a search measures once what it drops: hpcbench tune --exhaustive measures all as the experiment asks"
    if (cases["disturbed"] > 0).any():
        return f"{_resume(cases)} --disturbed measures again what others disturbed"
    return f"set measure.repetitions to {FEWEST_TO_RESAMPLE} or more"


def disturbed_runs(evidence: Evidence) -> Finding | None:
    """Other people's jobs are a factor, and not one that anybody chose."""
    cases = evidence.measured[evidence.measured["disturbed"] > 0]
    if cases.empty:
        return None
    causes = ", ".join(dict.fromkeys(", ".join(cases["disturbed_by"].dropna()).split(", ")))
    lost = cases[cases["interference"] == DISTURBED]
    left_out = int(cases["disturbed"].sum()) - int(lost["disturbed"].sum())
    kept = [f"{left_out:,} left out"] if left_out else []
    kept += [f"{lost['disturbed'].sum():,} used, of cases that have no other"] if len(lost) else []
    completed = int(evidence.measured["repetitions"].sum()) + left_out
    runs = f"{cases['disturbed'].sum():,} of {completed:,} runs, in {_share(cases, evidence.measured)}"
    lacking = f"others disturbed {runs} ({causes}), each time that they were measured; {', '.join(kept)}"
    again = "a new search" if evidence.were_searched(cases) else f"{_resume(cases)} --disturbed, or a new sweep"
    remedy = f"{again} on whole nodes (exclusive: true) or with measure.quiet"
    return Finding(9, lacking, remedy)


def _resume(cases: pd.DataFrame) -> str:
    """The command, with the name of the sweep where it is a single one."""
    sweeps = cases["sweep"].unique()
    return f"hpcbench resume {sweeps[0] if len(sweeps) == 1 else 'SWEEP'}"


def unwatched_runs(evidence: Evidence) -> Finding | None:
    cases = evidence.measured[evidence.measured["unmonitored"] > 0]
    if cases.empty:
        return None
    lacking = f"whether others disturbed {_share(cases, evidence.measured)} is not known"
    return Finding(9, lacking, "the records say why: interference.reason; commands of moments cannot be judged")


def unsteady_runs(evidence: Evidence) -> Finding | None:
    """A mean of what still changes is of nothing in particular."""
    rows = evidence.speaking
    unsteady = rows[(rows["steady"] == False) | (rows["drift"].astype(float).abs() > WIDE)]  # noqa: E712 - or not known
    cases = unsteady[["sweep", "case"]].drop_duplicates()
    if cases.empty:
        return None
    share = _share(cases, evidence.measured, "was", "were")
    lacking = f"{share} not steady after warm-up, or drifted by over {100 * WIDE:.0f} %"
    return Finding(5, lacking, "raise measure.max_warmup_s, or see what changes: --csv - --level sample")


def uncontrolled_factors(evidence: Evidence) -> Finding | None:
    found = confounders.uncontrolled(evidence.speaking)
    if not found:
        return None
    lacking = f"not the same for all that is compared, and no axis: {', '.join(map(_described, found.items()))}"
    return Finding(9, lacking, "hold it fixed (slurm options, environment), or make it an axis with a tag")


def missing_intervals(evidence: Evidence) -> Finding | None:
    several = evidence.intervals[(evidence.measured["repetitions"] > 1) & evidence.intervals["centre"].notna()]
    without = several[several[["low", "high"]].isna().any(axis=1)]
    if without.empty:
        return None
    share = _share(without, evidence.measured, "has", "have")
    lacking = f"{share} no interval: one value, or few of which some are not above 0"
    return Finding(5, lacking, _more_runs(evidence, evidence.measured.loc[without.index]))


def wide_intervals(evidence: Evidence) -> Finding | None:
    intervals = evidence.intervals[evidence.measured["repetitions"] > 1]
    away = intervals[["low", "high"]].sub(intervals["centre"], axis=0).abs().max(axis=1)
    reach = away / intervals["centre"].abs()
    wide = reach[reach > WIDE]
    if wide.empty:
        return None
    lacking = f"the intervals of {_share(wide, evidence.measured)} reach over {100 * WIDE:.0f} % from the median"
    widest = evidence.measured.loc[wide.nlargest(1).index].iloc[0]
    worst = f"{100 * wide.max():.0f} % ({evidence.results.label(widest)})"
    return Finding(5, f"{lacking}, up to {worst}", "more repetitions, longer ones, or a quieter machine")


def uncertain_order(evidence: Evidence) -> Finding | None:
    """Where intervals do not overlap, the cases differ; where they do, they may or may not (section 3.2)."""
    quantity = evidence.results.quantity
    if quantity in _WITHOUT_INTERVAL:
        lacking = f"the ranking is by {quantity.column}, which has no interval"
        return Finding(7, lacking, "see in --csv - --level repetition whether its order is more than chance")
    after = evidence.intervals
    before = after.groupby(evidence.measured[WORK]).shift()
    neighbours = after["centre"].notna() & before["centre"].notna()
    known = neighbours & after["low"].notna() & before["low"].notna()
    uncertain = neighbours & ~((after["low"] > before["high"]) | (before["low"] > after["high"]))
    if not uncertain.any():
        return None
    missing = "" if known.equals(neighbours) else ", or none"
    counts = f"{uncertain.sum():,} of {neighbours.sum():,}"
    lacking = f"{counts} neighbours in the ranking have intervals that overlap{missing}"
    return Finding(7, lacking, "read nothing into their order, or narrow the intervals with more repetitions")


def unknown_tails(evidence: Evidence) -> Finding | None:
    """Tails of inference, which is a matter of latency; of anything else only where the ranking is by one."""
    asked = evidence.results.quantity in LATENCIES
    column = evidence.results.quantity.column if asked else TAIL
    cases = evidence.measured if asked else evidence.measured[evidence.measured["task"] == INFERENCE]
    unknown = cases[cases[column].isna()]
    if unknown.empty:
        return None
    fewest = f"{fewest_samples(PERCENTILES[column]):,}"
    causes = {
        STEPS: ("timed in blocks of steps", "a larger batch_size makes steps long enough to be timed one by one"),
        TASKS: ("means over tasks", "infer on a single task"),
        INSTANCES: ("means over instances", "run a single instance"),
        _NOTHING: (
            f"with fewer than {fewest} samples",
            f"raise min_samples and max_time_s: {fewest} in all repetitions",
        ),
    }
    counts = unknown[AVERAGED_OVER].fillna(_NOTHING).value_counts()
    causes = {cause: told for cause, told in causes.items() if cause in counts}
    lacking = ", ".join(f"{counts[cause]:,} {words}" for cause, (words, _) in causes.items())
    remedy = "; ".join(remedy for _, remedy in causes.values())
    return Finding(8, f"{short_name(column)} is not known for {_share(unknown, cases)} ({lacking})", remedy)


def averaged_rates(evidence: Evidence) -> Finding | None:
    if not evidence.results.mean_rates:
        return None
    lacking = f"arithmetic means of rates: {', '.join(evidence.results.mean_rates)}"
    return Finding(3, lacking, "reduce: median, or measure the work and its time")


def unstated_base(evidence: Evidence) -> Finding | None:
    bases = evidence.compared[evidence.compared["is_base"]]
    if evidence.results.base_given or bases.empty:
        return None
    first = bases.iloc[0]
    over = f"the first case, {evidence.results.label(first)} ({first['time_median_s']:.3g} s)"
    if len(bases) > 1:
        over = f"the first case of each of {len(bases):,} kinds of work (1.00x)"
    return Finding(1, f"no base case was named, so that speedups are over {over}", "name one with --base")


def few_runs(evidence: Evidence) -> Finding | None:
    few = evidence.measured[evidence.measured["repetitions"].between(2, FEWEST_TO_RESAMPLE - 1)]
    if few.empty:
        return None
    share = _share(few, evidence.measured, "rests", "rest")
    lacking = f"{share} on fewer than {FEWEST_TO_RESAMPLE} runs, taken for log-normal"
    return Finding(6, lacking, f"{_more_runs(evidence, few)}; {FEWEST_TO_RESAMPLE} or more assume nothing")


def missing_bounds(evidence: Evidence) -> Finding | None:
    """Ideal scaling is the simplest bound (section 5.1): p times the processors do at most p times the work."""
    cases = evidence.compared
    processors = cases["nodes"] * cases["tasks_per_node"] * cases["cpus_per_task"].where(cases["device"] == "cpu", 1)
    bases = cases[cases["is_base"]].set_index(WORK)
    comparable = cases["device"] == cases[WORK].map(bases["device"])
    ideal = (processors / cases[WORK].map(processors[cases["is_base"]].set_axis(bases.index)))[comparable]
    if ideal.eq(1).all():
        return None
    lacking = "speedups on more or fewer CPUs or GPUs than the base's stand without a bound"
    bound = f"hold them against ideal scaling, here {ideal.min():g}x to {ideal.max():g}x"
    return Finding(11, lacking, f"{bound}: the figures of --html and --figures do")


def unknown_factors(evidence: Evidence) -> Finding | None:
    unknown = confounders.unknown(evidence.speaking)
    if not unknown:
        return None
    return Finding(9, f"not known of every run: {', '.join(unknown)}", "ask who runs the machine, and say it")


def uncommitted_changes(evidence: Evidence) -> Finding | None:
    dirty = evidence.speaking.loc[evidence.speaking["git_dirty"].eq(True), "sweep"].unique()
    if not dirty.size:
        return None
    sweeps = ", ".join(dirty) if dirty.size <= _MOST_VALUES else f"{dirty.size} sweeps"
    return Finding(9, f"uncommitted changes in the workspace of {sweeps}", "commit before a sweep")


CHECKS: tuple[Callable[[Evidence], Finding | None], ...] = (  # the worst first: a terminal shows the beginning
    missing_cases,
    single_runs,
    disturbed_runs,
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
    unwatched_runs,
    unknown_factors,
    uncommitted_changes,
)


def _share(some: pd.DataFrame | pd.Series[Any], cases: pd.DataFrame, one: str = "", many: str = "") -> str:
    """`1 of 3 cases rests`, where a verb is given."""
    verb = one if len(some) == 1 else many
    return f"{len(some):,} of {len(cases):,} {'case' if len(cases) == 1 else 'cases'} {verb}".rstrip()


def _described(factor: tuple[str, list[str]]) -> str:
    name, values = factor
    told = len(values) <= _MOST_VALUES and max(map(len, values)) <= _LONGEST
    return f"{name} ({', '.join(values) if told else f'{len(values)} values'})"
