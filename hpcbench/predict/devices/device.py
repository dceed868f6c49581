"""A device as its data sheet, or a measurement, describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

GPU, CPU = "gpu", "cpu"
# Precisions of matrix products, from the widest. A device without a rate for one of them computes in a wider one.
FLOAT32, TF32, FLOAT16, BFLOAT16, FLOAT8, INT8 = "float32", "tf32", "float16", "bfloat16", "float8", "int8"
# The range of bfloat16 is that of float32, which float16 does not have.
_WIDER = {INT8: FLOAT8, FLOAT8: FLOAT16, FLOAT16: TF32, BFLOAT16: FLOAT32, TF32: FLOAT32}

# What follows from `Device.peaks_under_load`, for users.
PEAKS_UNDER_LOAD = (
    "peaks measured under load: the predicted time may be too long (next: hpcbench doctor on an idle machine)"
)


@dataclass(frozen=True)
class Scaling:
    """The peaks of float32 FLOP/s and bytes/s that some of the cores of CPUs reach; 0 bytes/s if not measured."""

    cores: int
    flops_per_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class Device:
    """One GPU, or the CPUs of one node.

    Rates are in operations per second at the boost clock, or at the base clock of CPUs, dense, with 1 MAC = 2 FLOPs.
    `vector_flops_per_s` is the rate of float32 without matrix units; `matrix_flops_per_s` has those of matrix units by
    precision.
    """

    name: str
    vendor: str
    architecture: str
    year: int
    units: int  # multiprocessors, compute units or cores
    boost_mhz: float
    vector_flops_per_s: float
    memory_bytes: float
    memory_bytes_per_s: float
    l2_bytes: float
    board_power_w: float
    kind: str = GPU
    matrix_flops_per_s: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    process_nm: float | None = None
    idle_power_w: float | None = None
    lowest_mhz: float | None = None
    lowest_power_limit_w: float | None = None
    aliases: tuple[str, ...] = ()
    source: str = ""  # of the description: a data sheet, or a measurement
    base_mhz: float | None = None
    memory_mhz: float | None = None  # two transfers per clock
    price_per_hour: float | None = None  # in the currency of the site
    scaling: tuple[Scaling, ...] = ()  # of CPUs, by rising number of cores, as measured
    peaks_under_load: bool = False  # of CPUs: rates were measured while other processes used them, too

    def flops_per_s(self, precision: str) -> float:
        """Return the rate of matrix products; without a rate for `precision`, that of the next wider one."""
        return self.matrix_flops_per_s.get(self.computed_in(precision), self.vector_flops_per_s)

    def computed_in(self, precision: str) -> str:
        """Return `precision`, or without a rate for it, the next wider precision that has one, at most FLOAT32."""
        while precision not in (FLOAT32, *self.matrix_flops_per_s):
            precision = _WIDER[precision]
        return precision

    def has_matrix_units(self, precision: str) -> bool:
        """Return whether matrix units compute products in exactly this precision."""
        return precision in self.matrix_flops_per_s

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name and the aliases."""
        return (self.name, *self.aliases)
