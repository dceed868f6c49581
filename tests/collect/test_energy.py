"""Energy as columns: what adds up to it, what does not, and why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.collect.energy import COLUMNS, energy_columns
from hpcbench.core.energy import Energy
from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json
from tests.fixtures.records import a_record

MakeRecord = Callable[..., Record]
GPU = {"device": "gpu", "gpus_per_task": 1}


def told(kind: str, source: str | None, **joules: float | None) -> list[Energy]:
    """What one source tells of the domains of a kind; None is what it could not measure."""
    return [
        Energy(
            kind,
            source,
            domain,
            number,
            number and number / 10,
            reason=None if number else "its counter did not change",
        )
        for domain, number in joules.items()
    ]


def node(*parts: list[Energy], host: str = "n1") -> dict[str, Any]:
    energies = to_json([each for part in parts for each in part])
    return {"host": host, "duration_s": 1.0, "energy": energies, "usage": {}, "absent": {}}


def ranks(*hosts: str, gpus: list[str] | None) -> list[dict[str, Any]]:
    return [{"rank": number, "host": host, "gpus": gpus, "ended_at": ""} for number, host in enumerate(hosts)]


@pytest.fixture
def columns(make_record: MakeRecord) -> Callable[..., dict[str, Any]]:
    """The columns of a record with these nodes; it ran on a CPU of n1, unless told otherwise."""

    def make(*nodes: dict[str, Any], **changes: Any) -> dict[str, Any]:
        return energy_columns(make_record(**{"monitors": list(nodes), "ranks": ranks("n1", gpus=[]), **changes}))

    return make


def test_domains_and_nodes_add_up_with_their_uncertainties(columns: Callable[..., dict[str, Any]]) -> None:
    parts = (
        told("cpu", "rapl", cpu0=100.0, cpu1=50.0),
        told("memory", "rapl", dram0=8.0),
        told("node", "cray", node=400.0),
    )
    found = columns(node(*parts), node(*parts, host="n2"), ranks=ranks("n1", "n1", "n2", "n2", gpus=[]))
    assert (found["energy_cpu_j"], found["energy_cpu_uncertainty_j"]) == (300.0, pytest.approx(30.0))
    assert (found["energy_memory_j"], found["energy_node_j"]) == (16.0, 800.0)
    # three samples of two steps of 32 items
    assert found["energy_cpu_j_per_item"] == pytest.approx(300 / 192)


def test_what_two_sources_tell_of_the_same_parts_counts_once(columns: Callable[..., dict[str, Any]]) -> None:
    cpus = told("cpu", "rapl", cpu0=100.0, cpu1=50.0) + told("cpu", "cray", cpu=160.0)
    gpus = told("gpu", "nvidia_energy", gpu0=300.0) + told("gpu", "cray", accelerator0=310.0)
    found = columns(node(cpus, gpus), parameters=GPU, ranks=ranks("n1", gpus=["GPU A"]))
    assert (found["energy_cpu_j"], found["energy_gpu_j"], found["energy_reason"]) == (150.0, 300.0, None)


def test_the_source_that_knows_all_parts_of_a_kind_stands_in_for_one_that_does_not(
    columns: Callable[..., dict[str, Any]],
) -> None:
    found = columns(node(told("cpu", "rapl", cpu0=100.0, cpu1=None), told("cpu", "cray", cpu=160.0)))
    assert (found["energy_cpu_j"], found["energy_reason"]) == (160.0, None)


def test_where_a_part_was_not_measured_there_is_no_sum_but_the_reason(columns: Callable[..., dict[str, Any]]) -> None:
    found = columns(
        node(told("cpu", "rapl", cpu0=100.0, cpu1=None), [Energy("memory", None, "memory", reason="no RAPL")])
    )
    assert (found["energy_cpu_j"], found["energy_memory_j"]) == (None, None)
    assert found["energy_reason"] == "cpu1: its counter did not change; memory: no RAPL"


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=4), st.lists(st.floats(0.1, 1e6), max_size=4))
def test_a_second_source_never_changes_what_the_first_knows(first: list[float], second: list[float]) -> None:
    own = told("cpu", "rapl", **{f"cpu{number}": joules for number, joules in enumerate(first)})
    others = told("cpu", "cray", **{f"cpu{number}": joules for number, joules in enumerate(second)})
    found = energy_columns(a_record(parameters={"gpus_per_task": 0}, monitors=[node(own, others)]))
    assert found["energy_cpu_j"] == pytest.approx(sum(first))


@pytest.mark.parametrize("parameters", [{}, {"gpus_per_task": 1}])
def test_gpus_that_stand_by_are_not_the_energy_of_a_case_on_cpus(
    columns: Callable[..., dict[str, Any]], parameters: dict[str, Any]
) -> None:
    found = columns(
        node(told("gpu", "nvidia_energy", gpu0=50.0), told("node", "cray", node=400.0)), parameters=parameters
    )
    assert (found["energy_gpu_j"], found["energy_node_j"]) == (None, 400.0)
    assert found["energy_reason"] is None


def test_of_the_gpus_of_a_machine_those_count_that_the_case_was_given(columns: Callable[..., dict[str, Any]]) -> None:
    gpus = node(told("gpu", "nvidia_energy", gpu0=300.0, gpu1=301.0, gpu2=50.0, gpu3=None))
    found = columns(gpus, parameters=GPU, ranks=ranks("n1", "n1", gpus=["GPU A"]))
    assert (found["energy_gpu_j"], found["energy_reason"]) == (601.0, None)


def test_each_node_has_gpus_of_its_own(columns: Callable[..., dict[str, Any]]) -> None:
    gpus = told("gpu", "nvidia_energy", gpu0=300.0, gpu1=50.0)
    found = columns(node(gpus), node(gpus, host="n2"), parameters=GPU, ranks=ranks("n1", "n2", gpus=["GPU A"]))
    assert found["energy_gpu_j"] == 600.0


def test_a_command_says_by_its_parameters_which_gpus_it_has(columns: Callable[..., dict[str, Any]]) -> None:
    gpus = node(told("gpu", "nvidia_energy", gpu0=300.0, gpu1=301.0, gpu2=50.0))
    command = {"framework": "command", "command": "train", "model": None}
    found = columns(gpus, parameters={**command, "gpus_per_task": 2}, ranks=ranks("n1", gpus=None))
    assert found["energy_gpu_j"] == 601.0
    assert columns(gpus, parameters=command, ranks=ranks("n1", gpus=None))["energy_gpu_j"] is None


def test_gpus_that_the_monitor_did_not_see_are_no_zero(columns: Callable[..., dict[str, Any]]) -> None:
    found = columns(
        node(told("gpu", "nvidia_energy", gpu0=300.0)), parameters=GPU, ranks=ranks("n1", "n1", gpus=["GPU A"])
    )
    assert found["energy_gpu_j"] is None
    assert found["energy_reason"] == "gpu: the monitor saw 1 of the 2 that the case was given"


@pytest.mark.parametrize(("tasks", "joules"), [(4, 1200.0), (3, None), (2, None)])
def test_the_packages_of_a_blade_count_where_none_can_be_anothers(
    columns: Callable[..., dict[str, Any]], tasks: int, joules: float | None
) -> None:
    """Two MI250X, each two GPUs, of which the second counts nothing."""
    dies = told("gpu", "amd_energy", gpu0=590.0, gpu1=None, gpu2=590.0, gpu3=None)
    packages = told("gpu", "cray", accelerator0=600.0, accelerator1=600.0)
    mine = ranks(*["n1"] * tasks, gpus=["MI250X"])
    assert columns(node(dies, packages), parameters=GPU, ranks=mine)["energy_gpu_j"] == joules
    assert columns(node(packages), parameters=GPU, ranks=mine)["energy_gpu_j"] == joules


def test_where_a_blade_alone_tells_of_gpus_and_not_whose_they_are_that_is_the_reason(
    columns: Callable[..., dict[str, Any]],
) -> None:
    packages = node(told("gpu", "cray", accelerator0=600.0, accelerator1=600.0))
    reason = columns(packages, parameters=GPU, ranks=ranks("n1", gpus=["MI250X"]))["energy_reason"]
    assert reason == "gpu: the counters are of all GPUs of the blade, but the case was given 1"


def test_a_node_that_nobody_watched_empties_all_and_is_named(columns: Callable[..., dict[str, Any]]) -> None:
    found = columns(node(told("cpu", "rapl", cpu0=100.0)), ranks=ranks("n1", "n2", "n3", "n3", gpus=[]))
    assert [found[name] for name in COLUMNS] == [None] * len(COLUMNS)
    assert found["energy_reason"] == "no monitor data from n2; no monitor data from n3"


def test_a_repetition_that_did_not_complete_has_no_energy_and_needs_no_reason(
    columns: Callable[..., dict[str, Any]],
) -> None:
    found = columns(status="failed", measurements=None)
    assert set(found.values()) == {None}


def test_why_slurm_has_no_number_is_among_the_reasons(
    columns: Callable[..., dict[str, Any]],
) -> None:
    watched = node(told("cpu", "rapl", cpu0=100.0))
    found = columns(watched, energy_slurm_reason="the job measured this 2 times")
    assert found["energy_reason"] == "Slurm: the job measured this 2 times"
    assert found["energy_cpu_j"] == 100.0


@pytest.mark.parametrize(
    ("parts", "parameters", "joules", "scope"),
    [
        ({"cpu": 100.0, "memory": 8.0}, {}, 108.0, "cpu+memory"),
        ({"cpu": 100.0}, {}, 100.0, "cpu"),
        ({"cpu": 100.0, "node": 400.0}, {}, 400.0, "node"),
        ({"memory": 8.0}, {}, None, None),
        ({"cpu": 100.0, "memory": 8.0, "gpu": 300.0}, GPU, 408.0, "cpu+memory+gpu"),
        ({"gpu": 300.0}, GPU, 300.0, "gpu"),
        ({"cpu": 100.0, "memory": 8.0}, GPU, None, None),
        ({"gpu": 300.0}, {}, None, None),
    ],
)
def test_the_energy_of_a_case_has_in_it_what_computes(
    columns: Callable[..., dict[str, Any]], parts: dict[str, float], parameters: Any, joules: float | None, scope: Any
) -> None:
    meters = (told(kind, "source", **{f"{kind}0": value}) for kind, value in parts.items())
    own = ranks("n1", gpus=["GPU A"] if parameters else [])
    found = columns(node(*meters), parameters=parameters, ranks=own)
    assert (found["energy_measured_j"], found["energy_scope"]) == (joules, scope)
    assert found["energy_measured_j_per_item"] == (joules and pytest.approx(joules / 192))
