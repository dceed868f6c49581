"""The progress of a training to a target accuracy, as a part of records."""

from dataclasses import dataclass
from typing import Optional, Sequence

from ..record_field import described


@dataclass(frozen=True)
class Epoch:
    """The validation at the end of one epoch."""

    epoch: int = described("number of the epoch, from 1")
    elapsed_s: float = described("time since the training began, without `training_accuracy` of earlier epochs")
    accuracy: float = described("fraction of the validation split that is classified correctly")
    trained_s: float = described("time from the beginning to the start of the validation")
    loss: Optional[float] = described("mean training loss of its steps", default=None)
    training_accuracy: Optional[float] = described("accuracy on a sample of the training items", default=None)


@dataclass(frozen=True)
class Learning:
    """The progress of a training to a target accuracy."""

    elapsed_s: Optional[float] = described("time to the target accuracy; null if it was missed")
    ended_s: float = described("end of the training, on the clock of `measurements.windows`")
    first_step_s: float = described("time of the first step, included in `elapsed_s`")
    epochs: int = described("epochs until the target accuracy was reached", "epochs")
    accuracy: float = described("accuracy after the last epoch", "accuracy")
    curve: Sequence[Epoch] = described("the validation of each epoch")
    seed: int = described("seed of the weights and of the order of the training data")
    held_out_items: int = described("number of items in the validation split")
    started_unix_s: float = described("start of the training, in seconds since 1970")
    sampled_items: Optional[int] = described("number of training items in that sample", default=None)
