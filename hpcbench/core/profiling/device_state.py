"""The state of a device that a profile requested, with the names of its columns in `operators.parquet`."""

from dataclasses import dataclass, field, fields
from typing import Optional, Tuple

CLOCK_TOLERANCE = 0.02  # relative change of a clock, or difference from the requested one, that is reported
CLOCK_KEPT = "profile: the clock cannot be changed"  # the beginning of a warning in records


@dataclass(frozen=True)
class DeviceState:
    """A requested state of a device. A value is None if it was not changed.

    Clock and power limit identify the state. The method, by which they were set, does not.
    """

    requested_clock_mhz: Optional[float] = None
    requested_power_limit_w: Optional[float] = None
    clock_method: Optional[str] = field(default=None, compare=False)

    def in_words(self) -> str:
        """Return `900 MHz`, `250 W`, or an empty text for the default state."""
        values = ((self.requested_clock_mhz, "MHz"), (self.requested_power_limit_w, "W"))
        return ", ".join("%g %s" % (value, unit) for value, unit in values if value is not None)


# Columns that identify the state of a device, and an operator.
REQUESTED: Tuple[str, ...] = tuple(each.name for each in fields(DeviceState) if each.compare)
STATE = ("device",) + REQUESTED
OPERATOR = ("kind", "operator", "phase", "arguments", "members")
