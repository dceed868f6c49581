"""The cost of a call: what its launch, and the events around it, add to the time that a device needs for a kernel.

A call takes at least the time `floor`, in which the host launches its kernel. A kernel that takes longer hides the
launch. The CUDA or HIP events that measure the call, and the start of the kernel, then add the time `events`, which is
at most a fraction of the floor. With the time d of the kernel in a stream:

    t = (floor^p + (d + events)^p)^(1/p), p = 16

The host and the device work at the same time, so that the slower one counts (CUDA C++ programming guide, section
3.2.8); p makes it smooth. In a stream that is launched ahead of time, `floor` is the time of the shortest kernel, and
`events` is the time of the start of a kernel.
"""

from __future__ import annotations

import numpy as np

from hpcbench.predict.tables.prediction import Floats

_SHARPNESS = 16.0  # p, which makes a maximum: an assumption
_LEAST_FRACTION = 0.05  # of the time that is the kernel's at least, in a measured row
# The largest time of events over the floor: a host with short launches also records events fast. An assumption.
_OF_FLOOR = 0.7
_ABOVE = 1.1  # times over the floor from which on a row shows the time of its kernel


def measured(device_s: Floats, floor_s: Floats, events_s: Floats) -> Floats:
    """Return the time of a call in seconds from that of its kernel in a stream."""
    ratio = (device_s + _events(floor_s, events_s)) / floor_s
    largest = np.maximum(ratio, 1.0)
    return np.asarray(
        floor_s * largest * ((1 / largest) ** _SHARPNESS + (ratio / largest) ** _SHARPNESS) ** (1 / _SHARPNESS)
    )


def kernel(time_s: Floats, floor_s: Floats, events_s: Floats) -> Floats:
    """Return the time of a kernel in a stream in seconds from that of its call: the inverse of `measured`."""
    ratio = np.maximum(time_s / floor_s, 1.0 + 1e-9)
    found = time_s * (1.0 - ratio**-_SHARPNESS) ** (1 / _SHARPNESS) - _events(floor_s, events_s)
    return np.maximum(found, _LEAST_FRACTION * time_s)


def longest_kernel(time_s: Floats, floor_s: Floats, events_s: Floats) -> Floats:
    """Return the time of a kernel in a stream in seconds; for a call near its floor, the upper limit of this time."""
    return kernel(np.maximum(time_s, _ABOVE * floor_s), floor_s, events_s)


def sensitivity(device_s: Floats, floor_s: Floats, events_s: Floats) -> Floats:
    """Return the derivative of the logarithm of a call's time by that of its kernel's time: 0 to 1."""
    whole = measured(device_s, floor_s, events_s)
    return np.asarray(((device_s + _events(floor_s, events_s)) / whole) ** (_SHARPNESS - 1) * device_s / whole)


def floor_sensitivity(device_s: Floats, floor_s: Floats, events_s: Floats) -> Floats:
    """Return the derivative of the logarithm of a call's time by that of its floor: 0 to 1."""
    whole, events = measured(device_s, floor_s, events_s), _events(floor_s, events_s)
    with_floor = np.where(events < events_s, events, 0.0)  # events that grow with the floor
    by_events = ((device_s + events) / whole) ** (_SHARPNESS - 1) * with_floor / whole
    return np.asarray((floor_s / whole) ** _SHARPNESS + by_events)


def shows_kernel(time_s: Floats, floor_s: Floats) -> np.ndarray:
    """Return whether measured times are far enough above their floors to show the time of the kernel."""
    return np.asarray(time_s > _ABOVE * floor_s)


def _events(floor_s: Floats, events_s: Floats) -> Floats:
    return np.asarray(np.minimum(events_s, _OF_FLOOR * floor_s))
