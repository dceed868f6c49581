"""The probe as a callback of PyTorch Lightning."""

from typing import Any, Optional

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback  # the name of the package until version 2

from .callbacks import Steps


class ProbeCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Record each training batch as a step. It begins at the end of the previous one, and includes getting the batch.

    Validation and checkpoints are between steps. `items` is the number of items of a batch in this process;
    `synchronize` waits for the devices at the end of each step. Values that `self.log(..., on_step=True)` logs are
    recorded every `trainer.log_every_n_steps` batches; their copy waits for the device.
    """

    def __init__(self, items: Optional[int] = None, synchronize: bool = False) -> None:
        self._steps = Steps(items, synchronize)

    def on_fit_start(self, trainer: Any, module: Any) -> None:
        """Move this callback to the front, and add `_NextStep` at the end: other callbacks run between steps."""
        others = [each for each in trainer.callbacks if each is not self and not isinstance(each, _NextStep)]
        trainer.callbacks = [self, *others, _NextStep(self._steps)]

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Begin the training."""
        self._steps.train()

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        """Begin a step."""
        self._steps.restart()

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        """Note that the batch has arrived."""
        self._steps.ready()

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Record the step and the logged values."""
        self._steps.end()
        if (batch_idx + 1) % trainer.log_every_n_steps == 0:
            self._steps.log(trainer.callback_metrics)

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        """Record the logged values of the validation."""
        if not trainer.sanity_checking:
            self._steps.log(trainer.callback_metrics)

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        """Discard the step that began after the last batch."""
        self._steps.discard()

    def on_train_end(self, trainer: Any, module: Any) -> None:
        """End the training."""
        self._steps.stop()

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        """End the training."""
        self._steps.stop()


class _NextStep(Callback):  # type: ignore[misc, unused-ignore]
    """Begin the next step after all other callbacks."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Begin the next step."""
        self._steps.restart()

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        """Restart the step after a validation."""
        self._steps.restart()
