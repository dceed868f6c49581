"""Whether interference is noticed, and only then: `make bench-interference`. On a quiet machine, about half an hour.

Each fault is let loose in the midst of a run; between two such runs is one without. A run counts as slowed if its step
took more than 3 % longer than in the quiet runs before and after it.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from faults import Outcome, can_set_a_quota, hog, no_fault, quota, run

SLOWED = 1.03


@dataclass(frozen=True)
class Trial:
    name: str
    workload: str
    fault: object
    right: frozenset[str]  # any of these causes is right: no counter tells the others apart


@dataclass
class Tally:
    runs: int = 0
    slowed: int = 0
    flagged_slowed: int = 0
    flagged: int = 0
    costs: list[float] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)


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
    parser.add_argument("--rounds", type=int, default=29, help="runs of each fault; as many quiet ones between them")
    parser.add_argument("--seconds", type=float, default=2.5, help="of samples in a run")
    parser.add_argument("--show", action="store_true", help="print every run")
    arguments = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    other, own = cpus[0], cpus[-1]
    tallies: dict[str, Tally] = {}
    quiet = Tally()

    def calm(workload: str) -> Outcome:
        outcome = run(workload, own, no_fault, arguments.seconds)
        quiet.runs += 1
        quiet.flagged += outcome.verdict != "clean"
        quiet.costs += [outcome.monitor] if outcome.monitor is not None else []
        quiet.verdicts[f"{outcome.verdict} {','.join(sorted(outcome.causes))}"] += outcome.verdict != "clean"
        if arguments.show:
            print(f"  quiet {workload}: {outcome}", flush=True)
        return outcome

    kinds = trials(own, other)
    for number in range(arguments.rounds):
        for trial in kinds:
            before = calm(trial.workload)
            outcome = run(trial.workload, own, trial.fault, arguments.seconds)
            slowed = outcome.time_s > SLOWED * before.time_s
            right = outcome.verdict == "disturbed" and bool(outcome.causes & trial.right)
            tally = tallies.setdefault(trial.name, Tally())
            tally.runs += 1
            tally.slowed += slowed
            tally.flagged += right
            tally.flagged_slowed += right and slowed
            if arguments.show:
                print(f"{trial.name}: {outcome.time_s / before.time_s:.2f} x, {outcome}", flush=True)
        print(f"round {number + 1} of {arguments.rounds}", flush=True)
    print(f"{'fault':<34}{'runs':>6}{'slowed':>8}{'flagged rightly':>17}")
    for name, tally in tallies.items():
        print(f"{name:<34}{tally.runs:>6}{tally.slowed:>8}{tally.flagged_slowed:>11} of {tally.slowed}")
    slowed, found = sum(t.slowed for t in tallies.values()), sum(t.flagged_slowed for t in tallies.values())
    print(f"of runs slowed by more than 3 %, flagged with the right cause: {found} of {slowed} (goal: 95 %)")
    print(f"the monitor took of one core, at 10 Hz: {median(quiet.costs):.2%} (goal: under 0.5 %)")
    print(f"of quiet runs, flagged: {quiet.flagged} of {quiet.runs} (goal: at most 2 %) {dict(quiet.verdicts)}")


if __name__ == "__main__":
    main()
