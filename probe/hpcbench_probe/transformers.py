"""The probe as a callback of the Trainer of Hugging Face Transformers."""

from typing import Any, Dict, Optional

from transformers import TrainerCallback

from .callbacks import Steps

# Progress and speed, which hpcbench measures itself.
_NO_METRICS = ("epoch", "total_flos", "runtime", "_per_second")


class ProbeCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Record each optimizer step as a step, from the end of the previous one, with the time to get its batches.

    Evaluation, logging and saving are between steps. `items` is the number of items of a step in this process, by
    default `train_batch_size * gradient_accumulation_steps`. `synchronize` waits for the devices at the end
    of each step. Numbers that the Trainer logs are recorded.
    """

    def __init__(self, items: Optional[int] = None, synchronize: bool = False) -> None:
        self._steps = Steps(items, synchronize)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin the training, and set the items of a step, unless they were given."""
        if self._steps.items is None:
            batch = getattr(state, "train_batch_size", None) or args.train_batch_size
            self._steps.items = batch * args.gradient_accumulation_steps
        self._steps.train()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin a step."""
        self._steps.restart()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note that the first batch has arrived."""
        self._steps.ready()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Record the step, and begin the next one."""
        self._steps.end()
        self._steps.restart()

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **_: Any) -> None:
        """Record the logged numbers, and restart the step."""
        self._steps.log({name: value for name, value in (logs or {}).items() if not name.endswith(_NO_METRICS)})
        self._steps.restart()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Restart the step after an evaluation."""
        self._steps.restart()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Restart the step after a checkpoint."""
        self._steps.restart()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End the training."""
        self._steps.stop()
