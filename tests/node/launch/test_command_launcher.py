"""The words that start the processes of a command; torchrun and mpirun themselves run in tests/cluster."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.launch import command_launcher, rendezvous
from hpcbench.node.launch.ranks import Ranks

SHELL = ["bash", "-e", "-o", "pipefail", "-c", "python train.py"]


@pytest.fixture
def planned(make_planned: Callable[..., PlannedRun]) -> Callable[..., PlannedRun]:
    def make(launch: str, **parameters: Any) -> PlannedRun:
        given = {"framework": "command", "model": None, "command": "python train.py", **parameters}
        return make_planned(**given, launch=launch)

    return make


@pytest.mark.parametrize("launch", ["srun", "none"])
def test_without_a_launcher_the_shell_runs_the_command(launch: str, planned: Callable[..., PlannedRun]) -> None:
    with command_launcher.words(planned(launch, nodes=2), Ranks(0, 1), "") as words:
        assert words == SHELL


def test_mpirun_starts_all_tasks_with_the_arguments_of_the_site(planned: Callable[..., PlannedRun]) -> None:
    run = planned("mpirun", nodes=2, tasks_per_node=3)
    assert (run.tasks, run.supervised, run.ranks) == (6, 1, 1)
    with command_launcher.words(run, Ranks(0, 1), "mpirun --bind-to core") as words:
        assert words == ["mpirun", "--bind-to", "core", "-n", "6", *SHELL]


def test_torchrun_on_two_nodes_meets_at_one_free_port_of_the_first(planned: Callable[..., PlannedRun]) -> None:
    run = planned("torchrun", nodes=2, tasks_per_node=4)
    assert (run.tasks, run.supervised, run.ranks) == (8, 2, 2)
    found: dict[int, list[str]] = {}

    def node(rank: int) -> None:
        ranks = Ranks(rank, 2, meeting=4242, token="a test", host=f"n{rank}")  # noqa: S106 - no password
        with command_launcher.words(run, ranks, "torchrun --max-restarts 0") as words:
            found[rank] = words
            port = int(words[7].partition("=")[2])
            with socket.create_server(("127.0.0.1", port)) if rank == 0 else socket.socket():
                pass  # the port is free for torchrun, and reserved until the command has ended

    nodes = [threading.Thread(target=node, args=(rank,)) for rank in (0, 1)]
    for each in nodes:
        each.start()
    for each in nodes:
        each.join()
    assert found[0][:6] == ["torchrun", "--max-restarts", "0", "--nnodes=2", "--nproc-per-node=4", "--node-rank=0"]
    assert found[1][5] == "--node-rank=1"
    assert found[0][6:8] == found[1][6:8]
    assert found[0][6] == "--master-addr=127.0.0.1"
    assert found[0][8:] == ["--no-python", *SHELL]


def test_nodes_that_do_not_meet_are_an_error_with_the_reason(
    planned: Callable[..., PlannedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = Ranks(0, 2, meeting=77, token="a test")  # noqa: S106 - no password
    monkeypatch.setattr(rendezvous.Group.__init__, "__defaults__", (0.1,))
    with (
        pytest.raises(command_launcher.NotLaunched, match="rank 1 did not connect to rank 0 in time"),
        command_launcher.words(planned("torchrun", nodes=2), alone, "torchrun"),
    ):
        pass
