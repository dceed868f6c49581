"""Devices with the peaks that `hpcbench doctor` measured, in place of the rates of their data sheets.

- Measured rates and bandwidth replace those of the data sheet. A matrix rate that was not measured keeps its ratio to
  the measured ones, since the power limit lowers all of them.
- The CPUs of a node are one device. Sizes and power of its processors are those of the data sheet, times the number of
  processors.
- CPUs whose peaks were measured under load are marked, because these peaks are too low.
- CPUs without a data sheet have the year, process and power per core of the described CPU that is closest in measured
  rate and bandwidth per core, of the same vendor if one is described. `source` names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.errors import UserError
from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT16, FLOAT32, GPU, Device, Scaling

_MATRIX = (FLOAT16, BFLOAT16)  # measured precisions that show at which fraction of the data sheet matrix units run
_VENDORS = {"intel": "Intel", "xeon": "Intel", "amd": "AMD", "epyc": "AMD", "ryzen": "AMD", "neoverse": "Arm"}


def with_measured_gpu(sheet: Device, machine: MachinePeaks) -> Device:
    """Return a GPU with the peaks that were measured on a machine with this GPU, which may be none."""
    peaks = [peak for peak in machine.measurements if peak.device == GPU]
    if not peaks:
        return sheet
    rates = {peak.dtype: peak.flops_per_s for peak in peaks}
    moved = max((peak.bytes_per_s for peak in peaks if peak.bytes_per_s), default=sheet.memory_bytes_per_s)
    measured = _measured_rates(sheet, rates)
    return replace(measured, memory_bytes_per_s=moved, source=_source(sheet.source, peaks))


def measured_cpus(name: str, machine: MachinePeaks, sheet: Device | None, known: Iterable[Device]) -> Device:
    """Return the CPUs of a node as one device.

    `sheet` is the description of one of its processors, and `known` are described devices, of which CPUs without a
    `sheet` are compared with the CPUs. Raise UserError if a value is neither measured nor described.
    """
    peaks = [peak for peak in machine.measurements if peak.device == CPU and peak.cpus]
    if not peaks:
        raise UserError(f"'{name}': peaks of the CPUs not measured", hint="measure them: hpcbench doctor")
    cores = max(peak.cpus or 0 for peak in peaks)
    used = [peak for peak in peaks if peak.cpus == cores]
    if sheet is None:
        sheet = _like_the_closest(machine, cores, used[0], [device for device in known if device.kind == CPU])
    sockets = max(1, round(cores / sheet.units))
    of_node = replace(
        sheet,
        name=name,
        aliases=(machine.cpu_model,),
        units=cores,
        vector_flops_per_s=sheet.vector_flops_per_s * cores / sheet.units,
        matrix_flops_per_s={
            precision: rate * cores / sheet.units for precision, rate in sheet.matrix_flops_per_s.items()
        },
        memory_bytes=machine.memory_bytes or sheet.memory_bytes * sockets,
        memory_bytes_per_s=used[0].bytes_per_s or sheet.memory_bytes_per_s * sockets,
        l2_bytes=machine.cache_bytes or sheet.l2_bytes * sockets,
        board_power_w=sheet.board_power_w * sockets,
        idle_power_w=None if sheet.idle_power_w is None else sheet.idle_power_w * sockets,
        lowest_power_limit_w=None,
        source=_source(sheet.source, used),
        scaling=_scaling(peaks),
        peaks_under_load=any(peak.under_load for peak in peaks),
    )
    rates = {peak.dtype: peak.flops_per_s for peak in used}
    scale = rates.get(FLOAT32, of_node.vector_flops_per_s) / of_node.vector_flops_per_s
    others = {precision: rate * scale for precision, rate in of_node.matrix_flops_per_s.items()}
    return _measured_rates(replace(of_node, matrix_flops_per_s=others), rates)


def _scaling(peaks: Iterable[Peak]) -> tuple[Scaling, ...]:
    """Return the float32 peaks by number of cores. More cores are never slower than fewer: that is interference."""
    found: dict[int, Scaling] = {}
    rate = moved = 0.0
    for peak in sorted((each for each in peaks if each.dtype == FLOAT32), key=lambda each: each.cpus or 0):
        rate, moved = max(rate, peak.flops_per_s), max(moved, peak.bytes_per_s or 0.0)
        found[peak.cpus or 0] = Scaling(peak.cpus or 0, rate, moved)
    return tuple(found.values())


def _measured_rates(device: Device, rates: Mapping[str, float]) -> Device:
    """Return a device with measured rates by precision. float32 is in matrix units if the device has it there."""
    ratios = [
        rates[precision] / device.matrix_flops_per_s[precision]
        for precision in _MATRIX
        if precision in rates and precision in device.matrix_flops_per_s
    ]
    scale = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
    matrix = {precision: rate * scale for precision, rate in device.matrix_flops_per_s.items()}
    if FLOAT32 in rates and FLOAT32 not in matrix:
        device = replace(device, vector_flops_per_s=rates[FLOAT32])
    measured = {precision: rate for precision, rate in rates.items() if precision in matrix or precision != FLOAT32}
    return replace(device, matrix_flops_per_s={**matrix, **measured})


def _like_the_closest(machine: MachinePeaks, cores: int, peak: Peak, known: list[Device]) -> Device:
    """Return a description of the CPUs from what was measured, and from the closest of the known CPUs.

    Raise UserError if what is needed was not measured, or if no CPUs are known.
    """
    needed = {
        "memory_gb_per_s": peak.bytes_per_s,
        "memory_gb": machine.memory_bytes,
        "l2_mb": machine.cache_bytes,
        "boost_mhz": machine.clock_mhz,
    }
    missing = [key for key, value in needed.items() if value is None]
    if missing or not known:
        names = f"configs/devices, with names: [{machine.cpu_model}]"
        raise UserError(
            f"the CPUs '{machine.cpu_model}' have no description; unknown: {', '.join(missing) or 'other CPUs'}",
            hint=f"measure them: hpcbench doctor\nor describe the processor in a file in {names}",
        )
    rate, moved = peak.flops_per_s / cores, (peak.bytes_per_s or 0.0) / cores
    vendor = next((vendor for word, vendor in _VENDORS.items() if word in machine.cpu_model.lower()), "unknown")
    candidates = [device for device in known if device.vendor == vendor] or known
    closest = min(candidates, key=lambda device: _distance(device, rate, moved))
    return replace(
        closest,
        name=machine.cpu_model,
        vendor=vendor,
        architecture="unknown",
        units=cores,
        boost_mhz=machine.clock_mhz or closest.boost_mhz,
        base_mhz=None,
        memory_mhz=None,
        vector_flops_per_s=peak.flops_per_s,
        matrix_flops_per_s={},
        board_power_w=closest.board_power_w / closest.units * cores,
        idle_power_w=None,
        source=f"no data sheet; year, process and power per core of {closest.name}",
    )


def _distance(device: Device, flops_per_core: float, bytes_per_core: float) -> float:
    """Return how far a device is from rates per core, in logarithms."""
    rate, moved = device.vector_flops_per_s / device.units, device.memory_bytes_per_s / device.units
    return math.hypot(math.log(rate / flops_per_core), math.log(moved / bytes_per_core))


def _source(sheet: str, peaks: Sequence[Peak]) -> str:
    latest = max(peaks, key=lambda peak: peak.measured_at)
    how = "measured under load" if any(peak.under_load for peak in peaks) else "measured"
    measured = f"peaks {how} on {latest.host} with {latest.measured_by}, {latest.measured_at}"
    return f"{sheet}; {measured}" if sheet else measured
