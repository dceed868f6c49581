"""What every framework's adapter offers."""

import itertools
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Type

from ...core.frameworks import TIME_TO_ACCURACY
from ...core.record import Work
from ..workload.data import Items
from ..workload.problem import Problem

if TYPE_CHECKING:
    import numpy


Batch = Tuple[Any, Any]  # inputs and labels


class Network(ABC):
    """A model with its input on the device, ready to step. One of the two steps is used, chosen by the task."""

    parameter_count: int
    _batches: Iterator[Batch]

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def feed(self) -> None:
        """Say where batches come from: the same synthetic one for ever, or the input pipeline of real data."""
        split = self.problem.split
        if split:
            self._batches = self.pipeline(split.training, forever=True)
        else:
            self._batches = itertools.repeat(self.on_device(*self.problem.batch()))

    def infer(self) -> Any:
        """One forward pass of the next batch; the logits, (batch, classes), on the device."""
        return self.predict(next(self._batches)[0])

    def train(self) -> Any:
        """Forward, loss, backward and optimizer step with the next batch; the loss, on the device."""
        return self.learn(*next(self._batches))

    @abstractmethod
    def predict(self, inputs: Any) -> Any:
        """The logits of a batch on the device, as in inference; also in the midst of training."""

    @abstractmethod
    def learn(self, inputs: Any, labels: Any) -> Any:
        """One training step with a batch on the device; its loss."""

    @abstractmethod
    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        """A batch, (batch, *item_shape) and (batch,), as the two steps take it."""

    @abstractmethod
    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        """Batches on the device by the framework's own input pipeline: shuffled, whole ones, epoch after epoch without
        end; or once, in order (then the items fill whole batches)."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has done all that was asked of it."""

    @abstractmethod
    def to_numpy(self, result: Any) -> "numpy.ndarray":
        """What `infer` or `train` returned, in float32."""

    @abstractmethod
    def weights(self) -> "Iterable[numpy.ndarray]":
        """The trainable weights, whole, in an order of its own that is the same on every rank. All ranks must ask."""

    def peak_device_bytes(self) -> Optional[int]:
        """The most memory held on the device; since the network was built, where the framework can count anew. None
        where the device is the CPU."""
        return None

    def remarks(self) -> List[str]:
        """What a reader of the record should know about how the work was done."""
        return []

    def close(self) -> None:
        """Leave what was joined. All ranks come here together."""
        return

    @property
    def work(self) -> Work:
        problem, parameters = self.problem, self.problem.parameters
        learning = parameters["task"] == TIME_TO_ACCURACY
        of_16_bits = "autocast" if problem.training else "pure"
        return Work(
            parameter_count=self.parameter_count,
            flops_per_item=problem.flops_per_item,
            items_per_step=None if learning else parameters["batch_size"] * problem.group.size,
            items_per_epoch=problem.items_per_epoch,
            input_shape=(parameters["batch_size"], *problem.item_shape),
            dtype=parameters["dtype"],
            math_mode="float32" if parameters["dtype"] == "float32" else of_16_bits,
        )


class Library(NamedTuple):
    """A library that an adapter was written for, as it is here."""

    name: str
    version: str
    first: str  # the first version that will do
    beyond: str  # the first that will not


class Adapter(ABC):
    """One framework."""

    name: str
    libraries: Tuple[Library, ...]  # the framework itself, then what it computes with
    packages: Tuple[str, ...]  # distributions whose versions belong in the record, as far as they are there
    exhausted: Tuple[Type[BaseException], ...] = ()  # the framework's types that mean that memory ran out
    memory_errors: Tuple[Type[BaseException], ...] = ()  # those that may mean it
    memory_words: str  # a regular expression, which such an error then has

    @abstractmethod
    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        """Set what is given, before the framework's first operation. Raises Unsupported where it has no such thing."""

    @abstractmethod
    def threads(self) -> Dict[str, Any]:
        """What is in effect: `intra_op` and `inter_op`, read back from the framework, and `by`: the means."""

    def set_settings(self, parameters: Dict[str, Any]) -> None:
        """Set what of the settings in catalog.py is set from inside, before the framework's first operation. Raises
        Unsupported where this build has no such thing."""
        return

    def settings(self) -> Dict[str, Any]:
        """What of them is in effect, as far as it can be read back; null where it is neither on nor off."""
        return {}

    @abstractmethod
    def build(self, problem: Problem) -> Network:
        """The network of a case. Raises Unsupported where it cannot run here."""

    def devices(self) -> List[str]:
        """Models of the GPUs that this process sees, in their order. Asked where the case is for a GPU."""
        return []

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the framework's error means that memory ran out."""
        told = isinstance(error, self.memory_errors) and re.search(self.memory_words, str(error))
        return isinstance(error, (MemoryError, *self.exhausted)) or bool(told)
