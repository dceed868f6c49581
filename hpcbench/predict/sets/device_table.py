"""Read `devices.csv`: one data sheet per row, in the units of its columns."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from hpcbench.config.devices.description import Description, MatrixRates
from hpcbench.config.devices.plausibility import flaws
from hpcbench.errors import UserError
from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT8, FLOAT16, FLOAT32, GPU, TF32, Device
from hpcbench.predict.sets.places import place

_MIB, _GB, _GIGA, _TERA = 2**20, 1e9, 1e9, 1e12
_FIRST_BFLOAT16 = 2020  # NVIDIA's and AMD's matrix units have bfloat16 from this year on
_CPU_NAMES = ("xeon", "core", "epyc", "ryzen", "threadripper", "opteron", "power9", "neoverse", "grace cpu")
_CPU_VENDORS = ("IBM", "Ampere", "Arm")
# The smallest and the largest plausible value of each column, and its unit.
_PLAUSIBLE = {
    "year": (2000, 2100, "the year of the first delivery"),
    "units": (1, 4096, "multiprocessors, compute units or cores"),
    "boost_mhz": (200, 8000, "MHz"),
    "fp32_gflops": (50, 2_000_000, "GFLOP/s"),
    "matrix_fp32_gflops": (500, 50_000_000, "GFLOP/s"),
    "matrix_fp16_gflops": (500, 50_000_000, "GFLOP/s"),
    "matrix_fp8_gflops": (500, 50_000_000, "GFLOP/s"),
    "memory_gb": (0.5, 10_000, "GB"),
    "memory_gb_per_s": (5, 100_000, "GB/s"),
    "l2_mb": (0.1, 4096, "MiB"),
    "board_power_w": (3, 10_000, "W"),
    "process_nm": (1, 1000, "nm"),
}
# The columns of the keys of descriptions with other names.
_COLUMNS = {
    "fp32_tflops": "fp32_gflops",
    **dict.fromkeys((FLOAT32, TF32), "matrix_fp32_gflops"),
    **dict.fromkeys((FLOAT16, BFLOAT16), "matrix_fp16_gflops"),
    FLOAT8: "matrix_fp8_gflops",
}
_OPTIONAL = ("matrix_fp32_gflops", "matrix_fp16_gflops", "matrix_fp8_gflops", "process_nm")


def devices(table: pd.DataFrame, file: str = "devices.csv") -> dict[str, Device]:
    """Return the devices of a table by each of their names and aliases.

    Raise UserError for a value that is missing, zero or implausible, alone or with the others, and for two devices with
    the same name.
    """
    found: dict[str, Device] = {}
    for number, row in enumerate(table.to_dict("records")):
        where = f"{file}, {place(file, number)}"
        _check(row, where)
        device = _device(row, file)
        _check_together(device, where)
        for name in device.names:
            if found.setdefault(name, device) != device:
                what = f"'{name}' is the name of two different devices"
                raise UserError(what, where=where, hint="remove one of the rows, or the alias")
    return found


def _check(row: dict[Any, Any], where: str) -> None:
    if not _text(row, "device"):
        raise UserError("the column 'device' is empty", where=where, hint="write the name that the other files use")
    for column, (lowest, highest, unit) in _PLAUSIBLE.items():
        value = _number(row, column)
        if value is None and column in _OPTIONAL:
            continue
        if value is None or not lowest <= value <= highest:
            shown = "empty" if value is None else f"{value:g}, which is not plausible"
            what = f"device '{row['device']}': {column} is {shown}"
            raise UserError(what, where=where, hint=f"write {unit}, from {lowest:g} to {highest:g}")


def _check_together(device: Device, where: str) -> None:
    """Raise UserError if rates do not fit the units, the clock or the bandwidth, as in descriptions of devices."""
    described = Description(
        kind="cpu" if device.kind == CPU else "gpu",
        vendor=device.vendor,
        architecture=device.architecture,
        year=device.year,
        units=device.units,
        boost_mhz=device.boost_mhz,
        fp32_tflops=device.vector_flops_per_s / _TERA,
        matrix_tflops=MatrixRates(**{name: rate / _TERA for name, rate in device.matrix_flops_per_s.items()}),
        memory_gb=device.memory_bytes / _GB,
        memory_gb_per_s=device.memory_bytes_per_s / _GB,
        l2_mb=device.l2_bytes / _MIB,
        board_power_w=device.board_power_w,
    )
    flaw = next(flaws(described), None)
    if flaw is not None:
        column = _COLUMNS.get(flaw.key[-1], flaw.key[-1])
        unit = _PLAUSIBLE[column][2]
        hint = f"check {column}, which is in {unit}, and the columns that it is compared with"
        raise UserError(f"device '{device.name}': {column}: {flaw.what}", where=where, hint=hint)


def _device(row: dict[Any, Any], file: str) -> Device:
    vendor, year = _text(row, "vendor"), int(row["year"])
    matrix = {
        _float32_of(vendor): _number(row, "matrix_fp32_gflops"),
        FLOAT16: _number(row, "matrix_fp16_gflops"),
        BFLOAT16: _number(row, "matrix_fp16_gflops") if year >= _FIRST_BFLOAT16 else None,
        FLOAT8: _number(row, "matrix_fp8_gflops"),
    }
    name = _text(row, "device")
    aliases = (part.strip() for part in _text(row, "aliases").split(";"))
    return Device(
        name=name,
        vendor=vendor,
        architecture=_text(row, "architecture"),
        year=year,
        units=int(row["units"]),
        boost_mhz=float(row["boost_mhz"]),
        vector_flops_per_s=float(row["fp32_gflops"]) * _GIGA,
        memory_bytes=float(row["memory_gb"]) * _GB,
        memory_bytes_per_s=float(row["memory_gb_per_s"]) * _GB,
        l2_bytes=float(row["l2_mb"]) * _MIB,
        board_power_w=float(row["board_power_w"]),
        kind=_kind(vendor, name),
        matrix_flops_per_s={name: rate * _GIGA for name, rate in matrix.items() if rate is not None},
        process_nm=_number(row, "process_nm"),
        aliases=tuple(alias for alias in aliases if alias),
        source=file,
    )


def _kind(vendor: str, name: str) -> str:
    """Return whether a device is a GPU or a CPU, by its vendor and its name: AMD and Intel make both."""
    is_cpu = any(part in name.lower() for part in _CPU_NAMES)
    return CPU if is_cpu or vendor in _CPU_VENDORS else GPU


def _float32_of(vendor: str) -> str:
    """Return the precision of `matrix_fp32_gflops`: TF32 on NVIDIA's matrix units, float32 on AMD's."""
    return TF32 if vendor == "NVIDIA" else FLOAT32


def _number(row: dict[Any, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None or math.isnan(value) else float(value)


def _text(row: dict[Any, Any], name: str) -> str:
    value = row.get(name)
    return "" if value is None or value != value else str(value).strip()
