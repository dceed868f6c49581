"""What every framework's adapter offers."""

from abc import ABC, abstractmethod
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..ranks import Ranks


class Work(NamedTuple):
    """What one step is, so that two cases can be compared only where they do the same."""

    parameter_count: int
    flops_per_item: int  # by the convention in catalog.py
    items_per_step: int  # over all ranks
    input_shape: Tuple[int, ...]  # of one rank's batch
    dtype: str
    math_mode: str  # what the hardware may do to the numbers, as in tf32 or autocast


class Network(ABC):
    """A model with its input on the device, ready to step. One of the two steps is used, chosen by the task."""

    work: Work

    @abstractmethod
    def infer(self) -> Any:
        """One forward pass."""

    @abstractmethod
    def train(self) -> Any:
        """Forward, loss, backward and optimizer step."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has done all that was asked of it."""

    def agree(self, value: float) -> float:
        """Rank 0's `value`, on every rank."""
        return value

    def peak_device_bytes(self) -> Optional[int]:
        """The most memory held on the device so far; None where the device is the CPU."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Leave the group of ranks."""


class Adapter(ABC):
    """One framework."""

    name: str
    packages: Tuple[str, ...]  # distributions whose versions belong in the record, the framework first

    @abstractmethod
    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        """Set what is given, before the framework's first operation."""

    @abstractmethod
    def threads(self) -> Dict[str, Optional[int]]:
        """What is in effect: `intra_op` and `inter_op`, read back from the framework."""

    def devices(self) -> List[str]:
        """Models of the GPUs that this process sees."""
        return []

    @abstractmethod
    def build(self, parameters: Dict[str, Any], ranks: Ranks) -> Network:
        """The network of a case. Raises Unsupported where it cannot run here."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the framework's error means that memory ran out."""
        return isinstance(error, MemoryError)
