"""How long a power window has to be, by the sensors of the node."""

from typing import Optional

from ...core.energy import KIND_SOURCES
from ...core.profiling.which_cases import SHORTEST_WINDOW_S
from .energy import NEEDED
from .power_sensors import SENSORS, Meter
from .timeline import INTERVAL_S, Timeline

_CPU, _GPU = "cpu", "gpu"


def length_s(timeline: Timeline, on_gpu: bool) -> Optional[float]:
    """Return the seconds that the best sensor of the device needs; None if the node has no sensor for it."""
    found = []
    for kind, domains, sources in KIND_SOURCES:
        if kind == (_GPU if on_gpu else _CPU):
            given = [meter for name in sources for meter in timeline.facts.get(name, {}).get("meters", ())]
            meters = [Meter(**each) for each in given]
            found += [_needed_s(meter) for meter in meters if meter.domain.startswith(domains)]
    return min((needed for needed in found if needed is not None), default=None)


def _needed_s(meter: Meter) -> Optional[float]:
    """Return the seconds that a counter needs, or the power sensor if there is no counter."""
    sensor = SENSORS.get(meter.counter_sensor if meter.counter else meter.power_sensor)
    if sensor is None:
        return None
    # A value lies up to one interval of the monitor from each end of a window.
    return max(SHORTEST_WINDOW_S, NEEDED * (sensor.period_s + sensor.window_s + 2 * INTERVAL_S))
