"""What a program records with the probe, as hpcbench reads it."""

from __future__ import annotations

import copy
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hpcbench_probe import Probe, ProbeError, recorder

from hpcbench.node.results.probe_files import ProbedProcess, read_all

PROBE = Path(__file__).parents[2] / "probe"


def test_each_iteration_is_a_step_that_includes_getting_the_batch(
    probe: Probe, recorded: Callable[[], ProbedProcess]
) -> None:
    def loader() -> Iterator[str]:
        for batch in ("a", "bb", "cccc"):
            time.sleep(0.02)
            yield batch

    before = time.monotonic()
    for batch in probe(loader(), items=len):
        probe.log(length=len(batch))
    after = time.monotonic()
    found = recorded()
    assert found.items.tolist() == [1, 2, 4]
    assert before < found.starts[0] < found.ends[0] <= found.starts[1] < found.ends[2] < after
    assert [step for step, _ in found.phases["data"]] == [0, 1, 2]
    for (_, waited), start, end in zip(found.phases["data"], found.starts, found.ends, strict=True):
        assert 0.02 <= waited <= end - start
    assert list(found.logs["length"]) == [(0, 1.0), (1, 2.0), (2, 4.0)]


def test_blocks_are_steps_with_phases(probe: Probe, recorded: Callable[[], ProbedProcess]) -> None:
    for _ in range(2):
        with probe.step(items=8):
            with probe.phase("forward"):
                time.sleep(0.01)
            for _ in range(2):
                with probe.phase("backward"):
                    pass
    found = recorded()
    assert found.items.tolist() == [8, 8]
    assert [step for step, _ in found.phases["forward"]] == [0, 1]
    assert [step for step, _ in found.phases["backward"]] == [0, 0, 1, 1]
    assert all(seconds >= 0.01 for _, seconds in found.phases["forward"])
    assert found.ends[0] <= found.starts[1]


def test_a_second_loop_continues_the_first(probe: Probe, recorded: Callable[[], ProbedProcess]) -> None:
    for epoch in range(2):
        for _ in probe([0, 1, 2], items=4):
            pass
        probe.log(epoch=epoch)
    found = recorded()
    assert len(found.ends) == 6
    assert list(found.logs["epoch"]) == [(3, 0.0), (6, 1.0)]


def test_a_step_that_does_not_end_is_not_recorded(probe: Probe, recorded: Callable[[], ProbedProcess]) -> None:
    for batch in probe(range(9)):
        if batch == 2:
            break
    with pytest.raises(KeyError), probe.step():
        raise KeyError
    with probe.step():
        pass
    assert len(recorded().ends) == 3


def test_a_step_inside_another_one_is_an_error(probe: Probe) -> None:
    with probe.step(), pytest.raises(ProbeError, match="a step is inside another step"), probe.step():
        pass
    for _ in probe([1]):
        with pytest.raises(ProbeError, match="one loop at a time"):
            list(probe([2]))


def test_a_phase_outside_a_step_is_an_error(probe: Probe) -> None:
    with pytest.raises(ProbeError, match="phase 'forward' is outside a step"), probe.phase("forward"):
        pass


def test_a_discarded_step_leaves_no_phases(probe: Probe, recorded: Callable[[], ProbedProcess]) -> None:
    for _ in range(2):
        for _ in probe([1, 2]):
            with probe.phase("forward"):
                pass
            break
    with probe.step(), probe.phase("forward"):
        pass
    assert [step for step, _ in recorded().phases["forward"]] == [0]


def test_a_loop_has_the_attributes_of_its_loader(probe: Probe) -> None:
    loader = SimpleNamespace(dataset=[1, 2], batch_size=4)
    assert probe(loader).dataset == [1, 2]  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        probe(loader).no_such  # type: ignore[attr-defined]  # noqa: B018
    copy.copy(probe(loader))


def test_an_iterator_stays_one(probe: Probe, recorded: Callable[[], ProbedProcess]) -> None:
    batches = probe(iter("abc"))
    assert [next(batches), next(batches)] == ["a", "b"]  # type: ignore[call-overload]
    assert list(batches) == ["c"]
    assert len(recorded().ends) == 3


def test_a_loop_has_the_length_of_its_loader(probe: Probe) -> None:
    assert len(probe([1, 2, 3])) == 3  # type: ignore[arg-type]


def test_the_devices_of_imported_frameworks_are_waited_for_on_request_with_fake_frameworks(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []
    cuda = SimpleNamespace(is_initialized=lambda: True, synchronize=lambda: waited.append("torch"))
    jax = SimpleNamespace(live_arrays=lambda: [1], block_until_ready=lambda arrays: waited.append(f"jax {arrays}"))
    synced = SimpleNamespace(sync_devices=lambda: waited.append("tensorflow"))
    tensorflow = SimpleNamespace(test=SimpleNamespace(experimental=synced))
    fakes = {"torch": SimpleNamespace(cuda=cuda), "jax": jax, "tensorflow": tensorflow}
    for name, module in fakes.items():
        monkeypatch.setitem(sys.modules, name, module)
    with probe.step(), probe.phase("forward"):
        pass
    assert waited == []
    with probe.step(synchronize=True), probe.phase("forward"):
        pass
    assert waited == ["torch", "jax [1]", "tensorflow"] * 2
    for _ in probe([1], synchronize=True):
        del waited[:]
    assert waited == ["torch", "jax [1]", "tensorflow"]


def test_steps_are_written_while_the_program_runs(probe: Probe, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FLUSH_S", 0.0)
    probe.flush()
    for batch in probe(range(5)):
        if batch == 3:
            (process,), _ = read_all(str(scratch))
            assert len(process.ends) == 3


def test_values_without_float_conversion_are_an_error(probe: Probe) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        probe.log(loss="low")


def test_values_that_are_not_finite_are_recorded(probe: Probe, recorded: Callable[[], ProbedProcess]) -> None:
    with probe.step():
        probe.log(loss=math.nan)
    assert [math.isnan(value) for _, value in recorded().logs["loss"]] == [True]


def test_the_rank_is_that_of_the_launcher(
    probe: Probe, recorded: Callable[[], ProbedProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("RANK", "3")  # of torchrun, which one task of Slurm starts
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    with probe.step():
        pass
    assert (recorded().rank, recorded().ranks, recorded().host) == (3, 8, "n7")


def test_a_full_disk_costs_steps_and_not_the_training(
    probe: Probe, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (scratch / "run" / ".hpcbench_probe").write_text("a file is where the folder should be")
    for _ in probe(range(3)):
        pass
    assert capsys.readouterr().err.startswith("hpcbench_probe: warning: steps not recorded: ")


def test_steps_are_written_after_room_is_made_on_a_full_disk(
    probe: Probe, recorded: Callable[[], ProbedProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in probe(range(3)):
        pass
    size = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, size[1]))
    try:
        for _ in range(2):
            for _ in probe(range(30)):
                probe.log(loss=1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, size)
        signal.signal(signal.SIGXFSZ, before)
    assert capsys.readouterr().err.count("steps not recorded") == 1
    found = recorded()
    assert len(found.ends) == 63
    assert [step for step, _ in found.logs["loss"]] == list(range(3, 63))


def test_outside_hpcbench_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HPCBENCH_RUN", raising=False)
    probe, loader = Probe(), [1, 2]
    assert not probe.active
    assert probe(loader, items=4) is loader
    with probe.step(items=1), probe.step(), probe.phase("a"):
        probe.log(loss="text")
    probe.flush()


FORKS = """
import os, sys
from hpcbench_probe import probe

helper = False
for batch in probe(range(4), items=1):
    if batch == 1:
        helper = os.fork() == 0
    if helper and batch == 1:
        list(probe(range(7)))
if not helper and os.fork() == 0:
    list(probe(range(6), items=1))
"""
WORKERS = """
import multiprocessing
from hpcbench_probe import probe

def train(rank):
    for _ in range(3):
        with probe.step(items=2):
            pass

workers = [multiprocessing.get_context("fork").Process(target=train, args=(rank,)) for rank in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
"""


@pytest.fixture
def run(scratch: Path) -> Callable[[str], list[ProbedProcess]]:
    def recorded_by(program: str) -> list[ProbedProcess]:
        environment = {"HPCBENCH_RUN": str(scratch / "run"), "PYTHONPATH": str(PROBE)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        found, refused = read_all(str(scratch))
        assert refused == []
        return found

    return recorded_by


@pytest.mark.integration
def test_a_child_of_a_step_records_nothing_and_another_child_its_own_steps(
    run: Callable[[str], list[ProbedProcess]],
) -> None:
    assert sorted(len(process.ends) for process in run(FORKS)) == [4, 6]


@pytest.mark.integration
def test_a_probe_without_steps_leaves_a_file(run: Callable[[str], list[ProbedProcess]]) -> None:
    """hpcbench reports programs that use the probe without steps. An import is not a use."""
    assert run("from hpcbench_probe import probe") == []
    (process,) = run("from hpcbench_probe import probe\nprobe.step(items=4)")
    assert (len(process.ends), process.rank) == (0, None)


@pytest.mark.integration
def test_forked_workers_record_their_own_steps(run: Callable[[str], list[ProbedProcess]]) -> None:
    assert [(len(process.ends), process.items.tolist()) for process in run(WORKERS)] == [(3, [2, 2, 2])] * 2


def test_many_short_steps_do_not_stay_in_memory(
    probe: Probe, recorded: Callable[[], ProbedProcess], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MANY", 4)
    for batch in probe(range(10), items=1):
        with probe.phase("forward"):
            probe.log(batch=batch)
    (file,) = (scratch / "run" / ".hpcbench_probe").iterdir()
    assert sum('"steps"' in line for line in file.read_text().splitlines()) == 4  # 1, 4, 4, 1
    assert [step for step, _ in recorded().phases["forward"]] == list(range(10))
    assert list(recorded().logs["batch"]) == [(batch, float(batch)) for batch in range(10)]


def test_items_that_are_not_numbers_are_an_error_at_once(probe: Probe) -> None:
    with pytest.raises(ValueError, match="items must be a finite number, 0 or greater, not 'many'"):
        list(probe([1], items=lambda _: "many"))  # type: ignore[arg-type, return-value]
    items: Any
    for items in ([64], "64", -3, math.nan, math.inf):
        with pytest.raises(ValueError, match="items must be a finite number"):
            probe([1], items=items)
        with pytest.raises(ValueError, match="items must be a finite number"):
            probe.step(items=items)


def test_a_flush_inside_a_step_does_not_write_phases_that_may_be_discarded(
    probe: Probe, recorded: Callable[[], ProbedProcess]
) -> None:
    for batch in probe([1, 2, 3]):
        with probe.phase("forward"):
            time.sleep(0.01)
        probe.flush()
        if batch == 2:
            break
    with probe.step(), probe.phase("forward"):
        probe.flush()
    found = recorded()
    assert [step for step, _ in found.phases["forward"]] == [0, 1]
    assert len(found.ends) == 2


def test_each_file_begins_with_format_and_byte_order(probe: Probe, scratch: Path) -> None:
    with probe.step():
        pass
    probe.flush()
    (file,) = (scratch / "run" / ".hpcbench_probe").iterdir()
    head: dict[str, Any] = json.loads(file.read_text().splitlines()[0])
    assert head["format"] == recorder.FORMAT
    assert head["byteorder"] == sys.byteorder
    assert file.name.split("-")[-2] == str(os.getpid())
