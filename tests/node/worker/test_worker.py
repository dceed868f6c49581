"""The worker from the framework's import to its facts. The framework itself is a stand-in of a few lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.core.run_spec import PlannedRun
from hpcbench.node import frameworks
from hpcbench.node.errors import BadModel
from hpcbench.node.frameworks.adapter import Adapter, Network
from hpcbench.node.frameworks.supported_library import SupportedLibrary
from hpcbench.node.host import topology
from hpcbench.node.host.sysfs import System
from hpcbench.node.launch import ports
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.worker import worker as run
from hpcbench.node.workload.problem import Problem

ALONE = Ranks(0, 1, host="n1")


class Still(Network):
    """A network whose steps take no time, and whose trained weights are `trained`."""

    parameter_count = 10

    def __init__(self, problem: Problem, trained: list[np.ndarray]) -> None:
        super().__init__(problem)
        self.trained = trained
        self.feed()

    def predict(self, inputs: Any) -> Any:
        return inputs

    def learn(self, batches: Any) -> Any:
        return batches[0][1]

    def differentiate(self, batches: Any) -> Any:
        return batches[0][1]

    def on_device(self, inputs: np.ndarray, labels: np.ndarray) -> Any:
        return inputs, labels

    def pipeline(self, items: Any, forever: bool) -> Any:
        raise AssertionError("there is no real data")

    def synchronize(self) -> None: ...

    def to_numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def weights(self) -> list[np.ndarray]:
        return self.trained

    def gradients(self) -> list[np.ndarray]:
        return self.trained


class Stand(Adapter):
    """A framework that is nothing but what run.py sees of one."""

    name = "stand-in"
    libraries: tuple[SupportedLibrary, ...] = (SupportedLibrary("Stand-in", "2.13.0+cpu", "2.3", "3"),)
    packages = ("pytest", "no-such-distribution")

    def __init__(self, trained: Callable[[int], list[np.ndarray]] = lambda rank: []) -> None:
        self.trained = trained
        self.told: tuple[int | None, int | None] | None = None

    def set_threads(self, intra_op: int | None, inter_op: int | None) -> None:
        self.told = (intra_op, inter_op)

    def threads(self) -> dict[str, Any]:
        return {"intra_op": (self.told or (None,))[0], "inter_op": 1, "by": "being told"}

    def build(self, problem: Problem) -> Network:
        return Still(problem, self.trained(problem.group.rank))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun]) -> Callable[..., dict[str, Any]]:
    """The facts of a worker with this adapter."""

    def facts(adapter: Adapter, ranks: Ranks = ALONE, **parameters: Any) -> dict[str, Any]:
        monkeypatch.setattr(frameworks, "load", lambda framework: adapter)
        return run.run(make_planned(**parameters), ranks)

    return facts


def test_a_repetition_that_completes_tells_what_it_found(worker: Callable[..., dict[str, Any]]) -> None:
    adapter = Stand()
    facts = worker(adapter, intra_op_threads=1, inter_op_threads=3, oversubscribe=True)
    assert facts["status"] == "completed"
    assert "error" not in facts
    assert adapter.told == (1, 3)
    assert facts["threads"] == {"intra_op": 1, "inter_op": 1, "by": "being told"}
    assert (facts["framework_version"], facts["packages"]) == ("2.13.0+cpu", {"pytest": pytest.__version__})
    assert facts["work"]["parameter_count"] == 10
    assert len(facts["measurements"]["times_s"]) >= 2
    assert facts["peak_memory_bytes"] > 0


def test_the_gpu_of_a_record_is_the_ranks_own_and_on_a_cpu_none_is_asked_for(
    worker: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class OfGpus(Stand):
        def devices(self) -> list[str]:
            asked.append(True)
            return ["the first", "the second"]

    assert worker(OfGpus())["gpus"] == []
    assert not asked
    assert worker(OfGpus(), device="gpu", gpus_per_task=1)["gpus"] == ["the first"]
    monkeypatch.setattr(run.Group, "local_rank", 1)
    assert worker(OfGpus(), device="gpu", gpus_per_task=1)["gpus"] == ["the second"]


@pytest.mark.parametrize("version", ["2.3", "2.3.0", "2.13.0+cpu", "2.14.0a0+git1f3c", "2.9rc1", "2.100"])
def test_a_version_among_those_that_are_supported_runs(worker: Callable[..., dict[str, Any]], version: str) -> None:
    adapter = Stand()
    adapter.libraries = (adapter.libraries[0]._replace(version=version),)
    assert worker(adapter)["status"] == "completed"


@pytest.mark.parametrize("version", ["2.2", "2.2.9", "1.13.1", "3", "3.0.0", "3.0.0rc1", "10.1"])
def test_any_other_version_is_unsupported_and_the_supported_ones_are_named(
    worker: Callable[..., dict[str, Any]], version: str
) -> None:
    adapter = Stand()
    adapter.libraries = (adapter.libraries[0]._replace(version=version),)
    facts = worker(adapter)
    assert facts["status"] == "unsupported"
    words = f"Stand-in {version} is here ({sys.executable}); versions from 2.3 and below 3 are supported; "
    words += "`hpcbench env build stand-in` builds a suitable one"
    assert facts["error"] == {"type": "unsupported", "message": words}
    assert facts["framework_version"] == version


def test_what_a_framework_computes_with_must_fit_as_well(worker: Callable[..., dict[str, Any]]) -> None:
    adapter = Stand()
    adapter.libraries = (SupportedLibrary("Front", "3.1", "3", "4"), SupportedLibrary("Back", "2.2", "2.3", "3"))
    facts = worker(adapter)
    assert (facts["status"], facts["framework_version"]) == ("unsupported", "3.1")
    assert facts["error"]["message"].startswith("Back 2.2 is here")


@pytest.mark.parametrize("framework", frameworks._MODULES)
def test_a_framework_that_is_not_there_is_told_with_the_python_that_lacks_it(
    monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun], framework: str
) -> None:
    def lacking(name: str, package: str | None = None) -> Any:
        raise ModuleNotFoundError("No module named 'that'")

    monkeypatch.setattr(frameworks.importlib, "import_module", lacking)
    facts = run.run(make_planned(framework=framework), ALONE)
    assert facts["status"] == "failed"
    assert facts["error"]["type"] == "ModuleNotFoundError"
    assert f"`hpcbench env build {framework}`" in facts["error"]["message"]
    assert run.sys.executable in facts["error"]["message"]


def test_every_framework_of_the_catalog_has_an_adapter() -> None:
    assert set(frameworks._MODULES) == set(FRAMEWORKS)


def test_more_threads_than_cpus_are_remarked(worker: Callable[..., dict[str, Any]]) -> None:
    cpus = len(os.sched_getaffinity(0))
    assert worker(Stand(), intra_op_threads=cpus)["warnings"] == []
    warnings = worker(Stand(), intra_op_threads=cpus + 1, oversubscribe=True)["warnings"]
    assert warnings == [f"{cpus + 1} intra-op threads share {cpus} CPUs"]


@pytest.mark.parametrize(
    ("asked", "found", "refused"),
    [
        ({"flush_denormals": True}, {"flush_denormals": True}, None),
        (
            {"flush_denormals": True},
            {"flush_denormals": False},
            "flush_denormals: true was requested, but the value in effect is",
        ),
        ({"onednn": False}, {}, "onednn: false was requested, but the value in effect is none"),
        ({"wait_policy": "passive"}, {"wait_policy": "active"}, "wait_policy: passive was requested"),
        ({"wait_policy": "passive"}, {"wait_policy": None}, None),  # GNU's OpenMP does not report it
        ({}, {"onednn": False, "flush_denormals": True}, None),
    ],
)
def test_a_setting_that_is_not_in_effect_is_unsupported(
    worker: Callable[..., dict[str, Any]], asked: dict[str, Any], found: dict[str, Any], refused: str | None
) -> None:
    class Reporting(Stand):
        def settings(self) -> dict[str, Any]:
            return found

    facts = worker(Reporting(), **asked)
    assert facts["status"] == ("unsupported" if refused else "completed")
    assert refused is None or refused in facts["error"]["message"]


def test_an_import_that_changes_the_affinity_is_noticed_and_undone(
    monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun]
) -> None:
    """As GOMP_CPU_AFFINITY makes some OpenMP runtimes do."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs; not run: the affinity that an import changes")

    def load(framework: str) -> Adapter:
        os.sched_setaffinity(0, [allowed[0]])
        return Stand()

    monkeypatch.setattr(frameworks, "load", load)
    facts = run.run(make_planned(), ALONE)
    assert sorted(os.sched_getaffinity(0)) == allowed
    assert facts["affinity"] == allowed
    assert facts["physical_cores"] == topology.physical_cores(System(allowed))  # not that of the one CPU
    assert facts["warnings"] == ["importing stand-in changed the CPU affinity; hpcbench restored it"]


@pytest.fixture
def two_ranks(worker: Callable[..., dict[str, Any]]) -> Callable[[Adapter], list[dict[str, Any]]]:
    """The facts of two ranks that train with this adapter."""
    held, port = ports.claim(os.getpid())
    held.close()

    def both(adapter: Adapter) -> list[dict[str, Any]]:
        ranks = [Ranks(rank, 2, meeting=port - ports.FIRST, token=str(port), host="n1") for rank in (0, 1)]
        given = {"task": "training", "strategy": "ddp", "tasks_per_node": 2}
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda each: worker(adapter, each, **given), ranks))

    return both


def test_the_checksum_of_equal_weights_is_that_of_every_rank(two_ranks: Callable[..., list[dict[str, Any]]]) -> None:
    first, second = two_ranks(Stand(lambda rank: [np.ones(3, np.float32), np.zeros(2, np.float32)]))
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert first["weights_crc32"] == second["weights_crc32"]
    assert first["work"]["items_per_step"] == 2 * 4


def test_ranks_that_trained_different_weights_have_failed(two_ranks: Callable[..., list[dict[str, Any]]]) -> None:
    for facts in two_ranks(Stand(lambda rank: [np.full(3, rank, np.float32)])):
        assert facts["status"] == "failed"
        assert facts["error"]["message"] == "after training, the weights of rank [1] differ from rank 0's"


def test_a_rank_that_does_not_meet_the_others_has_failed_and_says_so(
    worker: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lonely = run.Group
    monkeypatch.setattr(run, "Group", lambda ranks: lonely(ranks, timeout_s=0.2))
    facts = worker(Stand(), ALONE._replace(rank=1, size=2, meeting=os.getpid()), strategy="ddp", tasks_per_node=2)
    assert facts["status"] == "failed"
    assert "rank 1 could not connect to rank 0" in facts["error"]["message"]


def test_the_end_of_the_traceback_of_a_users_model_is_in_the_log(
    worker: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(Stand):
        def build(self, problem: Problem) -> Network:
            raise BadModel("nets:build cannot be built: ValueError: broken", ["in build", "ValueError: broken"])

    error = worker(Broken())["error"]
    assert (error["type"], error["last_lines"]) == ("model", ["in build", "ValueError: broken"])
    assert capsys.readouterr().err == "in build\nValueError: broken\n"


@pytest.mark.parametrize(
    ("error", "status"), [(MemoryError("no more"), "out_of_memory"), (ValueError("broken"), "failed")]
)
def test_what_a_framework_raises_is_an_outcome(
    worker: Callable[..., dict[str, Any]], error: Exception, status: str
) -> None:
    class Broken(Stand):
        def build(self, problem: Problem) -> Network:
            raise error

    facts = worker(Broken())
    assert facts["status"] == status
    assert (facts["error"]["type"], facts["error"]["message"]) == (type(error).__name__, str(error))
    assert any("raise error" in line for line in facts["error"]["last_lines"])
