"""The network of an external model, as far as it is the same in all frameworks."""

from dataclasses import replace
from typing import Any, Callable, Dict, Mapping, Tuple

import numpy

from ....core.record import Work
from ....models import inputs as model_inputs
from ....models.initial_weights import Numbers
from ....models.inputs import UNNAMED, Input, Inputs
from ....models.losses import CROSS_ENTROPY, LOSSES
from ...errors import BadModel, Unsupported
from ...workload import synthetic, user_code
from ...workload.problem import Problem
from ...workload.user_code import in_one_line, last_lines
from ..adapter import Network
from .building import check_ranks
from .exact import Exact
from .outputs import synthetic_targets
from .trace import Trace

NO_REFERENCE = (
    "models of libraries and your own models are validated with framework: pytorch only; ONNX files are not validated"
)
_IMAGES = 3  # dimensions of an image


class ExternalNetwork(Network):
    """A model with its own inputs and loss. A subclass also inherits from the network of its framework."""

    channels_last = True  # whether an image is (height, width, channels)
    has_reference = False  # whether `exact` returns one
    inputs: Inputs
    trace: Trace

    def describe(self, known: Mapping[str, Input], trace: Callable[[Any, str], Trace]) -> None:
        """Set the inputs, the trace, and the sizes of the problem. All ranks must call this.

        `known` are the inputs that the library describes. `trace` receives the arrays of one item and a description
        of them, and runs the forward pass. Raise BadModel if it fails, or if the inputs do not fit.
        """
        model, numbers = self.problem.parameters["model"], Numbers(self.problem.parameters["seed"], 1)
        self.inputs = self._merged(known)
        item = self.named({name: synthetic.array(each, 1, numbers) for name, each in self.inputs.items()})
        shown = ", ".join(_described(name, each) for name, each in self.inputs.items())
        try:
            self.trace = trace(item, shown)
        except (MemoryError, BadModel, Unsupported, KeyboardInterrupt):
            raise
        except BaseException as error:  # also SystemExit
            what = "the forward pass of %s with %s failed: %s" % (model, shown, in_one_line(error))
            raise BadModel(what, last_lines(error)) from error
        check_ranks(self.problem.group, self.trace.fingerprint, "'%s' builds different models" % model)
        self.problem = replace(self.problem, options=self._sizes(), item_shape=self._item_shape())

    def synthetic_batch(self, problem: Problem) -> Tuple[Any, Any]:
        numbers, size = problem.synthetic_numbers(), problem.parameters["batch_size"]
        inputs = self.named({name: synthetic.array(each, size, numbers) for name, each in self.inputs.items()})
        if not problem.training:
            return inputs, numpy.zeros(size, numpy.int64)  # inference does not use them
        shape = (size, *self.trace.output_shape[1:])
        return inputs, synthetic_targets(self.loss_name, shape, self.classes_dimension(len(shape)), numbers)

    def exact(self, batch: Tuple[Any, Any]) -> Exact:
        """Return the reference of this network in float64, for a batch on the device.

        This changes the network: it loses its dropout, and constant weights become random. Raise Unsupported if there
        is no reference.
        """
        raise Unsupported(NO_REFERENCE)

    def named(self, arrays: Dict[str, Any]) -> Any:
        """Return the only array of a model with one unnamed input, otherwise the arrays by name."""
        return arrays.get(UNNAMED, arrays)

    def of_data(self, array: Any) -> Any:
        """Return the inputs of a batch of real data, which have one array."""
        (name,) = self.inputs
        return self.named({name: array})

    def classes_dimension(self, dimensions: int) -> int:
        """Return the dimension of the classes in an output: the one of the channels."""
        return dimensions - 1 if self.channels_last or dimensions != _IMAGES + 1 else 1

    @property
    def loss_name(self) -> str:
        """Return the name of the loss, or the function of the user that computes it."""
        parameters = self.problem.parameters
        return parameters["loss_function"] or parameters["step"] or CROSS_ENTROPY

    def loss_function(self, named: Mapping[str, Callable[..., Any]], main: Callable[[Any], Any]) -> Callable[..., Any]:
        """Return the loss as a function of the whole output of the model and the targets.

        `named` are the losses of the framework by name; they receive the tensor that `main` finds in the output.
        """
        chosen = named.get(self.loss_name)
        if chosen is None:
            return _scalar(user_code.function(self.loss_name, "loss_function", ("output", "targets")), self.loss_name)
        return lambda outputs, targets: chosen(main(outputs), targets)

    @property
    def work(self) -> Work:
        """Return the work of one step; training counts three forward passes, as for the shipped models."""
        size = self.problem.parameters["batch_size"]
        shapes = {name or "input": (size, *each.shape) for name, each in self.inputs.items()}
        flops = self.trace.flops * (3 if self.problem.training else 1)
        return replace(
            super().work, flops_per_item=flops, input_shapes=shapes, graph_fingerprint=self.trace.fingerprint
        )

    def _merged(self, known: Mapping[str, Input]) -> Inputs:
        model = self.problem.parameters["model"]
        try:
            inputs = model_inputs.merged(known, self.problem.parameters["input"])
        except ValueError as error:
            raise BadModel("%s: %s" % (model, error)) from error
        if not inputs:
            raise BadModel("'input' is missing: '%s' has no default input" % model)
        return inputs

    def _sizes(self) -> Dict[str, int]:
        """Return what real data must fit: the number of classes, and the vocabulary of tokens."""
        shape = self.trace.output_shape
        sizes = {"classes": shape[self.classes_dimension(len(shape))] if len(shape) > 1 else 1}
        vocabulary = next(iter(self.inputs.values())).vocabulary
        return {**sizes, "vocabulary": vocabulary} if vocabulary else sizes

    def _item_shape(self) -> Tuple[int, ...]:
        """Return the shape of an item of real data, in which an image is (channels, height, width)."""
        output, shape = self.trace.output_shape, next(iter(self.inputs.values())).shape
        data = self.problem.parameters["data"]
        if data is None:
            return shape
        if len(self.inputs) > 1:
            raise BadModel("'data' cannot be used with a model of %d inputs; data files have one" % len(self.inputs))
        if len(output) != 2 and self.loss_name in LOSSES:
            raise BadModel("'data' requires a model with an output of shape (batch, classes), not %s" % (output,))
        first = (shape[-1], *shape[:-1]) if self.channels_last and len(shape) == _IMAGES else shape
        if data["imagefolder"] and (len(first) != _IMAGES or first[0] != 3 or first[1] != first[2]):
            wanted = "(n, n, 3)" if self.channels_last else "(3, n, n)"
            what = "'data' is an image folder, which requires an input of shape %s, not %s" % (wanted, shape)
            raise BadModel(what)
        return first


def _scalar(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the user's loss with a check of its result."""

    def checked(outputs: Any, targets: Any) -> Any:
        loss = function(outputs, targets)
        shape = getattr(loss, "shape", None)
        if shape is None or len(shape):
            found = "an object of type %s" % type(loss).__name__ if shape is None else "shape %s" % (tuple(shape),)
            raise BadModel("loss_function: '%s' returned %s, not a scalar tensor" % (name, found))
        return loss

    return checked


def _described(name: str, one: Input) -> str:
    return "%sinput of shape (1%s), %s" % (name and name + " as ", "".join(", %d" % n for n in one.shape), one.dtype)
