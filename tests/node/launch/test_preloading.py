"""Real OpenMP runtimes and allocators in the place of PyTorch's own: Debian's, and Intel's from pip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.variables.worker import for_worker
from tests.conftest import unavailable

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: libraries preloaded before it")
CPUS = len(os.sched_getaffinity(0))
TINY = {"input_size": 8, "hidden_size": 16, "layers": 2, "classes": 3}
# How much CPU time two threads of OpenMP take while the program does nothing, after an operation of both.
IDLE = """
import time, torch
torch.set_num_threads(2)
numbers = torch.ones(1 << 20)
numbers + numbers
start = time.process_time()
time.sleep(0.5)
print(time.process_time() - start)
"""


@pytest.fixture(scope="session")
def intels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables by which Intel's runtime is found."""
    folder = tmp_path_factory.mktemp("intel")
    words = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(folder), "intel-openmp"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        unavailable(f"intel-openmp cannot be downloaded here: {done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (library,) = folder.rglob("libiomp5.so")
    return {"LD_LIBRARY_PATH": str(library.parent)}


@pytest.fixture
def settings_of(make_folder: Callable[..., Any], clean_environment: dict[str, str]) -> Callable[..., dict[str, Any]]:
    """What was in effect in a real run."""

    def run(variables: dict[str, str] | None = None, **asked: Any) -> dict[str, Any]:
        folder = make_folder(model_options=TINY, **asked)
        environment = {**clean_environment, **(variables or {})}
        record = folder.record(folder.rank(environment).returncode, environment)
        assert record["error"] is None
        found: dict[str, Any] = record["settings"]
        return found

    return run


@pytest.mark.system
@pytest.mark.parametrize("policy", ["active", "passive"])
def test_llvms_runtime_is_in_effect_and_tells_its_wait_policy(
    debian: Callable[[str], None], settings_of: Callable[..., dict[str, Any]], policy: str
) -> None:
    debian("libomp5")
    found = settings_of(openmp="llvm", wait_policy=policy)
    assert (found["openmp"], found["wait_policy"]) == ("libomp.so.5", policy)


@pytest.mark.system
def test_intels_runtime_is_in_effect(intels: dict[str, str], settings_of: Callable[..., dict[str, Any]]) -> None:
    found = settings_of(intels, openmp="intel", wait_policy="passive")
    assert (found["openmp"], found["wait_policy"]) == ("libiomp5.so", "passive")


@pytest.mark.system
@pytest.mark.parametrize(
    ("allocator", "package", "file"),
    [
        ("jemalloc", "libjemalloc2", "libjemalloc.so.2"),
        ("tcmalloc", "libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"),
    ],
)
def test_an_allocator_is_in_effect(
    debian: Callable[[str], None],
    settings_of: Callable[..., dict[str, Any]],
    allocator: str,
    package: str,
    file: str,
) -> None:
    debian(package)
    assert settings_of(allocator=allocator)["allocator"].startswith(file)


def test_glibcs_allocator_keeps_what_is_freed(settings_of: Callable[..., dict[str, Any]]) -> None:
    assert settings_of(allocator="glibc-retain")["allocator"].endswith(" (retains)")
    assert not settings_of()["allocator"].endswith(" (retains)")


def test_where_glibcs_allocator_does_not_keep_it_the_case_is_unsupported(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    """glibc reads GLIBC_TUNABLES, too, and it has the last word."""
    folder = make_folder(allocator="glibc-retain")
    environment = {**clean_environment, "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1048576"}
    record = folder.record(folder.rank(environment).returncode, environment)
    assert record["status"] == "unsupported"
    assert "allocator: glibc-retain was requested by MALLOC_MMAP_MAX_" in record["error"]["message"]


def test_a_plain_user_has_what_pytorch_and_the_c_library_bring(settings_of: Callable[..., dict[str, Any]]) -> None:
    found = settings_of()
    assert found["openmp"].startswith("libgomp")
    assert found["allocator"].startswith(("libc.", "libc-", "ld-musl"))
    assert found["wait_policy"] is None


def test_a_library_that_the_linker_ignores_is_unsupported(
    tmp_path: Path, make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    """It begins as a library does, and nothing follows."""
    (tmp_path / "libjemalloc.so.2").write_bytes(Path(sys.executable).read_bytes()[:64])
    folder = make_folder(allocator="jemalloc")
    environment = {**clean_environment, "LD_LIBRARY_PATH": str(tmp_path)}
    record = folder.record(folder.rank(environment).returncode, environment)
    assert record["status"] == "unsupported"
    assert f"LD_PRELOAD has {tmp_path}/libjemalloc.so.2, but the dynamic linker" in record["error"]["message"]


@pytest.mark.skipif(CPUS < 2, reason="needs two CPUs; not run: whether OpenMP's threads spin or sleep")
def test_threads_of_gnus_runtime_spin_or_sleep_as_they_are_told(
    make_parameters: Callable[..., dict[str, Any]], clean_environment: dict[str, str]
) -> None:
    """It does not tell; the CPU time of its idle second thread does."""
    idle = {}
    for policy in ("active", "passive"):
        environment = for_worker(make_parameters(wait_policy=policy), clean_environment)
        idle[policy] = float(subprocess.check_output([sys.executable, "-c", IDLE], env=environment))
    assert idle["passive"] < 0.05 < idle["active"]


FLUSH = """
import json, sys
sys.path.insert(0, {zipapp!r})
from hpcbench_carried.node.frameworks import load
adapter = load("pytorch")
adapter.set_threads({threads}, None)
adapter.set_settings({asked!r})
before = adapter.settings()
import torch
torch.set_flush_denormal({last})
print(json.dumps([before, adapter.settings()]))
"""


@pytest.mark.parametrize("asked", [True, False])
def test_denormals_are_flushed_in_all_threads_or_kept_and_onednn_is_on_or_off(
    zipapp: Path, clean_environment: dict[str, str], asked: bool
) -> None:
    """In the end they are flushed, or kept, in the first thread alone: that is neither."""
    settings = {"flush_denormals": asked, "onednn": asked}
    code = FLUSH.format(zipapp=str(zipapp), threads=2, asked=settings, last=not asked)
    before, after = json.loads(subprocess.check_output([sys.executable, "-c", code], env=clean_environment))
    assert before == settings
    assert after == {"flush_denormals": None, "onednn": asked}
