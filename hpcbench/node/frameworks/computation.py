"""The interface of what a case computes."""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import Any, ContextManager, List, Optional

from ...core.record import Work
from ..workload.problem import Problem


class Computation(ABC):
    """What a case computes, with its input on the device."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @property
    @abstractmethod
    def work(self) -> Work:
        """Return the work of one step."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has finished all work."""

    def context(self) -> ContextManager[Any]:
        """Return the context manager of all measured steps, which each step would otherwise have to enter."""
        return nullcontext()

    def peak_device_bytes(self) -> Optional[int]:
        """Return the maximum memory in use on the device, in bytes; None on CPUs.

        It is counted since the computation was built, if the framework can reset the counter.
        """
        return None

    def remarks(self) -> List[str]:
        """Return remarks on how the work was done, for the record."""
        return []

    def close(self) -> None:
        """Leave the group of ranks. All ranks must call this."""
        return
