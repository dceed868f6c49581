"""Devices from their descriptions, whose rates and sizes are in the units of data sheets."""

from __future__ import annotations

from hpcbench.config.devices.description import Description
from hpcbench.predict.devices.device import Device

_GIGA, _TERA, _MIB = 1e9, 1e12, 2**20


def described(name: str, description: Description) -> Device:
    """Return the device of a description, in SI units. `name` is its short name.

    The power of a GPU is that without the CPU of its module, because coefficients of power are per watt of the GPU.
    """
    of_cpu = description.cpu_power_w or 0.0
    lowest = description.lowest_power_limit_w
    return Device(
        name=name,
        vendor=description.vendor,
        architecture=description.architecture,
        year=description.year,
        units=description.units,
        boost_mhz=description.boost_mhz,
        vector_flops_per_s=description.fp32_tflops * _TERA,
        memory_bytes=description.memory_gb * _GIGA,
        memory_bytes_per_s=description.memory_gb_per_s * _GIGA,
        l2_bytes=description.l2_mb * _MIB,
        board_power_w=description.board_power_w - of_cpu,
        kind=description.kind,
        matrix_flops_per_s={
            precision: rate * _TERA for precision, rate in description.matrix_tflops if rate is not None
        },
        process_nm=description.process_nm,
        idle_power_w=description.idle_power_w,
        lowest_mhz=description.lowest_mhz,
        lowest_power_limit_w=None if lowest is None else lowest - of_cpu,
        aliases=tuple(description.names),
        source=description.source,
        base_mhz=description.base_mhz,
        memory_mhz=description.memory_mhz,
        price_per_hour=description.price_per_hour,
    )
