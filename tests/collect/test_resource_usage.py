"""What repetitions took and used, from records as the node writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.collect.resource_usage import Charges, used
from hpcbench.collect.table import repetition_table
from hpcbench.config.pricing import Allocation, Price
from hpcbench.core.run_spec import PlannedRun
from hpcbench.report.terminal.usage import use_in_words
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.run_record import run_record
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from tests.collect.test_energy import node, told

MakeRecord = Callable[..., dict[str, Any]]
TIMES = {"started_at": "2026-11-01T00:00:00.000+00:00", "ended_at": "2026-11-01T01:30:00.000+00:00"}
NODE = {"hostname": "n1", "cpu_model": "a CPU", "cpu_count": 48}


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[..., Sweep]:
    """A sweep of one job on a site with these sections."""

    def make(width: int = 1, exclusive: bool = True, **site: Any) -> Sweep:
        cluster = {"name": "cluster", "scheduler": "slurm", **site}
        jobs = {"job-1": {"slurm": {"exclusive": exclusive}, "width": width}}
        return Sweep(Workspace(tmp_path).paths("sweep-1"), {"site": cluster, "jobs": jobs})

    return make


@pytest.fixture
def progress(make_planned: Callable[..., PlannedRun]) -> Callable[..., Progress]:
    """Where a sweep stands whose repetitions have these attempts."""

    def make(sweep: Sweep, *repetitions: list[dict[str, Any]]) -> Progress:
        runs = [RunProgress("job-1", 0, make_planned(), "completed", attempts=tuple(each)) for each in repetitions]
        return Progress(sweep, tuple(runs), ())

    return make


def test_a_repetition_takes_its_part_of_whole_nodes(sweep: Callable[..., Sweep], make_record: MakeRecord) -> None:
    record = make_record(nodes=[NODE])
    assert Charges(sweep()).of("job-1", record).allocation == Allocation(1, 48, 0, True)
    assert Charges(sweep(width=4)).of("job-1", record).allocation == Allocation(0.25, 12, 0, True)
    assert Charges(sweep(exclusive=False)).of("job-1", record).allocation == Allocation(1, 1, 0)
    assert Charges(sweep(width=4, exclusive=False)).of("job-1", record).allocation == Allocation(0.25, 1, 0)


def test_nodes_that_have_not_told_are_as_large_as_the_site_file_says(
    sweep: Callable[..., Sweep], make_record: MakeRecord
) -> None:
    partitions = {"main": {"default": True, "cpus_per_node": 40}}
    of_two = make_record(parameters={"nodes": 2, "strategy": "ddp"}, nodes=[NODE])
    assert Charges(sweep(partitions=partitions)).of("job-1", of_two).allocation == Allocation(2, 80, 0, True)
    assert Charges(sweep()).of("job-1", of_two).allocation.unknown == "the number of CPUs per node"


def test_the_table_has_the_price_of_an_hour_and_what_a_kwh_emits(
    sweep: Callable[..., Sweep], make_record: MakeRecord
) -> None:
    charges = Charges(sweep(cost={"currency": "CHF", "core_hour": 0.5}, carbon={"g_per_kwh": 100.0, "pue": 1.2}))
    record = make_record(nodes=[NODE])
    row = repetition_table([run_record(record, **charges.columns("job-1", record))]).iloc[0]
    assert (row["currency"], row["price_per_hour"], row["price_reason"]) == ("CHF", 24.0, None)
    assert row["co2e_g_per_kwh"] == pytest.approx(120)
    free = Charges(sweep()).columns("job-1", record)
    assert list(free.values()) == [None, None, "the site file has no prices", None]


def test_a_sweep_has_used_all_attempts_also_those_that_do_not_count(
    sweep: Callable[..., Sweep], progress: Callable[..., Progress], make_record: MakeRecord
) -> None:
    """One and a half hours each, of 48 cores."""
    watched = {**node(told("cpu", "rapl", cpu0=3.6e6)), "duration_s": 1800.0}
    best = make_record(
        nodes=[NODE], monitors=[watched], ranks=[{"rank": 0, "host": "n1", "ended_at": "", "gpus": []}], **TIMES
    )
    failed = make_record(status="failed", nodes=[NODE], **TIMES)
    priced = sweep(cost={"core_hour": 0.01}, carbon={"g_per_kwh": 100.0, "pue": 1.5})
    found = used(progress(priced, [failed, best], [best]))
    assert (found.attempts, found.untimed, found.unknown) == (3, 0, None)
    assert (found.node_hours, found.core_hours, found.gpu_hours) == pytest.approx((4.5, 216, 0))
    assert found.price == Price(pytest.approx(2.16))
    assert (found.energy_kwh, found.co2e_g) == pytest.approx((2.0, 300.0))
    assert (found.energy_scopes, found.measured_part) == (("cpu",), pytest.approx(1 / 4.5))
    assert use_in_words(found) == (
        "sweep-1 used 4.5 node-hours (216 core-hours) in 3 attempts, 2.16 EUR; "
        "2 kWh (cpu), 300 g CO2e were measured, for 22.2 % of the node-hours"
    )


def test_records_that_were_made_up_later_do_not_tell_when_it_ended(
    sweep: Callable[..., Sweep], progress: Callable[..., Progress], make_record: MakeRecord
) -> None:
    ran = {
        "attempt": None,
        **TIMES,
        "ranks": [{"rank": 0, "host": "n1", "ended_at": "2026-11-01T00:30:00.000+00:00"}],
        "nodes": [NODE],
    }
    lost = {"attempt": None, **TIMES, "ranks": [], "nodes": []}
    never = {**lost, "error": {"type": "job", "message": "cancelled before it started", "last_lines": []}}
    records = [make_record(status="failed", **each) for each in (ran, lost, never)]
    found = used(progress(sweep(), records))
    assert (found.node_hours, found.attempts, found.untimed) == (0.5, 2, 1)
    assert found.unknown is None, "what never ran took nothing"
    assert use_in_words(found) == (
        "sweep-1 used 0.5 node-hours (24 core-hours) in 2 attempts; 1 more without times are not included"
    )


def test_a_site_without_prices_has_no_price_of_nothing(
    sweep: Callable[..., Sweep], progress: Callable[..., Progress], make_record: MakeRecord
) -> None:
    gave_up = make_record(status="failed", attempt=None, **TIMES, ranks=[], nodes=[])
    said = use_in_words(used(progress(sweep(), [gave_up])))
    assert said.startswith("sweep-1 used 0 node-hours (0 core-hours) in 0 attempts; 1 more")


def test_a_price_that_is_not_known_is_told_where_the_site_has_others(
    sweep: Callable[..., Sweep], progress: Callable[..., Progress], make_record: MakeRecord
) -> None:
    gpu = make_record(parameters={"device": "gpu", "gpus_per_task": 1}, **TIMES)
    found = used(progress(sweep(exclusive=False, cost={"core_hour": 0.01}), [gpu]))
    assert (found.gpu_hours, found.price.amount) == (1.5, None)
    assert use_in_words(found) == (
        "sweep-1 used 1.5 node-hours (1.5 core-hours, 1.5 GPU-hours) in 1 attempt; "
        "its price is unknown: the job uses GPUs, and cost.gpu_hour is not set"
    )
