"""How often `hpcbench compare` is wrong, and how often it finds what is there: `make bench-comparing`, a minute."""

from __future__ import annotations

from collections import Counter

import noise
import numpy as np

from hpcbench.analysis.stats.equivalence import FASTER, MARGIN, SAME, SLOWER, Pair, evaluate

TRIALS = 2000
REPETITIONS = (3, 5, 6, 7, 10)
SLOWDOWN = 1.03
# Noise of 1 %, in which a slowdown by 3 % should be found.
SMALL = (noise.independent, noise.heavy_tails, noise.drift, noise.autocorrelated, noise.from_run_to_run)
LARGE = (
    noise.loud,
    noise.two_modes_of_samples,
    noise.two_modes_that_last,
    noise.two_modes_of_processes,
    noise.one_process_in_ten,
    noise.recorded,
)
# The machine is not the same in both halves, which looks like other code to any rule. Not among the goals.
CANNOT_SEE = (noise.recorded_in_sweeps, noise.recorded_back_to_back)


def trials(kind: noise.Noise, repetitions: int, slowdown: float, count: int = TRIALS) -> Counter[str]:
    """The verdicts on the same code, or on code that is slower, each as the only case of its sweep."""
    generator = np.random.default_rng([repetitions, count])
    medians = np.median(kind(generator, count, 2 * repetitions), axis=-1)
    pairs = [Pair(row[:repetitions], slowdown * row[repetitions:]) for row in medians]
    return Counter(evaluate([pair], MARGIN)[0].word for pair in pairs)


def part(verdicts: Counter[str], *words: str) -> str:
    return f"{100 * sum(verdicts[word] for word in words) / verdicts.total():.1f} %"


def main() -> None:
    print(
        f"{TRIALS:,} trials each, n repetitions a side, margin {MARGIN:.0%}. Goals: the same code is called slower or"
    )
    print("faster in under 1 %; in noise of 1 %, a slowdown by 3 % is found in over 95 % with five repetitions\n")
    print(f"{'noise':<26}{'n':>4}{'wrong':>10}{'same':>10}{'3 % found':>12}")
    for kind in (*SMALL, *LARGE, *CANNOT_SEE):
        if kind is CANNOT_SEE[0]:
            print("what it cannot see: the machine itself changes from BASE to NEW")
        for repetitions in REPETITIONS:
            alike = trials(kind, repetitions, 1.0)
            found = part(trials(kind, repetitions, SLOWDOWN), SLOWER) if kind in SMALL else ""
            name = kind.__name__.replace("_", " ")
            row = f"{name:<26}{repetitions:>4}{part(alike, SLOWER, FASTER):>10}{part(alike, SAME):>10}{found:>12}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
