"""Settings of CPUs in each framework's own environment: what is in effect is what was requested."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.frameworks import FRAMEWORKS, SETTING_NAMES, SETTINGS, THREAD_COUNTS

NOTHING = dict.fromkeys(name for name in SETTING_NAMES if name not in THREAD_COUNTS)
HAVE = {setting.name: setting.frameworks or tuple(FRAMEWORKS) for setting in SETTINGS}
LONG = pytest.mark.long
WITH_ONEDNN = [
    "pytorch",
    "tensorflow",
    "mxnet",
    *(pytest.param(name, marks=LONG) for name in ("keras-torch", "keras-tensorflow")),
]
EVERY = ["pytorch", "tensorflow", "jax", "mxnet", *(pytest.param(n, marks=LONG) for n in ("keras-torch", "keras-jax"))]
# Settings of one process each. A framework takes those of them that it has.
PLAIN = {"onednn": True}
CHANGED = {"onednn": False, "allocator": "glibc-retain"}
OTHER_LIBRARIES = {"allocator": "jemalloc", "openmp": "llvm", "wait_policy": "passive"}
Found = tuple[list[str], dict[str, Any]]


@pytest.fixture(scope="session")
def known() -> dict[str, Found]:
    """What was found before: to start a framework takes seconds."""
    return {}


@pytest.fixture
def run(outputs: Callable[..., Any], known: dict[str, Found]) -> Callable[..., Found]:
    """What a framework printed, and what it says is in effect, under these settings."""

    def run(framework: str, settings: dict[str, Any]) -> Found:
        asked = {**NOTHING, **{name: value for name, value in settings.items() if framework in HAVE[name]}}
        words = ("settings_probe.py", framework, FRAMEWORKS[framework].executions[0])
        told = {"SETTINGS": json.dumps(asked), "ONEDNN_VERBOSE": 1, "MKLDNN_VERBOSE": 1, "DNNL_VERBOSE": 1}
        key = f"{framework} {told['SETTINGS']}"
        if key not in known:
            *lines, answer = outputs(*words, framework=framework, settings=asked, **told)[0].splitlines()
            known[key] = lines, json.loads(answer)
        return known[key]

    return run


@pytest.mark.parametrize("framework", WITH_ONEDNN)
def test_onednn_computes_where_it_is_on_and_not_where_it_is_off(run: Callable[..., Found], framework: str) -> None:
    """All but its plain product of matrices, which TensorFlow's own kernels call in either case."""
    for settings in (PLAIN, CHANGED):
        lines, found = run(framework, settings)
        assert found["onednn"] is settings["onednn"]
        executed = [line for line in lines if "_verbose" in line and ",exec," in line and ",gemm_api," not in line]
        assert bool(executed) is settings["onednn"], "what oneDNN itself says that it did"


@pytest.mark.system
@pytest.mark.parametrize("framework", EVERY)
def test_an_allocator_serves_the_whole_process(
    run: Callable[..., Found], debian: Callable[[str], None], framework: str
) -> None:
    debian("libjemalloc2")
    debian("libomp5")
    assert Path(run(framework, OTHER_LIBRARIES)[1]["allocator"]).name == "libjemalloc.so.2"
    assert run(framework, PLAIN)[1]["allocator"].startswith(("libc.", "libc-"))


@pytest.mark.parametrize("framework", EVERY)
def test_glibcs_allocator_keeps_what_a_framework_frees(run: Callable[..., Found], framework: str) -> None:
    assert run(framework, CHANGED)[1]["allocator"].endswith(" (retains)")


@pytest.mark.system
@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_an_openmp_runtime_takes_the_place_of_the_frameworks_own(
    run: Callable[..., Found], debian: Callable[[str], None], framework: str
) -> None:
    debian("libjemalloc2")
    debian("libomp5")
    found = run(framework, OTHER_LIBRARIES)[1]
    assert (found["openmp"], found["wait_policy"], found["threads"]) == ("libomp.so.5", "passive", 1)
    assert run(framework, PLAIN)[1]["openmp"].startswith("libgomp")
