"""Settings of CPUs in each framework's own environment: what is in effect is what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.frameworks import FRAMEWORKS, SETTING_NAMES, THREAD_COUNTS

NOTHING = dict.fromkeys(name for name in SETTING_NAMES if name not in THREAD_COUNTS)
LONG = pytest.mark.long
WITH_ONEDNN = [
    "pytorch",
    "tensorflow",
    "mxnet",
    *(pytest.param(name, marks=LONG) for name in ("keras-torch", "keras-tensorflow")),
]
EVERY = ["pytorch", "tensorflow", "jax", "mxnet", *(pytest.param(n, marks=LONG) for n in ("keras-torch", "keras-jax"))]


@pytest.fixture
def run(outputs: Callable[..., Any]) -> Callable[..., tuple[list[str], dict[str, Any]]]:
    """What a framework printed, and what it says is in effect, under these settings."""

    def run(framework: str, **settings: Any) -> tuple[list[str], dict[str, Any]]:
        execution = FRAMEWORKS[framework].executions[0]
        asked = {**NOTHING, **settings}
        told = {"SETTINGS": json.dumps(asked), "ONEDNN_VERBOSE": 1, "MKLDNN_VERBOSE": 1, "DNNL_VERBOSE": 1}
        words = ("settings_probe.py", framework, execution)
        *lines, answer = outputs(*words, framework=framework, settings=asked, **told)[0].splitlines()
        return lines, json.loads(answer)

    return run


@pytest.mark.parametrize("framework", WITH_ONEDNN)
def test_onednn_computes_where_it_is_on_and_not_where_it_is_off(run: Callable[..., Any], framework: str) -> None:
    """All but its plain product of matrices, which TensorFlow's own kernels call in either case."""
    for asked in (True, False):
        lines, found = run(framework, onednn=asked)
        assert found["onednn"] is asked
        executed = [line for line in lines if "_verbose" in line and ",exec," in line and ",gemm_api," not in line]
        assert bool(executed) is asked, "what oneDNN itself says that it did"


@pytest.mark.system
@pytest.mark.parametrize("framework", EVERY)
def test_an_allocator_serves_the_whole_process(
    run: Callable[..., Any], debian: Callable[[str], None], framework: str
) -> None:
    debian("libjemalloc2")
    assert Path(run(framework, allocator="jemalloc")[1]["allocator"]).name == "libjemalloc.so.2"
    assert run(framework)[1]["allocator"].startswith(("libc.", "libc-"))


@pytest.mark.parametrize("framework", EVERY)
def test_glibcs_allocator_keeps_what_a_framework_frees(run: Callable[..., Any], framework: str) -> None:
    assert run(framework, allocator="glibc-retain")[1]["allocator"].endswith(" (retains)")


@pytest.mark.system
@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_an_openmp_runtime_takes_the_place_of_the_frameworks_own(
    run: Callable[..., Any], debian: Callable[[str], None], framework: str
) -> None:
    debian("libomp5")
    found = run(framework, openmp="llvm", wait_policy="passive")[1]
    assert (found["openmp"], found["wait_policy"], found["threads"]) == ("libomp.so.5", "passive", 1)
    assert run(framework)[1]["openmp"].startswith("libgomp")
