"""The profile of a network: one row per operator, device state and run.

The node writes each row as one line of JSON. The login node adds power, energy and the environment, and builds the
table `operators.parquet` from them. The fields are the only list of the columns that the node measures. Names have the
unit: times are in seconds per call, and their CIs are 95 % CIs of the median, or of the mean if the time is a mean.
"""

from dataclasses import dataclass, fields
from typing import Any, Optional, Sequence, Tuple

from ..record_field import described
from .device_state import OPERATOR, STATE, DeviceState

FOLDER = "operators"  # next to that of the records, with one file per file of records
# The phase of an operator in a step.
FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
# Rows that are not of one operator have one of these kinds.
NETWORK = "network"  # one whole step of the case, measured in the same state
IDLE = "idle"  # the device without work; it has only a power window
FUSED = "fused"  # a kernel that a compiler made of several operators
OTHER = "other"  # an operator without a kind of its own
POWER_CAP = "power cap"  # in `throttle_reasons`: the GPU worked at its power limit, as it may by default
NO_WINDOW = "no power window"  # the reason of a row that was not chosen for one
SPAN = "profile_span_s"  # fact of a rank: start and end of its profile on the monotonic clock
MOST_CLOCKS = 32  # at which a network is profiled, in addition to the clock that the device has


@dataclass(frozen=True)
class OperatorRow:
    """One operator of a network with its times in one device state. Fields that were not measured are null."""

    kind: str = described("kind of operator, such as `conv2d` or `gemm`; `network`, `idle`, `fused` or `other`")
    operator: str = described("canonical name: `aten.convolution.default`, or that of a fused kernel")
    phase: str = described("`forward`, `backward` or `optimizer`")
    arguments: str = described(
        "arguments as canonical JSON: tensors with shape, strides and dtype, lists of over 500 tensors with number and "
        "total, and all other arguments by value"
    )
    members: Sequence[str] = described("the operators of a fused kernel; otherwise empty", default=())
    dtype: Optional[str] = described("dtype of the first output", default=None)
    calls_per_step: int = described("calls with these arguments in one step", default=1)
    flops: Optional[int] = described("FLOPs of one call (1 MAC = 2 FLOPs); null if no formula is known", default=None)
    bytes_moved: Optional[int] = described(
        "bytes that one call reads and writes; an array that it changes counts twice", default=None
    )
    weight_bytes: Optional[int] = described("bytes of those inputs that are weights", default=None)

    device: str = described("`cpu` or `gpu`", default="cpu")
    requested_clock_mhz: Optional[int] = described("clock that was requested; null if it was not changed", default=None)
    requested_power_limit_w: Optional[float] = described("power limit that was requested", default=None)
    clock_method: Optional[str] = described(
        "how the clock was set: `locked clocks`, `power limit` or `frequency limits`", default=None
    )

    hot_s: Optional[float] = described("median time with all arguments in the caches", default=None)
    hot_low_s: Optional[float] = described("lower end of its CI", default=None)
    hot_high_s: Optional[float] = described("upper end of its CI", default=None)
    cold_s: Optional[float] = described("median time with no argument in the caches", default=None)
    cold_low_s: Optional[float] = described("lower end of its CI", default=None)
    cold_high_s: Optional[float] = described("upper end of its CI", default=None)
    stream_s: Optional[float] = described(
        "time as inside a step. On CPUs: interquartile mean over real steps, ordered by the sum of their operators. "
        "On GPUs: median, with weights that are not in the caches. Row `network`, on CPUs: whole steps that alternate "
        "with the timed steps",
        default=None,
    )
    stream_low_s: Optional[float] = described("lower end of its CI", default=None)
    stream_high_s: Optional[float] = described("upper end of its CI", default=None)
    host_s: Optional[float] = described(
        "median time of the host to launch one call; null on CPUs, where it is part of the call", default=None
    )
    measurements: Optional[int] = described("measurements of the hot time", default=None)
    in_network_s: Optional[float] = described(
        "mean time of one call inside the network (torch.profiler), in the middle half of the profiled steps",
        default=None,
    )
    in_network_calls: Optional[int] = described("number of calls in this mean", default=None)
    reason: Optional[str] = described("why the operator was not timed alone", default=None)

    measured_start_s: Optional[float] = described(
        "row `network`: start of the measurement of the whole step, on the clock of `measurements.windows`",
        default=None,
    )
    measured_end_s: Optional[float] = described("row `network`: end of this measurement", default=None)
    window_start_s: Optional[float] = described(
        "start of the power window, on the clock of `measurements.windows`", default=None
    )
    window_end_s: Optional[float] = described("end of the power window", default=None)
    window_calls: Optional[int] = described("calls in the power window, one after another", default=None)

    @property
    def state(self) -> DeviceState:
        """Return the state of the device that was requested."""
        return DeviceState(**{each.name: getattr(self, each.name) for each in fields(DeviceState)})

    @property
    def key(self) -> Tuple[Any, ...]:
        """Return what identifies an operator in a device state within a profile."""
        names = OPERATOR + STATE
        return tuple(tuple(self.members) if name == "members" else getattr(self, name) for name in names)


@dataclass(frozen=True)
class OperatorLine:
    """A row with the run that it belongs to: one line of the file that the node appends to."""

    sweep: str = described("name of the sweep")
    case_id: str = described("ID of the case")
    run: int = described("number of the run within its case, from 1")
    started_at: str = described("when the attempt at the run started, as in its record")
    host: str = described("hostname of the node")
    row: OperatorRow = described("the operator and its times")
