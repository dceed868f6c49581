"""The interface of a framework's adapter."""

import itertools
import re
from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ContextManager,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    Type,
)

from ...core.frameworks import TASKS
from ...core.profiling.operator_list import OperatorList
from ...core.profiling.operator_row import OperatorRow
from ...core.record import Work
from ...core.training.saved_activations import SavedActivations
from ...models.communication_volume import Exchange
from ...models.source import source_of
from ..errors import Unsupported
from ..workload.data import Items
from ..workload.problem import Problem
from .computation import Computation
from .operator_call import OperatorCall
from .operator_computation import OperatorComputation
from .profile_request import ProfileRequest
from .supported_library import SupportedLibrary

if TYPE_CHECKING:
    import numpy


Batch = Tuple[Any, Any]  # inputs and labels


class Network(Computation):
    """A model with its input on the device, ready to step. The task determines whether it infers or trains."""

    parameter_count: int
    _batches: Iterator[Batch]

    def feed(self) -> None:
        """Set the source of batches: one synthetic batch repeated forever, or the input pipeline of real data."""
        split = self.problem.split
        if split:
            self._batches = self.pipeline(split.training, forever=True)
        else:
            self._batches = itertools.repeat(self.on_device(*self.synthetic_batch(self.problem)))

    def synthetic_batch(self, problem: Problem) -> Batch:
        """Return one batch of synthetic input as arrays of NumPy, for this problem or for one with another seed."""
        return problem.batch()

    def infer(self) -> Any:
        """Run the forward pass of the next batch. Return the logits, (batch, [time,] classes), on the device."""
        return self.predict(next(self._batches)[0])

    def train(self) -> Any:
        """Run forward and backward pass of the next batches, and one optimizer step. Return the loss, on the device."""
        return self.learn([next(self._batches) for _ in range(self.problem.batches_per_step)])

    def backward(self) -> Any:
        """Run forward and backward pass of the next batches. Return the loss, on the device."""
        return self.differentiate([next(self._batches) for _ in range(self.problem.batches_per_step)])

    def fetch(self) -> Batch:
        """Return the next batch of the input pipeline. It is on the device after `synchronize`."""
        return next(self._batches)

    @abstractmethod
    def predict(self, inputs: Any) -> Any:
        """Return the logits, (batch, classes), of a batch on the device as in inference, also during training."""

    @abstractmethod
    def learn(self, batches: Sequence[Batch]) -> Any:
        """Run one training step with `batches_per_step` batches on the device. Return the mean loss on this rank."""

    @abstractmethod
    def differentiate(self, batches: Sequence[Batch]) -> Any:
        """Run one training step up to the update of the weights, with the exchange of gradients between ranks.

        The gradients replace those of the previous step. Return the mean loss on this rank.
        """

    @abstractmethod
    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        """Return inputs (batch, *item_shape) and labels (batch, [time]) on the device.

        They have the form that `predict` and `learn` take.
        """

    @abstractmethod
    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        """Yield batches on the device from the framework's own input pipeline.

        With `forever`, yield whole batches, shuffled, epoch after epoch. Otherwise yield the items once, in order; they
        fill whole batches.
        """

    @abstractmethod
    def to_numpy(self, result: Any) -> "numpy.ndarray":
        """Return a result of `infer` or `train` as a float32 array."""

    def common_weights(self) -> ContextManager[None]:
        """Return the context in which all ranks have the same weights, for an evaluation. All ranks must call this.

        If a strategy lets the weights of ranks differ, they are the mean over all ranks, or the weights of the servers.
        """
        return nullcontext()

    @abstractmethod
    def weights(self) -> "Iterable[numpy.ndarray]":
        """Yield the trainable weights, whole, in the same order on every rank. All ranks must call this.

        If a strategy lets them differ between ranks, they are those of `common_weights`.
        """

    def exchange(self) -> Exchange:
        """Return what the ranks exchange in a step. Weights and gradients of trainings are in float32."""
        problem, size = self.problem, 4 * self.parameter_count
        strategy = problem.parameters["strategy"]
        return Exchange(
            strategy=strategy,
            ranks=problem.group.size,
            weight_bytes=size,
            gradient_bytes=size,
            batches=problem.batches_per_step,
            trains=problem.training,
            on_gpu=problem.on_gpu,
            period=problem.averaging_period,
        )

    @abstractmethod
    def gradients(self) -> "Iterable[numpy.ndarray]":
        """Yield the gradients of the last `differentiate`, in the layout of `weights`. All ranks must call this."""

    def make_deterministic(self) -> None:
        """Switch off the random parts of a model that hpcbench does not build, such as dropout."""
        return

    def saved_activations(self) -> SavedActivations:
        """Return the memory that the forward pass of a batch keeps for its backward pass, on this rank."""
        return SavedActivations(reason="this framework does not show which arrays it keeps")

    @property
    def work(self) -> Work:
        """Return the work of one step."""
        problem, parameters = self.problem, self.problem.parameters
        in_steps = TASKS[parameters["task"]].in_steps
        of_16_bits = "autocast" if problem.training else "pure"
        return Work(
            parameter_count=self.parameter_count,
            flops_per_item=problem.flops_per_item or None,
            items_per_step=problem.items_per_step if in_steps else None,
            items_per_epoch=problem.items_per_epoch,
            input_shapes={"input": (parameters["batch_size"], *problem.item_shape)},
            dtype=parameters["dtype"],
            math_mode="float32" if parameters["dtype"] == "float32" else of_16_bits,
        )


class Adapter(ABC):
    """One framework."""

    name: str
    libraries: Tuple[SupportedLibrary, ...]  # the framework itself, then the libraries that it computes with
    packages: Tuple[str, ...]  # distributions whose versions belong in the record, if installed
    network: Type[Network]  # of the shipped models
    external: Type[Network]  # of the models of libraries and users, if the framework runs them
    operator: Optional[Type[OperatorCall]] = None  # if the framework runs operators
    exhausted: Tuple[Type[BaseException], ...] = ()  # the framework's exceptions that mean that memory ran out
    memory_errors: Tuple[Type[BaseException], ...] = ()  # exceptions that may mean it
    has_collectives = False  # whether hpcbench runs the collective operators of the framework
    changes_threads = False  # whether the number of intra-op threads can change in a running process
    memory_words: str  # a regular expression that their message must match

    @abstractmethod
    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        """Set thread counts before the framework's first operation; None leaves a count unset.

        Raise Unsupported if a count cannot be set.
        """

    @abstractmethod
    def threads(self) -> Dict[str, Any]:
        """Return the effective `intra_op` and `inter_op`, read back from the framework, and `by`: how they are set."""

    def set_settings(self, parameters: Dict[str, Any]) -> None:
        """Set those settings of core/frameworks.py that have a function of the framework, before its first operation.

        Raise Unsupported if this build lacks one.
        """
        return

    def settings(self) -> Dict[str, Any]:
        """Return the effective settings, if they can be read back; None if a setting is neither on nor off."""
        return {}

    @abstractmethod
    def build(self, problem: Problem) -> Computation:
        """Return the network or operator of a case. Raise Unsupported if it cannot run here."""

    def computation_of(self, problem: Problem) -> Computation:
        """Return the operator of a case, or its network by the source of its model."""
        if problem.operator is not None:
            if self.operator is None:
                raise Unsupported("hpcbench has no operators of %s" % self.name)
            if problem.operator.is_collective and not self.has_collectives:
                title = problem.operator.title
                raise Unsupported("%s is not available for %s; use framework: pytorch" % (title, self.name))
            return OperatorComputation(problem, problem.operator, self.operator)
        is_external = source_of(problem.parameters["model"]).is_external
        return (self.external if is_external else self.network)(problem)

    def profile(
        self, computation: Computation, request: ProfileRequest, keep: Callable[[OperatorRow], None]
    ) -> List[str]:
        """Measure the operators of a network, pass a row for each to `keep`, and return warnings.

        Raise Unsupported if hpcbench cannot do this with the framework.
        """
        raise Unsupported("framework %s cannot be profiled; pytorch can" % self.name)

    def operators_of(self, problem: Problem) -> OperatorList:
        """Return the operators of a step of a case, without running it.

        Raise Unsupported if hpcbench cannot do this with the framework, and other errors if the network is not valid.
        """
        raise Unsupported("the operators of framework %s cannot be listed; those of pytorch can" % self.name)

    def devices(self) -> List[str]:
        """Return the models of the GPUs that this process sees, in order. Called only for cases on a GPU."""
        return []

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error of the framework means that memory ran out."""
        matches = isinstance(error, self.memory_errors) and re.search(self.memory_words, str(error))
        return isinstance(error, (MemoryError, *self.exhausted)) or bool(matches)
