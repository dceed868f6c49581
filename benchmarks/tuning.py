"""How good `hpcbench tune` is: `make bench-tuning`.

On made-up machines, where the truth is known: how often its answer is within 2 % of the best, beside how often the full
grid's is, what part of the grid's measuring time it takes, what it beats, and whether it ever recommends what is slower
than the default. With --real, on this machine: ten experiments, each searched and then measured as a full grid (four
hours; nothing else should run).
"""

from __future__ import annotations

import argparse
import math
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from measuring import FailedError
from real_settings import NETWORKS, Tuned, tuned
from simulated_settings import Trial, made_up, searched

from hpcbench.node.host import cpuinfo, hardware

TRIALS = 100
NOISE = (0.005, 0.02, 0.05)  # of a full measurement, from process to process
SIZES = ((4, 3, 2), (4, 3, 3), (6, 4, 2), (8, 4, 4, 3, 2))
NEAR, QUARTER, MOST, WORTH = 0.02, 0.25, 0.95, 1.1


def simulated() -> None:
    print(
        f"{TRIALS} made-up machines a line. Goals: within {NEAR:.0%} of the best in 90 %, in 25 % of the grid's time,"
    )
    print("beats 95 % of all settings, and is never slower than the default\n")
    titles = ("settings", "noise", "within 2 %", "the grid is", "in a quarter", "both", "beats 95 %", "time", "slower")
    print("".join(f"{title:>14}" for title in titles))
    for sizes in SIZES:
        for noise in NOISE:
            trials = [searched(made_up(seed, sizes, noise), seed) for seed in range(TRIALS)]
            print(
                "".join(f"{cell:>14}" for cell in (f"{math.prod(sizes):,}", f"{noise:.1%}", *_cells(trials))),
                flush=True,
            )


def _cells(trials: Sequence[Trial]) -> list[str]:
    near = [trial.regret < NEAR for trial in trials]
    grid = [trial.grid_regret < NEAR for trial in trials]
    quick = [trial.part <= QUARTER for trial in trials]
    both = [one and other for one, other in zip(near, quick, strict=True)]
    most = [trial.beats >= MOST for trial in trials]
    return [
        *(f"{sum(reached) / len(trials):.0%}" for reached in (near, grid, quick, both, most)),
        f"{median(trial.part for trial in trials):.0%}",
        str(sum(trial.gain < -1e-9 for trial in trials)),
    ]


def real(only: Sequence[str]) -> None:
    cpus = len(hardware.usable_cpus())
    print(f"\nReal networks with PyTorch, {cpuinfo.model()}, {cpus} CPUs, Python {platform.python_version()}\n")
    titles = ("experiment", "settings", "over the grid's choice", "time", "beats", "gain")
    found, failed = [], 0
    print(f"{titles[0]:<20}" + "".join(f"{title:>24}" for title in titles[1:]))
    for name in only or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found.append(tuned(name, Path(folder), cpus))
            except FailedError as error:
                failed += 1
                print(f"{name:<20} {error}", flush=True)
                continue
        print(f"{name:<20}" + "".join(f"{cell:>24}" for cell in _told(found[-1])), flush=True)
    print(f"\n{_reached(found)}; failed: {failed}")


def _reached(found: Sequence[Tuned]) -> str:
    reached = {
        f"within {NEAR:.0%} of the grid's choice": [each.cost.estimate < 1 + NEAR for each in found],
        "certainly not": [(each.cost.low or 0) >= 1 + NEAR for each in found],
        f"in {QUARTER:.0%} of its time": [each.part <= QUARTER for each in found],
        f"beats {MOST:.0%} of the settings": [each.beats >= MOST for each in found],
        f"{WORTH:g}x the default": [each.gain is not None and each.gain.estimate >= WORTH for each in found],
    }
    return "; ".join(f"{goal}: {sum(each)} of {len(found)}" for goal, each in reached.items())


def _told(found: Tuned) -> list[str]:
    ratio, low, high = found.cost
    limits = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return [
        str(found.settings),
        "the same" if found.cost == (1, 1, 1) else f"{ratio:.3f}{limits}",
        f"{found.part:.0%} of {found.grid_s / 60:.0f} min",
        f"{found.beats:.0%}",
        "default" if found.gain is None else f"{found.gain.estimate:.2f}x",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", nargs="*", metavar="NETWORK", help="also on this machine; of these networks only")
    arguments = parser.parse_args()
    simulated()
    if arguments.real is not None:
        real(arguments.real)


if __name__ == "__main__":
    main()
