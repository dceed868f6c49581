"""The description of a device: the numbers of its data sheet, in the units of the names of the keys."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from hpcbench.config.names import check_name
from hpcbench.config.yaml_document import Model

GPU: Final = "gpu"
CPU: Final = "cpu"


class MatrixRates(Model):
    """Rates of matrix products by precision, dense, without sparsity."""

    float32: float | None = Field(default=None, gt=0, description="float32 in matrix units, in TFLOP/s")
    tf32: float | None = Field(default=None, gt=0, description="TF32, in TFLOP/s")
    float16: float | None = Field(default=None, gt=0, description="float16 accumulated in float32, in TFLOP/s")
    bfloat16: float | None = Field(default=None, gt=0, description="bfloat16 accumulated in float32, in TFLOP/s")
    float8: float | None = Field(default=None, gt=0, description="8-bit floats accumulated in float32, in TFLOP/s")
    int8: float | None = Field(default=None, gt=0, description="8-bit integers, in TOP/s")


class Description(Model):
    """One GPU, or one processor. Rates are dense: without sparsity; 1 MAC = 2 FLOPs."""

    kind: Literal["gpu", "cpu"] = Field(default=GPU, description="what the device is")
    names: list[str] = Field(
        default_factory=list,
        description="other names, for example those that NVML, ROCm or lscpu report; `(R)`, `(TM)`, the vendor, clocks "
        "and numbers of cores in a name do not matter",
    )
    vendor: str = Field(description="the vendor, e.g. NVIDIA")
    architecture: str = Field(description="the architecture, e.g. Ampere")
    year: int = Field(description="year of introduction")
    process_nm: float | None = Field(default=None, gt=0, description="process of the compute dies in nm")
    units: int = Field(ge=1, description="streaming multiprocessors, compute units, Xe cores or CPU cores")
    lanes_per_unit: int | None = Field(
        default=None, ge=1, description="float32 multiply-adds of a unit per clock, without matrix units"
    )
    boost_mhz: float = Field(gt=0, description="boost clock in MHz; of CPUs, the maximum of one core")
    base_mhz: float | None = Field(default=None, gt=0, description="base clock in MHz, which the device sustains")
    lowest_mhz: float | None = Field(
        default=None, gt=0, description="lowest supported clock in MHz (`nvidia-smi -q -d SUPPORTED_CLOCKS`)"
    )
    fp32_tflops: float = Field(
        gt=0, description="float32 without matrix units in TFLOP/s, at the boost clock; of CPUs, at the base clock"
    )
    matrix_tflops: MatrixRates = Field(
        default_factory=MatrixRates, description="rates of matrix products, at the same clock"
    )
    memory_gb: float = Field(gt=0, description="memory in GB; of CPUs, the maximum")
    memory_gb_per_s: float = Field(gt=0, description="memory bandwidth in GB/s")
    memory_bus_bits: int | None = Field(default=None, ge=1, description="width of the memory interface in bits")
    memory_mhz: float | None = Field(
        default=None, gt=0, description="memory clock in MHz, with two transfers per clock, as NVML reports it"
    )
    l2_mb: float = Field(gt=0, description="L2 cache of a GPU, or L3 cache of CPUs, in MiB")
    board_power_w: float = Field(gt=0, description="default power limit of the board, or TDP of CPUs, in W")
    lowest_power_limit_w: float | None = Field(
        default=None, gt=0, description="lowest power limit that can be set, in W"
    )
    cpu_power_w: float | None = Field(
        default=None,
        gt=0,
        description="power in W of a CPU on the module, if `board_power_w` and `lowest_power_limit_w` include it: "
        "predictions are of the GPU alone",
    )
    idle_power_w: float | None = Field(
        default=None, gt=0, description="power of the idle device in W, if the vendor states it or you measured it"
    )
    price_per_hour: float | None = Field(
        default=None,
        ge=0,
        description="price of the device for an hour, in the currency of your site, in place of the prices of the site",
    )
    source: str = Field(default="", description="title and URL of the data sheets, or how you measured the values")


class DeviceFile(Model):
    """A file with descriptions of devices."""

    description: str = Field(default="", description="one-line description")
    devices: dict[str, Description] = Field(min_length=1, description="devices by their short names")

    @field_validator("devices")
    @classmethod
    def _valid_names(cls, value: dict[str, Description]) -> dict[str, Description]:
        for name in value:
            check_name(name)
        return value
