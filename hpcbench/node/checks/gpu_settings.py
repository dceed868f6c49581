"""The settings and users of NVIDIA GPUs, from nvidia-smi; for other GPUs, their number from the driver."""

import csv
import shutil
import subprocess
from typing import Dict, List, Optional, Tuple

from ...core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult
from ..host import gpus as driver
from ..host.sysfs import System, counted

TIMEOUT_S = 30  # without persistence mode, the driver has to initialize every GPU
_FIELDS = (
    "name",
    "driver_version",
    "persistence_mode",
    "compute_mode",
    "ecc.mode.current",
    "power.limit",
    "power.default_limit",
    "utilization.gpu",
    "memory.used",
)
_MIG = "mig.mode.current"  # unknown to drivers before 450
_NO_DEVICES = "No devices were found"  # a message of nvidia-smi
_BUSY_PERCENT = 5.0

Gpu = Dict[str, str]


def check(system: System) -> List[CheckResult]:
    """Return the number, settings and users of the GPUs."""
    if shutil.which("nvidia-smi") is None:
        return [_by_driver(system)]
    gpus, complaint = _asked((*_FIELDS, _MIG))
    if complaint:
        gpus, complaint = _asked(_FIELDS)
    if _NO_DEVICES in complaint:
        return [_none(system)]
    if complaint:
        means = "Cases with GPUs cannot run on this machine."
        remedy = "Ask the administrators to repair the driver; for details: nvidia-smi and `dmesg | grep -i nvrm`."
        return [CheckResult("GPUs", PROBLEM, "nvidia-smi fails: %s" % complaint, means, remedy)]
    return [*evaluate(gpus), *_strangers()] if gpus else [_none(system)]


def evaluate(gpus: List[Gpu]) -> List[CheckResult]:
    """Return what the settings of these GPUs mean for measurements."""
    names = sorted({gpu["name"] for gpu in gpus})
    found = "%s: %s, driver %s" % (counted(len(gpus), "GPU"), ", ".join(names), gpus[0]["driver_version"])
    findings = [_kinds(found, names)]
    findings += filter(None, (_persistence(gpus), _mode(gpus), _ecc(gpus), _parts(gpus), _limit(gpus), _load(gpus)))
    return findings


def _by_driver(system: System) -> CheckResult:
    count = driver.count()
    if count:
        return CheckResult("GPUs", OK, "%s, according to the driver; settings unknown" % counted(count, "GPU"))
    devices = system.matching("dev/nvidia[0-9]*") or system.matching("dev/kfd")
    if not devices:
        return CheckResult("GPUs", OK, "none")
    means = "Cases with GPUs cannot run on this machine."
    remedy = (
        "Load the driver's libraries (a module, --nv for a container), or request the GPU from Slurm: --gres=gpu:1."
    )
    return CheckResult("GPUs", PROBLEM, "/%s exists, but the driver shows no GPU" % devices[0], means, remedy)


def _none(system: System) -> CheckResult:
    """Return the result if nvidia-smi shows no GPU: the machine has none, or this process has no access to one."""
    if not system.matching("dev/nvidia[0-9]*"):
        return CheckResult("GPUs", OK, "none")
    means = "Cases with GPUs cannot run in this session; in a job that requests GPUs they may."
    return CheckResult(
        "GPUs", NOTE, "GPUs found, but none is assigned to this process", means, "Request one from Slurm: --gres=gpu:1."
    )


def _asked(fields: Tuple[str, ...]) -> Tuple[List[Gpu], str]:
    """Return each GPU by field, and the error message of nvidia-smi if it fails."""
    lines, complaint = _run("--query-gpu=" + ",".join(fields))
    rows = csv.reader(lines, skipinitialspace=True)
    return [dict(zip(fields, row)) for row in rows if len(row) == len(fields)], complaint


def _run(question: str) -> Tuple[List[str], str]:
    try:
        done = subprocess.run(
            ["nvidia-smi", question, "--format=csv,noheader,nounits"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return [], str(error)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return ([], " ".join(lines) or "exit status %d" % done.returncode) if done.returncode else (lines, "")


def _kinds(found: str, names: List[str]) -> CheckResult:
    if len(names) == 1:
        return CheckResult("GPUs", OK, found)
    means = "The speed of a task depends on its GPU."
    return CheckResult("GPUs", WARNING, found, means, "Request one model: slurm: {gpu_type: ...} in the site file.")


def _persistence(gpus: List[Gpu]) -> Optional[CheckResult]:
    off = _those(gpus, "persistence_mode", "Disabled")
    if not off:
        return None
    means = "The driver initializes the GPU for each process: start-up takes seconds longer, and clocks are reset."
    remedy = "Ask the administrators for nvidia-persistenced; step times do not include start-up."
    return CheckResult("GPU persistence", NOTE, "off on %s" % off, means, remedy)


def _mode(gpus: List[Gpu]) -> Optional[CheckResult]:
    prohibited = _those(gpus, "compute_mode", "Prohibited")
    if prohibited:
        means = "Programs cannot use these GPUs."
        remedy = "Set the default mode: nvidia-smi -c 0 as root."
        return CheckResult("GPU compute mode", PROBLEM, "Prohibited on %s" % prohibited, means, remedy)
    exclusive = _those(gpus, "compute_mode", "Exclusive_Process")
    if not exclusive:
        return None
    means = "Only one process can use a GPU: tasks cannot share it, and a process of another user blocks it."
    return CheckResult(
        "GPU compute mode", NOTE, "Exclusive_Process on %s" % exclusive, means, "Request one GPU per task."
    )


def _ecc(gpus: List[Gpu]) -> Optional[CheckResult]:
    on, off = _those(gpus, "ecc.mode.current", "Enabled"), _those(gpus, "ecc.mode.current", "Disabled")
    if not off:
        return None
    remedy = (
        "Compare only with GPUs of the same setting; to enable ECC: nvidia-smi -e 1 as root, then restart the node."
    )
    if on:
        means = "ECC uses memory and, on some models, bandwidth: these GPUs may differ in speed."
        return CheckResult("GPU ECC", WARNING, "on on %s, off on %s" % (on, off), means, remedy)
    means = "These GPUs have more memory and, on some models, more bandwidth than GPUs with ECC."
    return CheckResult("GPU ECC", NOTE, "off on %s" % off, means, remedy)


def _parts(gpus: List[Gpu]) -> Optional[CheckResult]:
    cut = _those(gpus, _MIG, "Enabled")
    if not cut:
        return None
    means = "A case gets a MIG instance: times are those of the instance, power is that of the whole GPU."
    remedy = "Request whole GPUs, or one MIG profile: slurm: {gpu_type: ...} in the site file."
    return CheckResult("MIG", NOTE, "on on %s" % cut, means, remedy)


def _limit(gpus: List[Gpu]) -> Optional[CheckResult]:
    lowered = []
    for index, gpu in enumerate(gpus):
        limit, usual = _number(gpu["power.limit"]), _number(gpu["power.default_limit"])
        if limit is not None and usual is not None and limit < usual:
            lowered.append("%.0f of %.0f W on GPU %d" % (limit, usual, index))
    if not lowered:
        return None
    means = "Under load, the clock is reduced earlier than on other nodes."
    remedy = "Compare only with GPUs of the same limit; to change it: nvidia-smi -pl as root."
    return CheckResult("GPU power limit", NOTE, ", ".join(lowered), means, remedy)


def _load(gpus: List[Gpu]) -> Optional[CheckResult]:
    busy = []
    for index, gpu in enumerate(gpus):
        used = _number(gpu["utilization.gpu"])
        if used is not None and used > _BUSY_PERCENT:
            busy.append("GPU %d %.0f %%, %s MiB in use" % (index, used, gpu["memory.used"]))
    if not busy:
        return None
    return CheckResult("GPU load", WARNING, ", ".join(busy), _SHARED, _ALONE)


_SHARED = "Other processes use these GPUs: times are longer and vary between runs."
_ALONE = "Request GPUs (--gres) or whole nodes from Slurm; otherwise stop these processes or wait."


def _strangers() -> List[CheckResult]:
    lines, complaint = _run("--query-compute-apps=pid,process_name,used_memory")
    if complaint or not lines:
        return []
    return [CheckResult("GPU processes", WARNING, "; ".join(lines), _SHARED, _ALONE)]


def _those(gpus: List[Gpu], field: str, value: str) -> str:
    """Return the GPUs with this value as `GPU 0, 2`; empty if there are none."""
    having = [str(index) for index, gpu in enumerate(gpus) if gpu.get(field) == value]
    return "GPU " + ", ".join(having) if having else ""


def _number(text: str) -> Optional[float]:
    """Return the number, or None for `[N/A]`."""
    try:
        return float(text)
    except ValueError:
        return None
