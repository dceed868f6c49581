"""A model of a library or of the user as the network of a case."""

from typing import Any, Dict, Iterator, List, Sequence, Tuple

import numpy
import torch
from torch import nn

from .....models.losses import LOSSES
from .....models.source import Source, source_of
from ....errors import BadModel
from ....workload import user_code
from ....workload.data import Items
from ....workload.problem import Problem
from ...adapter import Batch
from ...external.exact import Exact
from ...external.network import ExternalNetwork
from ...external.trace import Trace
from ..network import PyTorchNetwork, set_arithmetic
from . import outputs
from .build import build
from .built import Built
from .exact import ExactModel, vary_constants, without_randomness
from .trace import trace


class ExternalPyTorchNetwork(ExternalNetwork, PyTorchNetwork):
    """A network that a library or the user's function builds, with its own inputs, loss and step."""

    channels_last = False
    has_reference = True
    _remarks: Sequence[str] = ()

    def model_of(self, problem: Problem) -> nn.Module:
        parameters = problem.parameters
        torch.manual_seed(parameters["seed"])  # the same weights on all ranks
        made = self.built(source_of(parameters["model"]), parameters)
        self._remarks = made.remarks
        self.set_again(problem)
        module = made.module.float()  # hpcbench sets the dtype of the case afterwards
        self.describe(made.inputs, lambda item, shown: self.traced(module, item, shown))
        torch.manual_seed(parameters["seed"] + problem.group.rank)  # of dropout
        if problem.training and parameters["step"] is None:
            self._loss = self.loss_function(outputs.LOSSES, outputs.main_output)
        return module

    def built(self, source: Source, parameters: Dict[str, Any]) -> Built:
        """Return the model of a case, with its inputs."""
        return build(source, parameters)

    def traced(self, module: nn.Module, item: Any, shown: str) -> Trace:
        """Return the trace of a forward pass of the arrays of one item, which are described as `shown`."""
        inputs = tensors(item)
        return trace(shown, module, lambda: self.called(module, inputs), with_gradients=self.freezes)

    def set_again(self, problem: Problem) -> None:
        """Set again what the user's module may have changed."""
        set_arithmetic()
        if problem.parameters["intra_op_threads"] is not None:
            torch.set_num_threads(problem.parameters["intra_op_threads"])

    @property
    def freezes(self) -> bool:
        """Return whether weights without a gradient are frozen: DDP would wait for their gradients.

        Which weights a loss or step of the user needs is unknown.
        """
        return self.problem.parallel and self.problem.training and self.loss_name in LOSSES

    def distributed(self, model: nn.Module) -> Any:
        """Return the module under the strategy of its case, with the unused weights frozen."""
        unused = set(self.trace.unused)
        for name, weight in model.named_parameters():
            if name in unused:
                weight.requires_grad_(False)
        return super().distributed(model)

    def update_of(self, problem: Problem) -> Any:
        step = problem.parameters["step"]
        if step is not None:
            self._step = user_code.function(step, "step", ("model", "inputs", "targets", "optimizer"))
        return super().update_of(problem)

    def called(self, module: Any, inputs: Any) -> Any:
        """Return the whole output of a module for one positional tensor, or for tensors by name."""
        return module(**inputs) if isinstance(inputs, dict) else module(inputs)

    def output(self, inputs: Any) -> torch.Tensor:
        """Return the tensor of the output that the loss uses."""
        return outputs.main_output(self.called(self.model, inputs))

    def loss(self, inputs: Any, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch on the device: the one of `loss_function`."""
        loss: torch.Tensor = self._loss(self.called(self.model, inputs), labels)
        return loss

    @property
    def _module(self) -> nn.Module:
        module: nn.Module = getattr(self.model, "_orig_mod", self.model)  # of a compiled model
        return module

    def make_deterministic(self) -> None:
        without_randomness(self._module)

    def exact(self, batch: Batch) -> Exact:
        module = self._module
        self.make_deterministic()
        if self.problem.parameters["weights"] is None:
            vary_constants(module, self.problem.parameters["seed"])

        def computed(copied: Any, inputs: Any, labels: torch.Tensor) -> torch.Tensor:
            outputs_of = self.called(copied, inputs)
            return self._loss(outputs_of, labels) if self.problem.training else outputs.main_output(outputs_of)

        return ExactModel(module, batch, computed)

    def learn(self, batches: Sequence[Batch]) -> torch.Tensor:
        if self.problem.parameters["step"] is None:
            return super().learn(batches)
        ((inputs, labels),) = batches
        with self.autocast():
            loss = self._step(self.model, inputs, labels, self.update.optimizer)
        self.update.advance()
        if not isinstance(loss, torch.Tensor):
            raise BadModel("step: the function returned an object of type %s, not the loss" % type(loss).__name__)
        return loss

    def on_device(self, inputs: Any, labels: "numpy.ndarray") -> Tuple[Any, Any]:
        return self.moved(tensors(inputs), torch.from_numpy(labels))

    def moved(self, inputs: Any, labels: torch.Tensor) -> Tuple[Any, Any]:
        """Move a batch to the device. Class indices become int64, as PyTorch's losses require."""
        labels = labels.to(self.device, non_blocking=True)
        targets = labels if labels.is_floating_point() else labels.long()
        if isinstance(inputs, dict):
            return {name: self.input_on_device(each) for name, each in inputs.items()}, targets
        return self.input_on_device(inputs), targets

    def pipeline(self, items: Items, forever: bool) -> Iterator[Tuple[Any, Any]]:
        for inputs, labels in self.pipelines.batches(items, forever):
            yield self.moved(self.of_data(inputs), labels)

    def remarks(self) -> List[str]:
        found, unused = [*super().remarks(), *self._remarks], self.trace.unused
        if self.trace.uncounted:
            found.append("FLOPs per item do not include the operators %s" % ", ".join(self.trace.uncounted))
        if unused:
            what = "%d weight tensors receive no gradient, so hpcbench freezes them, e.g. %s" % (len(unused), unused[0])
            found.append(what)
        return found


def tensors(inputs: Any) -> Any:
    """Return an array, or arrays by name, as tensors on the CPU."""
    if isinstance(inputs, dict):
        return {name: torch.from_numpy(each) for name, each in inputs.items()}
    return torch.from_numpy(inputs)
