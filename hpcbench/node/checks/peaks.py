"""Peak performance of this machine, for rooflines: FLOP/s and bytes/s of 1, 2, 4 ... all usable cores, and of one GPU.

peak_kernel.py defines the kernels and their FLOPs and bytes.
"""

import datetime
import json
import os
import pkgutil
import subprocess
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ...core.check_result import NOTE, OK, WARNING, CheckResult, Progress, silent
from ...core.machine_peaks import MachinePeaks, Peak
from ..host import cpuinfo, gpus, hardware, hostname, memory, topology
from ..host.cpu_quota import tightest
from ..host.sysfs import System, counted

CPU, GPU = "cpu", "gpu"
ON_CPU, ON_GPU = ["float32"], ["float32", "bfloat16", "float16"]
TIMEOUT_S = 120  # the kernels take 2 s; waking a GPU or importing torch from a slow file system takes longer
SIZES, SIZE_ON_GPU = (1024, 512, 256), 8192  # of matrices; larger ones are no faster
TIMES_CACHE = 4  # STREAM's rule: each array is at least four times as large as all caches of the last level
USUAL_CACHE = 64 * 2**20  # if Linux does not report the size
LENGTH_ON_GPU = 2**28  # elements, 1 GiB: several times the largest cache of a GPU
PART = 2  # at most half of the available memory is used
# The kernel binds one thread to each CPU: libraries must not start or bind threads of their own.
_SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")

_FEWER = 0.9  # cores that share memory slow each other slightly
_DISTURBED = "More CPUs were slower than fewer: other processes interfered, and the measured peaks are too low."
_ALONE = "Measure again when the machine is idle; on a cluster with --on-node --whole-node."
_MEANS = "Cases on this device have no roofline."
_REMEDY = "Run hpcbench env build pytorch, or install numpy or torch for the Python of the node."


class NotMeasured(Exception):
    """The peak cannot be measured; the message has the reason, and `remedy` what to do."""

    def __init__(self, reason: str, remedy: str = _REMEDY) -> None:
        super().__init__(reason)
        self.remedy = remedy


class PeakResult(NamedTuple):
    """The peaks of a machine, and the check results of the measurement."""

    machine: MachinePeaks
    findings: List[CheckResult]


class DevicePeaks(NamedTuple):
    """The peaks of the CPUs, or of a GPU."""

    peaks: List[Peak]
    gpu_model: Optional[str] = None


def measure_peaks(system: System, pythons: Sequence[str], progress: Progress = silent) -> PeakResult:
    """Return the peaks of the CPUs and of one GPU.

    The first of `pythons` with numpy, otherwise torch, measures the CPUs; the first whose torch supports it, the GPU.
    """
    peaks: List[Peak] = []
    findings: List[CheckResult] = []
    gpu_model = gpus.name(0)
    for subject, measure in {"CPU peaks": of_cpus, **({"GPU peaks": of_gpu} if gpus.count() else {})}.items():
        try:
            measured = measure(system, pythons, progress)
        except NotMeasured as reason:
            findings.append(CheckResult(subject, NOTE, "not measured: %s" % reason, _MEANS, reason.remedy))
            continue
        peaks += measured.peaks
        gpu_model = measured.gpu_model or gpu_model
        findings.append(finding_of(subject, measured.peaks))
    node = hardware.describe()
    sizes_and_clock = (
        node["memory_bytes"],
        memory.last_level_cache_bytes(system, system.cpus),
        cpuinfo.clock_mhz(system.cpus[0], system.root),
    )
    machine = MachinePeaks(node["cpu_model"], node["cpu_count"], gpu_model, tuple(peaks), *sizes_and_clock)
    return PeakResult(machine, findings)


def usable_cores(system: System) -> List[int]:
    """Return one CPU of each core that this process may use, as many as its CPU quota allows.

    The second hyperthread of a core has no arithmetic units of its own.
    """
    placed = topology.read(system)
    cores = {cpu.core for cpu in placed}
    cpus = [cpu.number for cpu in topology.cores_first(placed)[: len(cores)]]
    whole = tightest(system)
    return cpus[: max(1, int(whole.cpus))] if whole else cpus


def of_cpus(system: System, pythons: Sequence[str], progress: Progress = silent) -> DevicePeaks:
    """Return the peaks of 1, 2, 4 and so on up to all usable cores. Raise NotMeasured."""
    cpus = usable_cores(system)
    return of_counts(system, cpus, counts(len(cpus)), pythons, progress)


def of_counts(
    system: System, cpus: List[int], numbers: Sequence[int], pythons: Sequence[str], progress: Progress = silent
) -> DevicePeaks:
    """Return the peaks of the first of `cpus`, for each of these numbers of CPUs. Raise NotMeasured."""
    by = [(library, python) for library in ("numpy", "torch") for python in dict.fromkeys(pythons)]
    peaks: List[Peak] = []
    for count in numbers:
        progress("peaks", counted(count, "CPU"))
        request = {"device": "cpu", "cpus": cpus[:count], "dtypes": ON_CPU, **sizes(system, cpus[:count])}
        answer, chosen = _first_answer(by, request)
        by = [chosen]
        peaks += _peaks(CPU, count, answer)
    return DevicePeaks(peaks)


def of_gpu(system: System, pythons: Sequence[str], progress: Progress = silent, device: str = "cuda:0") -> DevicePeaks:
    """Return the peaks of a visible GPU, by default of the first. Raise NotMeasured if no Python can measure them."""
    progress("peaks", "GPU")
    request = {"device": device, "cpus": system.cpus, "dtypes": ON_GPU, "size": SIZE_ON_GPU, "length": LENGTH_ON_GPU}
    answer, _ = _first_answer([("torch", python) for python in dict.fromkeys(pythons)], request)
    return DevicePeaks(_peaks(GPU, None, answer), answer["gpu_model"])


def counts(most: int) -> List[int]:
    """Return the powers of two up to `most`, and `most` itself."""
    powers = [2**power for power in range(most.bit_length())]
    return sorted({*powers, most})


def sizes(system: System, cpus: List[int]) -> Dict[str, int]:
    """Return `size` of each CPU's matrices and `length` of its arrays; 0 if the memory is too small for arrays."""
    available = memory.available_bytes(system)
    room = available // PART if available else 2**30
    fitting = [size for size in SIZES if 3 * 4 * size**2 * len(cpus) <= room]
    array = TIMES_CACHE * (memory.last_level_cache_bytes(system, cpus) or USUAL_CACHE)
    length = array // 4 // len(cpus) if 3 * array <= room else 0
    return {"size": fitting[0] if fitting else SIZES[-1], "length": length}


def finding_of(subject: str, peaks: List[Peak]) -> CheckResult:
    """Return the peaks as a check result with numbers."""
    parts = []
    numbers: Dict[str, float] = {}
    for peak in peaks:
        where = counted(peak.cpus, "CPU") if peak.cpus else peak.dtype
        moved = "too little free memory to measure bandwidth"
        name = "%s_%s" % ("gpu" if peak.cpus is None else "cpu_%d" % peak.cpus, peak.dtype)
        numbers[name + "_flops_per_s"] = peak.flops_per_s
        if peak.bytes_per_s is not None:
            moved = "%.3g GB/s" % (peak.bytes_per_s / 1e9)
            numbers[name + "_bytes_per_s"] = peak.bytes_per_s
        parts.append("%s %s, %s" % (where, in_words(peak.flops_per_s), moved))
    found = "%s (%s)" % ("; ".join(parts), peaks[0].measured_by)
    of_cpus = [peak.flops_per_s for peak in peaks if peak.cpus]
    if any(more < _FEWER * less for less, more in zip(of_cpus, of_cpus[1:])):
        return CheckResult(subject, WARNING, found, _DISTURBED, _ALONE, numbers)
    return CheckResult(subject, OK, found, numbers=numbers)


def in_words(flops_per_s: float) -> str:
    """Return `95.4 GFLOP/s` or `1.2 TFLOP/s`."""
    return "%.3g TFLOP/s" % (flops_per_s / 1e12) if flops_per_s >= 1e12 else "%.3g GFLOP/s" % (flops_per_s / 1e9)


def _peaks(device: str, cpus: Optional[int], answer: Dict[str, Any]) -> List[Peak]:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    place = (answer["by"], hostname.name(os.environ), now)
    return [
        Peak(device, cpus, dtype, rate, answer["bytes_per_s"], *place) for dtype, rate in answer["flops_per_s"].items()
    ]


def _first_answer(by: List[Tuple[str, str]], request: Dict[str, Any]) -> Tuple[Dict[str, Any], Tuple[str, str]]:
    """Return the result of the first library and Python that can measure, and both. Raise NotMeasured if none can."""
    reasons, remedy = [], _REMEDY
    for library, python in by:
        answer = _ask(python, {"library": library, **request})
        if "missing" not in answer:
            return answer, (library, python)
        reasons.append("%s: %s" % (python, answer["missing"]))
        remedy = _ALONE if "timeout_s" in answer else remedy
    raise NotMeasured("; ".join(reasons) or "no Python with numpy or torch found", remedy)


def _ask(python: str, request: Dict[str, Any]) -> Dict[str, Any]:
    """Return the result of the kernel in a new process of `python`."""
    kept = {name: value for name, value in os.environ.items() if name not in _BINDING}
    source = (pkgutil.get_data(__package__, "peak_kernel.py") or b"").decode()
    try:
        done = subprocess.run(
            [python, "-E", "-c", source, json.dumps(request)],
            cwd=os.sep,  # not a folder with files that Python may import
            env={**kept, **dict.fromkeys(_SINGLE, "1")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        return {"missing": error.strerror}
    except subprocess.TimeoutExpired:
        return {"missing": "no result within %d s" % TIMEOUT_S, "timeout_s": TIMEOUT_S}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        last_line = done.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        return {"missing": "exit status %d: %s" % (done.returncode, last_line[0])}
    answer: Dict[str, Any] = json.loads(lines[-1])
    return answer
