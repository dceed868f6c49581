"""The search for the best threads of a network that PyTorch runs, and a schedule that a sweep follows."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

pytestmark = pytest.mark.torch

CPUS = min(2, len(os.sched_getaffinity(0)))
OPTIONS = {"input_size": 32, "hidden_size": 64, "layers": 2}
PARAMETERS = {"model_options": OPTIONS, "task": "inference", "cpus_per_task": CPUS}
MEASURE = {"max_warmup_s": 0.1, "max_time_s": 0.3, "repetitions": 2}


def test_the_best_threads_of_a_network_are_found_and_told(command_line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    experiment = command_line.experiment(
        parameters=PARAMETERS,
        matrix={"threads": ["none", "fixed", "dynamic"], "intra_op_threads": [None, *range(1, CPUS + 1)]},
        exclude=["{{ (intra_op_threads is none) == (threads == 'fixed') }}"],
        tune={"held_out": [{"batch_size": 4}]},
        measure=MEASURE,
    )
    done = command_line("tune", experiment, "--site", command_line.site(), "--name", "found")
    told = done.stdout.splitlines()
    assert told[0] == "pytorch mlp inference cpu float32, batch size 32"
    assert told[1].startswith(("  best       ", "  keep  "))
    for label in ("gain", "beats", "per layer", "measuring"):
        assert [line for line in told if line.startswith(f"  {label:10} ")], label
    (finding,) = json.loads((command_line.workspace / "results" / "found" / "tuning.json").read_text())
    assert finding["failed"] == []
    assert finding["settings"] == 1 + CPUS
    _check_best(finding["answer"], told, command_line.records())
    _check_sections(finding["by_section"], command_line.records())
    reported = command_line("report", "latest").stdout.splitlines()
    assert reported[1 : 1 + len(told)] == told
    assert "threads by mode" not in reported


def _check_best(answer: dict[str, Any], told: list[str], records: list[dict[str, Any]]) -> None:
    """What is to be set outside hpcbench is what its runs had."""
    threads = answer["best"]["parameters"]["intra_op_threads"]
    record = next(each for each in records if each["case_id"] == answer["best"]["case"])
    assert answer["certain"] is (threads is not None)
    if threads is None:
        assert "  outside hpcbench:" not in told
        return
    assert record["threads"]["intra_op"] == threads
    assert record["environment"]["OMP_NUM_THREADS"] == str(threads)
    assert told[-2:] == [
        f"    env OMP_NUM_THREADS={threads} python your_program.py",
        f"    in the program, before its first operation: torch.set_num_threads({threads})",
    ]


def _check_sections(by_section: dict[str, Any], records: list[dict[str, Any]]) -> None:
    """Either a schedule stood beside the best fixed setting, or the reason why there is none is that of the record."""
    searched = [each for each in records if each["dynamic"] and each["parameters"]["schedule"] is None]
    assert [each["status"] for each in searched] == ["completed"]
    if by_section["schedule"] is None:
        assert by_section["why"] == searched[0]["dynamic"]["why"]
    else:
        assert by_section["gain"]["estimate"] > 0
    assert len(by_section["held_out"]) + by_section["held_out_left"] == 1


def test_a_sweep_follows_a_schedule_of_the_workspace(command_line: Any) -> None:
    schedule = {"schema": 1, "setter": "torch.set_num_threads", "made_for": {}, **_sections(CPUS)}
    (command_line.workspace / "schedule.json").write_text(json.dumps(schedule))
    experiment = command_line.experiment(parameters={**PARAMETERS, "threads": "dynamic", "schedule": "schedule.json"})
    command_line("sweep", experiment, "--site", command_line.site())
    (record,) = command_line.records()
    assert record["status"] == "completed"
    assert record["dynamic"]["answer"] == "schedule"
    assert record["dynamic"]["schedule"] == schedule
    assert record["threads"]["intra_op"] == CPUS
    assert record["threads"]["by"] == "torch.set_num_threads, by layer group"


def _sections(most: int) -> dict[str, Any]:
    """The first linear layer with all threads, the last with one."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: a sweep that follows a schedule")

    from hpcbench.node.frameworks import load
    from hpcbench.node.thread_schedule import fingerprint

    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp", **PARAMETERS}).planned()
    model = load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1)))).model
    first, *_, last = (path for path, module in model.named_modules() if isinstance(module, torch.nn.Linear))
    counts = ((first, most), (last, 1))
    sections = [{"module": path, "phase": "forward", "threads": count, "branches": None} for path, count in counts]
    return {"fingerprint": fingerprint(model), "sections": sections}
