"""How a loss updates the weights, by strategy: backward passes, clipping, and the steps of optimizer and schedule."""

from contextlib import contextmanager, nullcontext
from typing import Any, Callable, ContextManager, Dict, Iterator

import torch

from ...workload.problem import Problem
from . import averaging, optimizers


class Update:
    """The update of a model on one rank, or under DDP or FSDP."""

    def __init__(self, model: Any, problem: Problem, device: torch.device) -> None:
        self.model, self.options = model, problem.optimizer
        self.optimizer = self.optimizer_of(model)
        self.schedule = optimizers.schedule_of(self.optimizer, self.options)
        self.scaler = torch.amp.GradScaler(device.type, enabled=problem.parameters["dtype"] == "float16")

    def optimizer_of(self, model: Any) -> Any:
        """Return the optimizer of the model's weights."""
        return optimizers.optimizer_of(model, self.options)

    def begin(self) -> None:
        """Begin a step: clear the gradients of the previous step."""
        self.optimizer.zero_grad()

    def batch(self, *, is_last: bool) -> ContextManager[Any]:
        """Return the context of the forward and backward pass of a batch."""
        return exchanging(self.model, is_last=is_last)

    def backward(self, loss: torch.Tensor) -> None:
        """Run the backward pass of one batch."""
        count = self.options.gradient_accumulation_steps
        self.scaler.scale(loss if count == 1 else loss / count).backward()

    def exchange(self) -> None:
        """Wait for the mean of the gradients over the ranks, unless the backward pass has waited."""

    def loss_scale(self) -> float:
        """Return the factor by which the gradients are too large: the one of the loss in float16."""
        return float(self.scaler.get_scale())

    def step(self) -> None:
        """Update the weights with the gradients of all batches of this step."""
        self._clip()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.advance()

    def advance(self) -> None:
        """Advance the learning rate by one step."""
        if self.schedule:
            self.schedule.step()

    def _clip(self) -> None:
        if self.options.clip_norm is not None or self.options.clip_value is not None:
            self.scaler.unscale_(self.optimizer)
            optimizers.clip(self.model.parameters(), self.options)


class AveragingUpdate(Update):
    """The update of a rank's own weights, which are then averaged."""

    def __init__(self, model: Any, problem: Problem, device: torch.device) -> None:
        super().__init__(model, problem, device)
        self.averaging = averaging.Averaging(model, problem)

    def step(self) -> None:
        super().step()
        self.averaging.after_step()


class HorovodUpdate(Update):
    """The update of a model with Horovod's distributed optimizer."""

    def optimizer_of(self, model: Any) -> Any:
        import horovod.torch as horovod

        return horovod.DistributedOptimizer(
            super().optimizer_of(model),
            named_parameters=model.named_parameters(),
            backward_passes_per_step=self.options.gradient_accumulation_steps,
        )

    def exchange(self) -> None:
        self.optimizer.synchronize()  # before the scaler checks gradients for infinities: equal on all ranks

    def step(self) -> None:
        with self.optimizer.skip_synchronize():
            super().step()


class DeepSpeedUpdate:
    """The update of a DeepSpeed engine, which counts the batches of a step, and clips, by itself."""

    def __init__(self, engine: Any, problem: Problem, device: torch.device) -> None:
        self.engine, self.optimizer = engine, engine.optimizer
        # ZeRO replaces some optimizers, such as Adagrad.
        self.schedule = optimizers.schedule_of(engine.optimizer.optimizer, problem.optimizer)

    def begin(self) -> None:
        """Do nothing: the engine zeroes gradients."""

    @contextmanager
    def batch(self, *, is_last: bool) -> Iterator[None]:
        """Run the engine's step after each batch; it updates the weights after the last one."""
        yield
        self.engine.step()

    def backward(self, loss: torch.Tensor) -> None:
        """Run the backward pass of one batch; the engine divides the loss by the number of batches."""
        self.engine.backward(loss)

    def exchange(self) -> None:
        """Do nothing: the engine exchanges gradients in its step."""

    def step(self) -> None:
        """Advance the learning rate by one step."""
        self.advance()

    def advance(self) -> None:
        """Advance the learning rate by one step."""
        if self.schedule:
            self.schedule.step()


def exchanging(model: Any, *, is_last: bool) -> ContextManager[Any]:
    """Return the context of a batch in which ranks exchange gradients only if it is the last one of a step."""
    if hasattr(model, "set_requires_gradient_sync"):  # FSDP
        model.set_requires_gradient_sync(is_last)
    return nullcontext() if is_last or not hasattr(model, "no_sync") else model.no_sync()


def update_of(model: Any, problem: Problem, device: torch.device) -> Any:
    """Return the update of a model under the strategy of its case."""
    return _UPDATES.get(problem.parameters["strategy"], Update)(model, problem, device)


_UPDATES: Dict[str, Callable[[Any, Problem, torch.device], Any]] = {
    "horovod": HorovodUpdate,
    "deepspeed": DeepSpeedUpdate,
    **dict.fromkeys(averaging.AVERAGES, AveragingUpdate),
}
