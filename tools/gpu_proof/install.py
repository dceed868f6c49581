"""Create a virtual environment with hpcbench, the packages of this Python, and wheels for missing ones, offline."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

from .bench import REPOSITORY
from .checkup import FIGURES, TABLES
from .frameworks import JAX_NEEDS
from .gpu_tests import NEEDS

NVML = "libnvidia-ml.so.1"
# The module of each package that sweeps and doctor import.
CORE = ("click", "jinja2", "numpy", "packaging", "pydantic", "pynvml", "rich", "submitit", "torch", "yaml")
OPTIONAL = (*TABLES, *FIGURES, *NEEDS, "xdist", *JAX_NEEDS, "triton", "lightgbm")
_SEEN = """
import importlib.util, json, sys
print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name)]))
"""
_TORCH = """
import json, torch
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "gpus": torch.cuda.device_count()}))
"""


class NotReadyError(Exception):
    """This machine lacks something that every step needs; the message names it."""


def check_machine(device: str) -> None:
    """Raise NotReadyError if the NVIDIA driver or torch is missing."""
    missing = []
    try:
        ctypes.CDLL(NVML)
    except OSError:
        rehearsal = " (a rehearsal needs a mock of it)" if device == "cpu" else ""
        missing.append(f"the NVIDIA driver: its library {NVML} cannot be loaded{rehearsal}")
    if importlib.util.find_spec("torch") is None:
        missing.append(f"torch, in {sys.executable}")
    if missing:
        raise NotReadyError("; ".join(missing))


def prepare(folder: Path, wheels: Path | None) -> tuple[str, frozenset[str]]:
    """Create the environment in a folder; return its Python, and which modules it can import. Raise NotReadyError."""
    venv.EnvBuilder(symlinks=True).create(folder)
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    theirs = [path for path in (*site.getsitepackages(), site.getusersitepackages()) if Path(path).is_dir()]
    # addsitedir also follows the .pth files there, for example of a torch that is installed as editable.
    lines = [str(REPOSITORY), *(f"import site; site.addsitedir({path!r})" for path in theirs)]
    (packages / "gpu_proof.pth").write_text("\n".join(lines) + "\n")
    if wheels is not None:
        _install(sorted(wheels.glob("*.whl")), packages, wheels)
    found = frozenset(_json(str(python), _SEEN, *CORE, *OPTIONAL))
    missing = [name for name in CORE if name not in found]
    if missing:
        raise NotReadyError(
            f"modules not found: {', '.join(missing)}; collect them on a machine with a network: "
            "tools/gpu-proof wheels DIR; then use --wheels DIR here"
        )
    return str(python), found


def describe(python: str, device: str) -> dict[str, Any]:
    """Return a description of this machine, for GPUs and compilers. Raise NotReadyError if torch finds no GPU."""
    try:
        torch: dict[str, Any] = _json(python, _TORCH)
    except subprocess.SubprocessError as error:
        raise NotReadyError(f"torch cannot be imported: {error}") from error
    if device == "gpu" and not torch["gpus"]:
        raise NotReadyError(f"torch {torch['torch']} finds no GPU (built for CUDA {torch['cuda']})")
    return {
        **torch,
        "python": sys.version.split()[0],
        "cpus": len(os.sched_getaffinity(0)),
        "compiler": shutil.which("cc") or shutil.which("gcc"),
        "python_headers": (Path(sysconfig.get_path("include")) / "Python.h").exists(),
        "nvidia_smi": shutil.which("nvidia-smi"),
        "pid_namespace": str(Path("/proc/self/ns/pid").readlink()),
    }


def _install(files: list[Path], packages: Path, wheels: Path) -> None:
    if not files:
        raise NotReadyError(f"no wheels in {wheels}")
    options = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--upgrade", "--target", str(packages)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, *map(str, files)], capture_output=True, text=True
    )
    if done.returncode:
        raise NotReadyError(f"the wheels cannot be installed: {done.stderr.strip()[-500:]}")


def _json(python: str, program: str, *arguments: str) -> Any:
    done = subprocess.run([python, "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout.splitlines()[-1])
