"""The trajectory of a training: the loss of each step, and the weights after some of them."""

from dataclasses import dataclass
from typing import List, Optional, Sequence

from ..frameworks import DYNAMIC, TIME_TO_ACCURACY, TRAINING
from ..record_field import described

FOLDER = "trajectories"  # next to that of the records
MOST_STEPS = 10_000
MOST_STORED = 2**19  # weights in a file at each step; of larger models, a sample
RUNS = 2  # of each case that record it; the second one shows whether runs are equal
OF_LAYERS = "layers"
TASKS = (TRAINING, TIME_TO_ACCURACY)  # that update weights


@dataclass(frozen=True)
class Trajectory:
    """A second training of a run, from the initial weights on the same batches as in all frameworks."""

    reason: Optional[str] = described(
        "why the trajectory of a training was not recorded", "trajectory_reason", default=None
    )
    losses: Sequence[Optional[float]] = described(
        "mean training loss of each step, before its update; null if it is not finite", default=()
    )
    steps: Sequence[int] = described("numbers of steps after which the file has the weights", default=())
    weights: Optional[int] = described("trainable weights of the model", default=None)
    stored: Optional[int] = described(
        "weights in the file at each of these steps: all, or a sample with a fixed seed", default=None
    )
    order: Optional[str] = described(
        "order of the weights: `layers` if it is the same in all frameworks, otherwise the framework", default=None
    )
    sha256: Optional[str] = described("SHA-256 of the file, which is its name", default=None)
    duration_s: Optional[float] = described("time of the second training", "trajectory_s", "s", default=None)


def refusal(strategy: Optional[str], threads: Optional[str]) -> str:
    """Return why the trajectory of a training is not recorded; an empty text if it is, as far as a plan knows."""
    if strategy != "single":
        return "a trajectory requires strategy: single"
    if threads == DYNAMIC:
        return "a trajectory cannot be used with threads: dynamic"
    return ""


def recorded_steps(steps: int) -> List[int]:
    """Return the numbers of steps after which weights are recorded: 0, powers of two, and the last."""
    return [0, *(2**power for power in range(steps.bit_length()) if 2**power < steps), steps]


def file_of(sha256: str) -> str:
    """Return the path of a file below FOLDER, in one of 256 folders."""
    return "%s/%s.npy" % (sha256[:2], sha256)
