"""Find implausible numbers in the description of a device: wrong units, and numbers that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hpcbench.config.devices.description import CPU, Description

TOLERANCE = 0.03  # data sheets round rates, bandwidths and clocks
_LEAST_OVER_FP32, _MOST_OVER_FP32 = 0.25, 200.0  # of a rate of matrix products; the largest ratio is 60


class Flaw(NamedTuple):
    """An implausible number: the path of its key in the description, what is wrong, and what to do."""

    key: tuple[str, ...]
    what: str
    hint: str


class _Span(NamedTuple):
    """The plausible values of a key in its unit, and the factors that convert from other units."""

    least: float
    most: float
    unit: str
    others: Mapping[str, float]


_CLOCK = _Span(50.0, 10_000.0, "MHz", {"GHz": 1e3, "kHz": 1e-3, "Hz": 1e-6})
_POWER = _Span(3.0, 5_000.0, "W", {"kW": 1e3, "mW": 1e-3})
_SPANS: dict[str, _Span] = {
    "year": _Span(2000, 2050, "", {}),
    "process_nm": _Span(1.0, 130.0, "nm", {"angstrom": 0.1}),
    "units": _Span(1, 20_000, "units", {}),
    "lanes_per_unit": _Span(1, 1024, "", {}),
    "boost_mhz": _CLOCK,
    "base_mhz": _CLOCK,
    "lowest_mhz": _CLOCK,
    "memory_mhz": _CLOCK._replace(most=50_000.0),
    "memory_gb": _Span(0.5, 20_000.0, "GB", {"TB": 1e3, "MB": 1e-3, "KB": 1e-6, "bytes": 1e-9}),
    "memory_gb_per_s": _Span(4.0, 100_000.0, "GB/s", {"TB/s": 1e3, "MB/s": 1e-3, "bytes/s": 1e-9}),
    "memory_bus_bits": _Span(16, 65_536, "bits", {"bytes": 8.0}),
    "l2_mb": _Span(0.1, 4_096.0, "MiB", {"GiB": 1024.0, "KiB": 1 / 1024, "bytes": 2.0**-20}),
    "board_power_w": _POWER,
    "lowest_power_limit_w": _POWER,
    "cpu_power_w": _POWER,
    "idle_power_w": _Span(0.1, 1_000.0, "W", {"kW": 1e3, "mW": 1e-3}),
}
_RATES = {"GFLOP/s": 1e-3, "PFLOP/s": 1e3, "FLOP/s": 1e-12}
_LEAST_PER_CLOCK, _MOST_PER_CLOCK = 1.0, 2048.0  # float32 FLOPs of a unit without matrix units
_LEAST_PER_BYTE, _MOST_PER_BYTE = 0.5, 500.0  # float32 FLOPs for a byte of memory traffic; devices have 5 to 110


def flaws(device: Description) -> Iterator[Flaw]:
    """Yield the implausible numbers of a description; what follows from a number that is wrong is left out."""
    found = list(_out_of_range(device))
    yield from found
    wrong = {flaw.key[0] for flaw in found}
    for flaw in (*_contradictions(device), *_rates(device, wrong)):
        if flaw.key[0] not in wrong:
            yield flaw


def rate_mhz(device: Description) -> float:
    """Return the clock in MHz of the rates: boost of a GPU, base of CPUs, which boost only while few cores compute."""
    return device.base_mhz if device.kind == CPU and device.base_mhz else device.boost_mhz


def fp32_tflops(device: Description) -> float | None:
    """Return units x lanes x 2 x clock in TFLOP/s; None if the lanes are unknown."""
    if device.lanes_per_unit is None:
        return None
    return device.units * device.lanes_per_unit * 2 * rate_mhz(device) * 1e-6


def bandwidth_gb_per_s(device: Description) -> float | None:
    """Return bus width x two transfers per memory clock in GB/s; None if either is unknown."""
    if device.memory_bus_bits is None or device.memory_mhz is None:
        return None
    return device.memory_bus_bits / 8 * 2 * device.memory_mhz * 1e-3


def _out_of_range(device: Description) -> Iterator[Flaw]:
    for key, span in _SPANS.items():
        value = getattr(device, key)
        if value is not None and not span.least <= value <= span.most:
            what = f"{value:.10g} {span.unit} is not plausible".replace("  ", " ")
            fitting = ((unit, value * by) for unit, by in span.others.items() if span.least <= value * by <= span.most)
            hint = _converted(fitting) or f"use a value from {span.least:g} to {span.most:g}"
            yield Flaw((key,), what, hint)


def _converted(fitting: Iterator[tuple[str, float]]) -> str:
    """Return a hint with the first unit in which the value is plausible, or no text."""
    found = next(fitting, None)
    return f"is it in {found[0]}? Then write {found[1]:.6g}" if found else ""


def _contradictions(device: Description) -> Iterator[Flaw]:
    """Yield the numbers that must not exceed others, and a bandwidth that is not that of the memory interface."""
    for smaller, larger in (
        ("base_mhz", "boost_mhz"),
        ("lowest_mhz", "boost_mhz"),
        ("lowest_power_limit_w", "board_power_w"),
        ("idle_power_w", "board_power_w"),
    ):
        low, high = getattr(device, smaller), getattr(device, larger)
        if low is not None and low > high:
            yield Flaw((smaller,), f"{low:g} is larger than {larger}, {high:g}", "exchange the two, or correct one")
    limit = device.lowest_power_limit_w or device.board_power_w
    if device.cpu_power_w is not None and device.cpu_power_w >= limit:
        what = f"{device.cpu_power_w:g} leaves no power for the GPU: the lowest limit of the module is {limit:g} W"
        yield Flaw(("cpu_power_w",), what, "write the power of the CPU alone")
    expected = bandwidth_gb_per_s(device)
    if expected is not None and not _close(device.memory_gb_per_s, expected):
        what = f"{device.memory_gb_per_s:g} GB/s is not memory_bus_bits / 8 x 2 x memory_mhz = {expected:.4g} GB/s"
        ratio = expected / device.memory_gb_per_s
        hint = "write memory_mhz with two transfers per clock: half of the data rate of a pin in Mbit/s"
        yield Flaw(("memory_gb_per_s",), what, _unit_of(ratio, _SPANS["memory_gb_per_s"].others, expected) or hint)


def _rates(device: Description, wrong: set[str]) -> Iterator[Flaw]:
    """Yield the rates that do not fit units and clock."""
    if wrong & {"units", "boost_mhz", "base_mhz", "lanes_per_unit"}:
        return
    clock = rate_mhz(device)
    per_clock = device.fp32_tflops * 1e6 / (device.units * clock)
    expected = fp32_tflops(device)
    if not _LEAST_PER_CLOCK <= per_clock <= _MOST_PER_CLOCK:
        what = f"{device.fp32_tflops:.10g} TFLOP/s is {per_clock:.4g} FLOPs per clock for each of {device.units} units"
        fitting = (
            (unit, device.fp32_tflops * by)
            for unit, by in _RATES.items()
            if _LEAST_PER_CLOCK <= per_clock * by <= _MOST_PER_CLOCK
        )
        hint = _converted(fitting) or "compare it with units x lanes_per_unit x 2 x clock"
        yield Flaw(("fp32_tflops",), what, hint)
        return
    if expected is not None and not _close(device.fp32_tflops, expected):
        what = (
            f"{device.fp32_tflops:g} TFLOP/s is not units x lanes_per_unit x 2 x {clock:g} MHz = {expected:.4g} TFLOP/s"
        )
        yield Flaw(("fp32_tflops",), what, "correct the rate, the units, lanes_per_unit or the clock")
        return
    yield from _bandwidth(device)
    yield from _matrix_rates(device)


def _bandwidth(device: Description) -> Iterator[Flaw]:
    per_byte = device.fp32_tflops * 1e3 / device.memory_gb_per_s
    if not _LEAST_PER_BYTE <= per_byte <= _MOST_PER_BYTE:
        what = f"{device.memory_gb_per_s:.10g} GB/s is one byte for {per_byte:.4g} FLOPs of fp32_tflops"
        others = _SPANS["memory_gb_per_s"].others.items()
        fitting = (
            (unit, device.memory_gb_per_s * by)
            for unit, by in others
            if _LEAST_PER_BYTE <= per_byte / by <= _MOST_PER_BYTE
        )
        yield Flaw(("memory_gb_per_s",), what, _converted(fitting) or "correct it, or fp32_tflops")


def _matrix_rates(device: Description) -> Iterator[Flaw]:
    for precision, rate in device.matrix_tflops:
        if rate is None or _LEAST_OVER_FP32 <= rate / device.fp32_tflops <= _MOST_OVER_FP32:
            continue
        ratio = rate / device.fp32_tflops
        fitting = (
            (unit, rate * by) for unit, by in _RATES.items() if _LEAST_OVER_FP32 <= ratio * by <= _MOST_OVER_FP32
        )
        hint = _converted(fitting) or "correct it, or fp32_tflops"
        yield Flaw(("matrix_tflops", precision), f"{rate:.10g} TFLOP/s is {ratio:.3g} times fp32_tflops", hint)


def _unit_of(ratio: float, others: Mapping[str, float], expected: float) -> str:
    """Return a hint with the unit whose factor is `ratio`, or no text."""
    found = ((unit, expected) for unit, by in others.items() if _close(ratio, by))
    return _converted(found)


def _close(value: float, expected: float) -> bool:
    return abs(value / expected - 1) <= TOLERANCE
