"""The energy of each component of a node between two times, with its uncertainty.

It is the increase of an energy counter if there is one, otherwise the integral of the readings of a power sensor. The
expanded uncertainty of the GUM (JCGM 100:2008), with k = 2 (about 95 %), includes:

- the ends of the window: a value is up to one period old, is an average, and lies between two readings;
- the resolution of the counter;
- the time that the sensor does not cover, as if it sampled at random; a load in step with it has a larger error;
- the error of the sensor itself, if published (power_sensors.py). It is the same in all runs on one device: differences
  between cases on one GPU are more precise than their uncertainties suggest.

The energy is that of the device, including all of its users.
"""

from dataclasses import replace
from math import isfinite, sqrt
from typing import List, NamedTuple, Optional, Tuple, Union

from ...core.energy import COUNTER, INTEGRATED, KIND_SOURCES, Energy
from .power_sensors import SENSORS, Meter, Sensor
from .timeline import Series, Timeline

# With a time resolution L, the two ends of a window leave an uncertainty of 2 * L / sqrt(6) (triangular, k = 2): 8 % of
# the energy of a window of NEEDED * L.
NEEDED = 10
_COVERAGE_FACTOR = 2.0
_TOLERATED = 0.05


class _Window(NamedTuple):
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


class _Estimate(NamedTuple):
    joules: float
    noise_j: float  # standard uncertainty, without the sensor's own error
    error_j: float  # standard uncertainty by that error
    method: str
    sensor: str

    @property
    def uncertainty_j(self) -> float:
        return _COVERAGE_FACTOR * sqrt(self.noise_j**2 + self.error_j**2)


def of_window(timeline: Timeline, start_s: float, end_s: float) -> List[Energy]:
    """Return the energy of each component that has a meter, and the reason for each kind of component without one.

    Several sources of one kind measure the same energy: the preferred one comes first.
    """
    window = _Window(start_s, end_s)
    found: List[Energy] = []
    for kind, domains, sources in KIND_SOURCES:
        meters = [(name, meter) for name in sources for meter in _meters(timeline, name)]
        meters = [(name, meter) for name, meter in meters if meter.domain.startswith(domains)]
        found += [_of_meter(timeline, meter, window, Energy(kind, name, meter.domain)) for name, meter in meters]
        if not meters:
            reasons = dict.fromkeys(timeline.absent[name] for name in sources if name in timeline.absent)
            found.append(Energy(kind, None, kind, reason="; ".join(reasons) or "no sensor of this node measures it"))
    return found


def meter_of(timeline: Timeline, source: str, domain: str) -> Optional[Meter]:
    """Return the meter of a source for a domain; None without one."""
    return next((meter for meter in _meters(timeline, source) if meter.domain == domain), None)


def _meters(timeline: Timeline, source: str) -> List[Meter]:
    return [Meter(**given) for given in timeline.facts.get(source, {}).get("meters", ())]


def _of_meter(timeline: Timeline, meter: Meter, window: _Window, part: Energy) -> Energy:
    """Return `part` with its energy, or with the reason why it has none."""
    counted, integrated = _counted(timeline, meter, window), _integrated(timeline, meter, window)
    remarks = [meter.remark, _others(timeline, meter.domain, window)]
    if isinstance(counted, str):
        if isinstance(integrated, str):
            return replace(part, reason=counted or integrated)
        best = integrated
    elif isinstance(integrated, str) or not _differ(counted, integrated):
        best = counted
    else:  # counters have been observed to miss energy when read often, to stop, and to use another unit
        best = integrated
        remarks.append("its counter (%.4g J) contradicts its power" % counted.joules)
    remark = "; ".join(filter(None, remarks)) or None
    measured = replace(part, joules=best.joules, uncertainty_j=best.uncertainty_j, method=best.method)
    return replace(measured, sensor=best.sensor, remark=remark)


def _differ(one: _Estimate, other: _Estimate) -> bool:
    """Return whether estimates differ by more than chance, and by more than correct readings of one sensor do."""
    chance = _COVERAGE_FACTOR * (one.noise_j + other.noise_j)
    return abs(one.joules - other.joules) > chance + _TOLERATED * max(one.joules, other.joules)


def _counted(timeline: Timeline, meter: Meter, window: _Window) -> Union[_Estimate, str]:
    """Return the energy by the counter, or why it is unknown; an empty text without a counter."""
    if meter.counter is None:
        return ""
    sensor = SENSORS.get(meter.counter_sensor)
    series = timeline.around(meter.counter, window.start_s, window.end_s)
    missing = _missing(sensor, series, window)
    if missing or sensor is None:
        return missing
    if meter.resets and timeline.increase(meter.resets, series.times_s[0], series.times_s[-1]):
        return "its counter was reset during the measurement"
    gaps = _gaps(series)
    end_s = sensor.period_s + max(gaps[0], gaps[-1])
    if window.length_s < NEEDED * end_s:
        return _too_short(window, end_s)
    joules = meter.joules * (timeline.increase(meter.counter, window.start_s, window.end_s) or 0.0)
    if joules <= 0:
        return "its counter did not change"
    steps = [meter.joules * (after - before) for before, after in zip(series.values, series.values[1:])]
    powers = [step / gap for step, gap in zip(steps, gaps)]
    shown = _within(timeline, meter.power, window) or powers
    parts = [
        triangular(max(powers) * end_s),
        triangular(sensor.resolution_j),
        _unseen(shown, sensor.seen, window.length_s / sensor.period_s, window),
    ]
    return _estimate(joules, parts, sensor, COUNTER, meter.counter_sensor)


def _integrated(timeline: Timeline, meter: Meter, window: _Window) -> Union[_Estimate, str]:
    """Return the energy by the trapezoidal rule, or why it is unknown; an empty text without a power sensor."""
    if meter.power is None:
        return ""
    sensor = SENSORS.get(meter.power_sensor)
    series = _sane(timeline.around(meter.power, window.start_s, window.end_s))
    missing = _missing(sensor, series, window)
    if missing or sensor is None:
        return missing
    gaps = _gaps(series)
    end_s = sensor.period_s + sensor.window_s + max(gaps)
    if window.length_s < NEEDED * end_s:
        return _too_short(window, end_s)
    joules = _area(series, window)
    if joules <= 0:
        return "its sensor shows no power"
    shown = _within(timeline, meter.power, window)
    apart_s = max(sensor.period_s, window.length_s / len(shown))
    seen = min(1.0, sensor.window_s / apart_s)
    parts = [triangular(max(series.values) * end_s), _unseen(shown, seen, window.length_s / apart_s, window)]
    return _estimate(joules, parts, sensor, INTEGRATED, meter.power_sensor)


def _estimate(joules: float, parts: List[float], sensor: Sensor, method: str, name: str) -> _Estimate:
    noise_j = sqrt(sum(part**2 for part in parts))
    return _Estimate(joules, noise_j, rectangular((sensor.error or 0.0) * joules), method, name)


def triangular(half_width: float) -> float:
    """Return the standard uncertainty of the symmetric triangular distribution on +-half_width (GUM 4.3.9).

    It is the distribution of the difference of two ages, each uniform from 0 to half_width.
    """
    return half_width / sqrt(6)


def rectangular(half_width: float) -> float:
    """Return the standard uncertainty of the uniform distribution on +-half_width (GUM 4.3.7)."""
    return half_width / sqrt(3)


def _unseen(powers: List[float], seen: float, looks: float, window: _Window) -> float:
    """Return the standard uncertainty (J) if a sensor with `looks` values covers the fraction `seen` of the time."""
    mean = sum(powers) / len(powers)
    variance = sum((power - mean) ** 2 for power in powers) / len(powers)
    return window.length_s * sqrt(variance * (1 - seen) / looks)


def _missing(sensor: Optional[Sensor], series: Series, window: _Window) -> str:
    """Return why the energy cannot be computed; an empty text if it can."""
    if sensor is None:
        return "its sensor is not supported by this version"
    if window.length_s <= 0:
        return "the window is empty"
    if len(series.times_s) < 2:
        return "it was not read"
    if series.times_s[0] > window.start_s:
        return "its readings begin %.3g s after the window" % (series.times_s[0] - window.start_s)
    if series.times_s[-1] < window.end_s:
        return "its readings end %.3g s before the window" % (window.end_s - series.times_s[-1])
    return ""


def _too_short(window: _Window, end_s: float) -> str:
    message = "the window of %.3g s is too short: the time resolution is %.3g s, which requires %.3g s"
    return message % (window.length_s, end_s, NEEDED * end_s)


def _others(timeline: Timeline, domain: str, window: _Window) -> Optional[str]:
    most = max(_within(timeline, domain + ".foreign_processes", window), default=0)
    return "up to %d other processes used it" % most if most else None


def _within(timeline: Timeline, column: Optional[str], window: _Window) -> List[float]:
    values = timeline.values(column, window.start_s, window.end_s) if column else []
    return [value for value in values if _is_sane(value)]


def _sane(series: Series) -> Series:
    pairs: List[Tuple[float, float]] = [
        (time_s, value) for time_s, value in zip(series.times_s, series.values) if _is_sane(value)
    ]
    return Series([time_s for time_s, _ in pairs], [value for _, value in pairs])


def _is_sane(value: float) -> bool:
    return isfinite(value) and value >= 0


def _gaps(series: Series) -> List[float]:
    return [after - before for before, after in zip(series.times_s, series.times_s[1:])]


def _area(series: Series, window: _Window) -> float:
    """Return the integral over the window of the straight lines between the readings."""
    area = 0.0
    readings = list(zip(series.times_s, series.values))
    for (before_s, before), (after_s, after) in zip(readings, readings[1:]):
        start_s, end_s = max(before_s, window.start_s), min(after_s, window.end_s)
        if end_s > start_s:
            slope = (after - before) / (after_s - before_s)
            middle = (start_s + end_s) / 2
            area += (before + slope * (middle - before_s)) * (end_s - start_s)
    return area
