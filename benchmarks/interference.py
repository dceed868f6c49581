"""Whether interference is noticed, and only then: `make bench-interference`. On a quiet machine, about half an hour.

Each fault is let loose in the midst of a run; before and after it is one without. A run counts as slowed if its step
took more than 3 % longer than in either of these: one alone may have met the machine at another speed. A run without a
fault in which the hypervisor gave 1 % of the CPU or more to others was no quiet one, and is counted apart.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from dataclasses import dataclass, field

from faults import Fault, Outcome, can_set_a_quota, hog, no_fault, quota, run

SLOWED = 1.03
QUIET = 0.01  # less of the CPU goes to others of the hypervisor: less than a fifth of the windows lose a twentieth
LONG_S = 30.0  # of a run that shows what the monitor costs once it watches


@dataclass(frozen=True)
class Trial:
    name: str
    workload: str
    fault: Fault
    right: frozenset[str]  # any of these causes is right: no counter tells the others apart


@dataclass
class Tally:
    """Of the runs with one fault."""

    runs: int = 0
    slowed: int = 0
    flagged: int = 0  # with a right cause
    flagged_slowed: int = 0

    def add(self, slowed: bool, flagged: bool) -> None:
        self.runs += 1
        self.slowed += slowed
        self.flagged += flagged
        self.flagged_slowed += slowed and flagged


@dataclass
class Quiet:
    """The runs without a fault."""

    runs: int = 0
    flagged: Counter[str] = field(default_factory=Counter)  # how often for what
    stolen: Counter[str] = field(default_factory=Counter)  # the verdicts on those that the hypervisor with_interference

    def add(self, outcome: Outcome) -> None:
        if outcome.stolen >= QUIET:
            self.stolen[outcome.verdict] += 1
            return
        self.runs += 1
        if outcome.verdict != "clean":
            self.flagged[outcome.reason or ", ".join(sorted(outcome.causes))] += 1


def trials(own: int, other: int) -> list[Trial]:
    made = []
    for place, cpu in (("the same core", own), ("another core", other)):
        made += [
            Trial(f"CPU hog on {place}", "compute", hog("cpu", cpu), frozenset({"cpu"})),
            Trial(f"memory hog on {place}", "memory", hog("memory", cpu), frozenset({"memory"})),
            Trial(f"I/O hog on {place}", "io", hog("io", cpu), frozenset({"io"})),
        ]
    if can_set_a_quota():
        made.append(Trial("CPU quota of one fifth", "compute", quota, frozenset({"throttling"})))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="runs of each fault; in each round ten without, or nine")
    parser.add_argument("--seconds", type=float, default=2.5, help="of samples in a run")
    parser.add_argument("--show", action="store_true", help="print every run")
    arguments = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    other, own = cpus[0], cpus[-1]
    kinds = trials(own, other)
    tallies = {trial.name: Tally() for trial in kinds}
    quiet = Quiet()

    def observed(name: str, workload: str, fault: Fault) -> Outcome:
        outcome = run(workload, own, fault, arguments.seconds)
        if arguments.show:
            print(f"{name}: {outcome}", flush=True)
        return outcome

    for number in range(arguments.rounds):
        for workload in dict.fromkeys(trial.workload for trial in kinds):
            before = observed(f"  quiet {workload}", workload, no_fault)
            quiet.add(before)
            for trial in [trial for trial in kinds if trial.workload == workload]:
                outcome = observed(trial.name, workload, trial.fault)
                after = observed(f"  quiet {workload}", workload, no_fault)
                quiet.add(after)
                slowed = outcome.time_s > SLOWED * max(before.time_s, after.time_s)
                flagged = outcome.verdict == "interference" and bool(outcome.causes & trial.right)
                tallies[trial.name].add(slowed, flagged)
                before = after
        print(f"round {number + 1} of {arguments.rounds}", flush=True)
    show(tallies, quiet)
    for workload in dict.fromkeys(trial.workload for trial in kinds):
        cost = run(workload, own, no_fault, LONG_S).monitor
        assert cost is not None, "the monitor did not come to its end"
        print(
            f"the monitor beside {workload}: {cost.core:.2%} of a core (goal: under 0.5 %), {cost.ticks_per_s:.1f} Hz"
        )


def show(tallies: dict[str, Tally], quiet: Quiet) -> None:
    print(f"{'flagged with a right cause':<34}{'of all':>12}{'of the slowed':>16}")
    for name, tally in tallies.items():
        of_all, of_slowed = f"{tally.flagged} of {tally.runs}", f"{tally.flagged_slowed} of {tally.slowed}"
        print(f"{name:<34}{of_all:>12}{of_slowed:>16}")
    slowed, found = sum(t.slowed for t in tallies.values()), sum(t.flagged_slowed for t in tallies.values())
    print(f"of runs slowed by more than 3 %, flagged with a right cause: {found} of {slowed} (goal: 95 %)")
    flagged = sum(quiet.flagged.values())
    print(f"of quiet runs, flagged: {flagged} of {quiet.runs} (goal: at most 2 %) {dict(quiet.flagged) or ''}")
    stolen = quiet.stolen.total()
    print(f"where the hypervisor took {QUIET:.0%} of the CPU or more: {stolen - quiet.stolen['clean']} of {stolen}")


if __name__ == "__main__":
    main()
