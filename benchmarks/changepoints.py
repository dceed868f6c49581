"""How often `hpcbench history` sees a change where there is none, and how often the one that is there: `make
bench-comparing`, a minute."""

from __future__ import annotations

import noise
import numpy as np

from hpcbench.analysis.stats.change_points import change_points

TRIALS, SWEEPS, REPETITIONS, CASES = 2000, 100, 5, 4
KINDS = (
    noise.independent,
    noise.heavy_tails,
    noise.from_run_to_run,
    noise.loud,
    noise.two_modes_of_processes,
    noise.one_process_in_ten,
)
STEP = 1.05
SLOW = {"from the middle on": slice(50, None), "in the last 10": slice(90, None), "in the last 5": slice(95, None)}
SLOW["in 10 of the middle"] = slice(45, 55)


def histories(kind: noise.Noise, count: int, seed: int) -> noise.Floats:
    """The medians of so many cases in SWEEPS sweeps, each of REPETITIONS runs."""
    generator = np.random.default_rng(seed)
    made = [kind(generator, SWEEPS, REPETITIONS) for _ in range(count)]
    return np.stack([np.median(np.median(each, axis=-1), axis=-1) for each in made])


def alarms(kind: noise.Noise) -> str:
    """The part of calls, of several cases each, that show any change in noise alone."""
    calls = histories(kind, TRIALS, 1).reshape(-1, CASES, SWEEPS)
    return f"{100 * np.mean([any(change_points(list(call))) for call in calls]):.1f} %"


def found(kind: noise.Noise, where: slice) -> str:
    """The part of cases in which the step is found, at its place but for one sweep, and nothing else."""
    places = np.array([place for place in (where.start, where.stop) if place])
    good = 0
    for values in histories(kind, TRIALS // 4, 2):
        values[where] *= STEP
        told = np.array([change.place for change in change_points([values] + [np.ones(SWEEPS)] * (CASES - 1))[0]])
        good += told.shape == places.shape and bool((np.abs(told - places) <= 1).all())
    return f"{100 * good / (TRIALS // 4):.0f} %"


def main() -> None:
    print(f"{SWEEPS} sweeps of {CASES} cases x {REPETITIONS} repetitions. Goals: noise alone: at most 1 % alarms;")
    print(f"a step by {STEP - 1:.0%} in noise of 1 % is found at its place in over 95 %\n")
    print(f"{'noise':<26}{'alarms':>8}" + "".join(f"{name:>22}" for name in SLOW))
    for kind in KINDS:
        small = kind in KINDS[:3]
        row = [found(kind, where) if small else "" for where in SLOW.values()]
        print(
            f"{kind.__name__.replace('_', ' '):<26}{alarms(kind):>8}" + "".join(f"{each:>22}" for each in row),
            flush=True,
        )


if __name__ == "__main__":
    main()
