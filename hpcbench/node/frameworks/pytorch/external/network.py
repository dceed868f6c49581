"""A model of a library or of the user as the network of a case."""

from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import numpy
import torch
from torch import nn

from .....core.record import Work
from .....models import inputs as model_inputs
from .....models.initial_weights import Numbers
from .....models.inputs import UNNAMED, Input
from .....models.losses import CROSS_ENTROPY
from .....models.source import source_of
from ....errors import BadModel
from ....workload import synthetic, user_code
from ....workload.data import Items
from ....workload.problem import Problem
from ...adapter import Batch
from ..network import PyTorchNetwork, set_arithmetic
from . import outputs
from .build import build
from .trace import trace


class ExternalNetwork(PyTorchNetwork):
    """A network that a library or the user's function builds, with its own inputs, loss and step."""

    def model_of(self, problem: Problem) -> nn.Module:
        parameters, rank = problem.parameters, problem.group.rank
        torch.manual_seed(parameters["seed"])  # the same weights on all ranks
        made = build(source_of(parameters["model"]), parameters)
        self._remarks = list(made.remarks)
        set_arithmetic()  # again, since the user's module may have changed these settings
        if parameters["intra_op_threads"] is not None:
            torch.set_num_threads(parameters["intra_op_threads"])
        try:
            self.inputs = model_inputs.merged(made.inputs, parameters["input"])
        except ValueError as error:
            raise BadModel("%s: %s" % (parameters["model"], error)) from error
        if not self.inputs:
            raise BadModel("'input' is missing: '%s' has no default input" % parameters["model"])
        self.trace = self._traced(made.module.float())  # hpcbench sets the dtype of the case afterwards
        self._check_ranks()
        torch.manual_seed(parameters["seed"] + rank)  # of dropout
        self.problem = replace(problem, options=self._sizes(), item_shape=self._item_shape())
        if problem.training and parameters["step"] is None:
            self._loss = self._loss_function()
        return made.module

    def distributed(self, model: nn.Module) -> Any:
        """Return the module under the strategy of its case.

        Weights that receive no gradient are frozen: DDP would wait for their gradients. Which weights a loss or step of
        the user needs is unknown.
        """
        unused = set(self.trace.unused)
        for name, weight in model.named_parameters():
            if name in unused:
                weight.requires_grad_(False)
        return super().distributed(model)

    def update_of(self, problem: Problem) -> Any:
        step = problem.parameters["step"]
        if step is not None:
            self._step = user_code.function(step, "step")
        return super().update_of(problem)

    def output(self, inputs: Any) -> torch.Tensor:
        """Return the tensor of the output that the loss uses."""
        return outputs.main_output(self._called(self.model, inputs))

    def loss(self, inputs: Any, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch on the device: the one of `loss_function`."""
        loss: torch.Tensor = self._loss(self._called(self.model, inputs), labels)
        return loss

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

    def synthetic_batch(self, problem: Problem) -> Tuple[Any, Any]:
        parameters, numbers = problem.parameters, problem.synthetic_numbers()
        size = parameters["batch_size"]
        arrays = {name: synthetic.array(each, size, numbers) for name, each in self.inputs.items()}
        if not problem.training:
            return _unwrapped(arrays), numpy.zeros(size, numpy.int64)  # inference does not use them
        shape = (size, *self.trace.output_shape[1:])
        return _unwrapped(arrays), outputs.synthetic_targets(self._loss_name, shape, numbers)

    def on_device(self, inputs: Any, labels: "numpy.ndarray") -> Tuple[Any, Any]:
        return self.moved(_tensors(inputs), torch.from_numpy(labels))

    def moved(self, inputs: Any, labels: torch.Tensor) -> Tuple[Any, Any]:
        """Move a batch to the device. Class indices become int64, as PyTorch's losses require."""
        labels = labels.to(self.device, non_blocking=True)
        targets = labels if labels.is_floating_point() else labels.long()
        if isinstance(inputs, dict):
            return {name: self.input_on_device(each) for name, each in inputs.items()}, targets
        return self.input_on_device(inputs), targets

    def pipeline(self, items: Items, forever: bool) -> Iterator[Tuple[Any, Any]]:
        (name,) = self.inputs
        for inputs, labels in self.pipelines.batches(items, forever):
            yield self.moved(inputs if name == UNNAMED else {name: inputs}, labels)

    def remarks(self) -> List[str]:
        found, unused = [*super().remarks(), *self._remarks], self.trace.unused
        if unused:
            what = "%d weight tensors receive no gradient, so hpcbench freezes them, e.g. %s" % (len(unused), unused[0])
            found.append(what)
        return found

    @property
    def work(self) -> Work:
        """Return the work of one step; training counts three forward passes, as for the shipped models."""
        size = self.problem.parameters["batch_size"]
        shapes = {name or "input": (size, *each.shape) for name, each in self.inputs.items()}
        flops = self.trace.flops * (3 if self.problem.training else 1)
        return replace(
            super().work, flops_per_item=flops, input_shapes=shapes, graph_fingerprint=self.trace.fingerprint
        )

    def _traced(self, module: nn.Module) -> Any:
        parameters = self.problem.parameters
        numbers = Numbers(parameters["seed"], 1)  # the same on all ranks
        arrays = {name: synthetic.array(each, 1, numbers) for name, each in self.inputs.items()}
        item = _tensors(_unwrapped(arrays))
        freezes = self.problem.parallel and self.problem.training and self._loss_name in outputs.LOSSES
        shown = ", ".join(_described(name, each) for name, each in self.inputs.items())
        return trace(parameters["model"], shown, module, lambda: self._called(module, item), with_gradients=freezes)

    def _called(self, module: Any, inputs: Any) -> Any:
        return module(**inputs) if isinstance(inputs, dict) else module(inputs)

    def _check_ranks(self) -> None:
        """Raise BadModel if the ranks have built different models."""
        everyones = self.problem.group.gather(self.trace.fingerprint)
        differing = [rank for rank, other in enumerate(everyones) if other != everyones[0]]
        if differing and self.problem.parameters["strategy"] != "single":
            raise BadModel(
                "'%s' builds different models on ranks 0 and %d" % (self.problem.parameters["model"], differing[0])
            )

    @property
    def _loss_name(self) -> str:
        """Return the name of the loss, or the function of the user that computes it."""
        parameters = self.problem.parameters
        return parameters["loss_function"] or parameters["step"] or CROSS_ENTROPY

    def _loss_function(self) -> Callable[[Any, torch.Tensor], torch.Tensor]:
        """Return the loss as a function of the whole output of the model and the targets."""
        named = outputs.LOSSES.get(self._loss_name)
        if named is None:
            return user_code.function(self._loss_name, "loss_function")
        return lambda output, targets: named(outputs.main_output(output), targets)

    def _sizes(self) -> Dict[str, int]:
        """Return what real data must fit: the number of classes, and the vocabulary of tokens."""
        shape = self.trace.output_shape
        sizes = {"classes": shape[outputs.classes_dimension(len(shape))] if len(shape) > 1 else 1}
        vocabulary = next(iter(self.inputs.values())).vocabulary
        return {**sizes, "vocabulary": vocabulary} if vocabulary else sizes

    def _item_shape(self) -> Tuple[int, ...]:
        if self.problem.parameters["data"] is not None and len(self.inputs) > 1:
            raise BadModel("'data' cannot be used with a model of %d inputs; data files have one" % len(self.inputs))
        output = self.trace.output_shape
        if self.problem.parameters["data"] is not None and len(output) != 2 and self._loss_name in outputs.LOSSES:
            raise BadModel("'data' requires a model with an output of shape (batch, classes), not %s" % (output,))
        shape = next(iter(self.inputs.values())).shape
        is_folder = bool((self.problem.parameters["data"] or {}).get("imagefolder"))
        if is_folder and shape != (3, *shape[-1:] * 2):
            raise BadModel("'data' is an image folder, which requires an input of shape (3, n, n), not %s" % (shape,))
        return shape


def _unwrapped(arrays: Dict[str, Any]) -> Any:
    return arrays.get(UNNAMED, arrays)


def _tensors(inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return {name: torch.from_numpy(each) for name, each in inputs.items()}
    return torch.from_numpy(inputs)


def _described(name: str, one: Input) -> str:
    return "%sinput of shape (1%s), %s" % (name and name + " as ", "".join(", %d" % n for n in one.shape), one.dtype)
