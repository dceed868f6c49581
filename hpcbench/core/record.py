"""The record of a run: one tree of frozen types.

The node builds it, and writes it as one line of JSON; the login node parses it. The fields, with their types and
descriptions, are the only list of what a record holds: the columns of tables, the pages of docs/reference, the JSON
schema of records and the checks for damaged records are derived from it. Numbers have the unit in their name.
"""

from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from .energy import Energy
from .record_field import described
from .samples import Samples
from .status import COMPLETED, METRIC_NOT_FOUND
from .training.communication import Communication
from .training.learning import Learning
from .training.page_cache import PageCache
from .training.saved_activations import SavedActivations
from .training.trajectory import Trajectory
from .validation.result import Validation

SCHEMA = 10
"""The version of the record schema. Increase it with each change of a field."""


@dataclass(frozen=True)
class Git:
    """The git checkout of the workspace when the sweep was planned."""

    commit: str = described("commit of the workspace's git checkout when the sweep was planned", "git_commit")
    dirty: Optional[bool] = described("whether tracked files had uncommitted changes", "git_dirty", default=None)


@dataclass(frozen=True)
class Error:
    """Why a run did not complete."""

    type: str = described("kind of error: an exception, a signal, or a cause that hpcbench names")
    message: str = described("why the run did not complete", "error")
    last_lines: Sequence[str] = described("last lines of its output or traceback", default=())
    rank: Optional[int] = described("the rank that failed first", default=None)
    exit_code: Optional[int] = described("exit code of that rank", default=None)
    signal: Optional[str] = described("signal that ended that rank", default=None)


@dataclass(frozen=True)
class Evidence:
    """Interference of one kind, in all time windows of a run."""

    causes: Sequence[str] = described("causes; several if no counter distinguishes them")
    what: str = described("description of what was measured")
    windows: int = described("number of windows")
    size: float = described("maximum over windows: CPUs or GPU processes if `what` counts them, otherwise a fraction")


@dataclass(frozen=True)
class Interference:
    """Whether other processes used the machine during the measurements, with the evidence."""

    verdict: str = described("`clean`, `interference` or `unmonitored`", "interference")
    reason: Optional[str] = described("why windows are unmonitored", default=None)
    found: Sequence[Evidence] = described("interference by kind", default=())
    windows: Sequence[Optional[Mapping[str, float]]] = described(
        "per time window: largest `size` by causes, such as `cpu,memory`; null if it is unmonitored", default=()
    )
    unseen: Sequence[str] = described("what could not be monitored on these nodes", default=())


@dataclass(frozen=True)
class MonitorSummary:
    """What the monitor of one node measured from the first measurement to the last."""

    host: str = described("hostname of the node")
    duration_s: float = described("time from the first measurement to the last")
    energy: Sequence[Energy] = described("energy by component")
    usage: Mapping[str, Any] = described(
        "increase of each counter; minimum, mean and maximum of each gauge", default=None
    )
    absent: Mapping[str, str] = described("sources that the node does not have, and why", default=None)
    monitor: Optional[Mapping[str, Any]] = described("cost of the monitor itself; null if it was killed", default=None)


@dataclass(frozen=True)
class MetricValue:
    """A metric of a command."""

    value: Optional[float] = described("value after `reduce`; null if the metric was not found")
    unit: str = described("its unit")
    better: Optional[str] = described("`higher`, `lower`, or null if unknown")
    reduce: Optional[str] = described("how several numbers were reduced to one", default=None)
    count: Optional[int] = described("how many numbers were found", default=None)
    values: Sequence[float] = described("the numbers that were found, at most 1,000", default=())
    steps: Sequence[int] = described("step of each value, counted from 0; empty without hpcbench_probe", default=())
    reason: Optional[str] = described("why the metric was not found", default=None)
    printed_unit: Optional[str] = described(
        "comma-separated units printed after the numbers used for the value; null if not found, or if `regex` has "
        "a group `unit`",
        default=None,
    )


@dataclass(frozen=True)
class Probe:
    """The steps that hpcbench_probe recorded in the processes of a command. The measurements are of these steps."""

    processes: int = described("number of processes that recorded steps", "probed_processes")
    steps: int = described("number of steps per process, including the warm-up", "probed_steps")
    wall_time_s: float = described("time from the start to the end of the command", "wall_time_s", "s")


@dataclass(frozen=True)
class Work:
    """What one step computes. Only runs of the same workload are compared. A command has only `items_per_step`."""

    parameter_count: Optional[int] = described(
        "trainable parameters, counted by the framework; weights of an ONNX file", "parameter_count", default=None
    )
    flops_per_item: Optional[int] = described(
        "FLOPs of matrix products, convolutions and attention per item (1 MAC = 2 FLOPs)",
        "flops_per_item",
        default=None,
    )
    input_shapes: Optional[Mapping[str, Sequence[int]]] = described(
        "input shapes of one rank's batch, by input name", default=None
    )
    dtype: Optional[str] = described("`float32`, or the 16-bit type of the arithmetic", default=None)
    math_mode: Optional[str] = described(
        "math mode: matmul precision, autocast or pure 16-bit", "math_mode", default=None
    )
    items_per_step: Optional[int] = described(
        "items per step over all tasks; empty if a measurement is not a step", "items_per_step", default=None
    )
    graph_fingerprint: Optional[str] = described(
        "hash of modules, operations and shapes, without weight values; not for shipped models",
        "graph_fingerprint",
        default=None,
    )
    bytes_per_item: Optional[int] = described(
        "bytes that one call of an operator reads and writes at least: each array once", "bytes_per_item", default=None
    )
    bus_bytes_per_item: Optional[int] = described(
        "bytes that each task sends in one call of a collective operator, 2 (n - 1) / n of the array for n tasks",
        "bus_bytes_per_item",
        default=None,
    )
    items_per_epoch: Optional[int] = described(
        "items per epoch over all tasks, in whole batches; empty with synthetic data", "items_per_epoch", default=None
    )


@dataclass(frozen=True)
class Threads:
    """The thread counts in effect, read back from the framework."""

    intra_op: Optional[int] = described(
        "intra-op threads in effect, read back from the framework; with a per-layer thread plan, the largest count",
        "effective_intra_op_threads",
        default=None,
    )
    inter_op: Optional[int] = described(
        "inter-op threads in effect, read back from the framework", "effective_inter_op_threads", default=None
    )
    by: Optional[str] = described("the functions or variables that set them", default=None)


@dataclass(frozen=True)
class Node:
    """A node that took part in a run."""

    hostname: str = described("hostname of the node")
    cpu_model: Optional[str] = described("model of its CPUs", default=None)
    cpu_count: Optional[int] = described("its logical CPUs", default=None)
    memory_bytes: Optional[int] = described("its memory", default=None)
    kernel: Optional[str] = described("release of its kernel", default=None)
    machine: Optional[str] = described("its architecture, such as x86_64", default=None)
    governor: Optional[str] = described("its CPU frequency governor", default=None)
    turbo: Optional[bool] = described("whether its CPUs may run above the base frequency", default=None)


@dataclass(frozen=True)
class RankEnd:
    """How one rank of a run ended."""

    rank: int = described("number of the rank, from 0")
    host: str = described("hostname of its node")
    ended_at: str = described("when it ended, ISO 8601")
    exit_code: Optional[int] = described("its exit code; null if a signal ended it", default=None)
    signal: Optional[str] = described("the signal that ended it", default=None)
    stopped_by: Optional[str] = described("signal or time limit by which hpcbench stopped it", default=None)
    status: Optional[str] = described("its status; null if it left no result", default=None)
    gpus: Optional[Sequence[str]] = described("models of the GPUs that it used", default=None)


class RecordKey(NamedTuple):
    """The run that a record describes, and the job that wrote it."""

    job: str
    element: int
    batch: str
    attempt: Optional[int]


@dataclass(frozen=True)
class Record:
    """The outcome of one attempt at a run, successful or not. Fields that were not measured are null."""

    schema: int = described("version of this schema")
    sweep: str = described("name of the sweep", "sweep")
    case_id: str = described("ID of the case, the same in every sweep", "case")
    case_index: int = described("position of the case in the experiment, from 0", "case_index")
    experiment: str = described("name of the experiment", "experiment")
    site: str = described("name of the site", "site")
    run: int = described("number of the run within its case, from 1", "run")
    attempt: Optional[int] = described(
        "number of the attempt, from 1; empty if the job could not write a record", "attempt"
    )
    status: str = described("`completed`, or how the run ended", "status")
    error: Optional[Error] = described("why it did not complete")
    order: int = described("position of the run in the random order of the sweep")
    job: str = described("name of the job")
    element: int = described("index of the run in its job, from 0")
    batch: str = described("submission that contained the job")
    hpcbench_version: str = described("version of hpcbench that planned the sweep", "hpcbench_version")
    git: Optional[Git] = described("git checkout of the workspace")
    parameters: Mapping[str, Any] = described("resolved parameters of the case")
    user_parameters: Mapping[str, Any] = described("user parameters of the case")
    measure: Mapping[str, Any] = described("measurement settings of the run")
    measurements: Optional[Samples] = described("measurements")
    interference: Optional[Interference] = described("interference during the measurements")
    monitors: Sequence[MonitorSummary] = described("what the monitor of each node measured")
    metrics: Optional[Mapping[str, MetricValue]] = described("metrics of a command")
    probe: Optional[Probe] = described("steps that hpcbench_probe recorded")
    learning: Optional[Learning] = described(
        "training to a target accuracy; of concurrent models, that of the last one that reached it"
    )
    models: Sequence[Learning] = described("trainings of concurrent models, by rank; empty if the run trains one model")
    validation: Optional[Validation] = described("validation of the results, or of the data of a training")
    communication: Optional[Communication] = described("bytes that the ranks exchanged; null for a single task")
    work: Optional[Work] = described("what one step computes")
    saved_activations: Optional[SavedActivations] = described("memory of saved activations; only of the task backward")
    page_cache: Optional[PageCache] = described("data files in the page cache; only of the task input_pipeline")
    threads: Optional[Threads] = described("thread counts in effect")
    settings: Optional[Mapping[str, Any]] = described("runtime settings in effect, as far as they can be read back")
    dynamic: Optional[Mapping[str, Any]] = described("search for a per-layer thread plan, and its result")
    affinity: Sequence[Optional[Sequence[int]]] = described("CPUs on which each rank may run")
    physical_cores: Sequence[Optional[int]] = described("physical cores on which each rank may run")
    weights_crc32: Optional[int] = described("checksum of the trained weights")
    import_s: Optional[float] = described("time to import the framework", "import_s", "s")
    build_s: Optional[float] = described("time to build the network", "build_s", "s")
    peak_memory_bytes: Optional[int] = described("largest resident memory of a task", "peak_memory_bytes", "B")
    peak_device_bytes: Optional[int] = described(
        "largest device memory that a task allocated", "peak_device_bytes", "B"
    )
    python: Optional[str] = described("version of Python")
    executable: Optional[str] = described("path of Python")
    packages: Optional[Mapping[str, str]] = described("versions of the framework's packages")
    framework_version: Optional[str] = described("version of the framework, read on the node", "framework_version")
    gpus: Optional[Sequence[str]] = described("models of the GPUs that rank 0 used")
    nodes: Sequence[Node] = described("nodes of the run")
    ranks: Sequence[RankEnd] = described("how each rank ended")
    warnings: Sequence[str] = described("irregularities that may affect the result")
    slurm: Mapping[str, str] = described("variables of the Slurm job")
    environment: Mapping[str, str] = described("environment variables of rank 0 that affect performance")
    outside: Mapping[str, str] = described(
        "variables that change a measurement, and that neither the experiment nor the environment in the site file sets"
    )
    started_at: str = described("start of the first rank, ISO 8601", "started_at")
    ended_at: str = described("end of the run, ISO 8601", "ended_at")
    trajectory: Optional[Trajectory] = described("second training, of which weights are recorded", default=None)

    @property
    def error_type(self) -> Optional[str]:
        """Return the kind of the error, or None without an error."""
        return self.error.type if self.error else None

    @property
    def error_message(self) -> Optional[str]:
        """Return the message of the error, or None without an error."""
        return self.error.message if self.error else None

    @property
    def metrics_not_found(self) -> Mapping[str, str]:
        """Return the metrics that were not found in the output of a completed command, with the reasons."""
        return {name: metric.reason or "" for name, metric in (self.metrics or {}).items() if metric.value is None}

    @property
    def message(self) -> str:
        """Return why the run did not complete, or which metrics were not found; empty if neither."""
        lacks = "; ".join("%s: %s" % pair for pair in self.metrics_not_found.items())
        return self.error.message if self.error else "%s: %s" % (METRIC_NOT_FOUND, lacks) if lacks else ""

    @property
    def in_words(self) -> str:
        """Return the status with the message, if any: `completed, metric not found: ...`, `failed: ...`."""
        return self.status + ((": " if self.error else ", ") + self.message if self.message else "")

    @property
    def times_s(self) -> Sequence[Optional[float]]:
        """Return the measurements of a completed run; empty otherwise."""
        return self.measurements.times_s if self.measurements and self.status == COMPLETED else ()

    @property
    def verdict(self) -> Optional[str]:
        """Return whether there was interference: clean, interference or unmonitored; None if it did not complete."""
        return self.interference.verdict if self.interference and self.status == COMPLETED else None
