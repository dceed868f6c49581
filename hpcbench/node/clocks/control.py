"""The interface of what changes the clock of a device."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Dict, List, Optional, Sequence, TypeVar

from ...core.profiling.device_state import DeviceState

LOWEST_FRACTION = 0.36  # of the highest clock: slower clocks need more energy for any work
_Number = TypeVar("_Number", int, float)


class NotPermitted(Exception):
    """The clock cannot be changed. The message has the reason."""


class Control(ABC):
    """One way to change the clock of one device. A guard process restores the state that `saved` describes."""

    method: ClassVar[str]  # for records and tables
    remark: ClassVar[str] = ""  # a warning of each run that uses this control

    @abstractmethod
    def states(self, number: int) -> List[DeviceState]:
        """Return up to `number` states from the slowest to the fastest, at equal distances; fewer if there are fewer.

        The slowest has LOWEST_FRACTION of the highest clock, or the lowest value that the device accepts.
        """

    @abstractmethod
    def apply(self, state: DeviceState) -> None:
        """Change the device to a state. Raise NotPermitted if the device refuses it."""

    @abstractmethod
    def saved(self) -> Dict[str, Any]:
        """Return what `restore` needs to restore the present state, as JSON; `method` is one of its keys.

        Raise NotPermitted if the state cannot be read.
        """

    @staticmethod
    @abstractmethod
    def restore(saved: Dict[str, Any]) -> None:
        """Restore the state that `saved` describes, in any process. Raise NotPermitted if that fails.

        `saved` may come from a damaged file: nothing but the clocks of devices can be changed by it.
        """

    @abstractmethod
    def clock_mhz(self) -> Optional[float]:
        """Return the present clock of the device, of the fastest CPU on CPUs; None if it cannot be read."""


def spread(values: Sequence[_Number], number: int, lowest: float) -> List[_Number]:
    """Return up to `number` of these values from at least `lowest` to the largest, as equally spaced as possible."""
    if not values or number < 1:
        return []
    least, most = min((value for value in values if value >= lowest), default=max(values)), max(values)
    steps = max(number - 1, 1)
    wanted = [most - (most - least) * step / steps for step in range(number)]
    return sorted({min(values, key=lambda value: math.fabs(value - each)) for each in wanted})
