"""Who a process is, from the variables of srun or of the local launcher."""

from __future__ import annotations

import platform
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.launch import ports
from hpcbench.node.launch.ranks import Ranks, first_host, from_environment
from hpcbench.node.launch.rendezvous import CANDIDATES

SRUN = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_CLUSTER_NAME": "big",
    "SLURM_PROCID": "5",
    "SLURMD_NODENAME": "n3",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_NTASKS": "16",
    "SLURM_STEP_NODELIST": "localhost",
    "SLURM_LAUNCH_NODE_IPADDR": "192.0.2.7",
}


LOCAL = {"HPCBENCH_RANK": "1", "HPCBENCH_RANKS": "3", "HPCBENCH_LAUNCHER": "23456"}


def test_srun_says_which_rank_a_process_is_and_on_which_node() -> None:
    found = from_environment(SRUN)
    assert (found.rank, found.size, found.host) == (5, 8, "n3")
    assert found.address == "localhost"
    assert found.bound


def test_the_size_of_the_step_counts_and_not_that_of_the_job() -> None:
    """`srun --ntasks` inside a job may start fewer tasks than the job was given."""
    assert from_environment({**SRUN, "SLURM_NTASKS": "64"}).size == 8


def test_the_size_of_the_job_is_used_where_srun_does_not_tell_that_of_the_step() -> None:
    environment = {name: value for name, value in SRUN.items() if name != "SLURM_STEP_NUM_TASKS"}
    assert from_environment(environment).size == 16


def test_the_local_launcher_says_which_rank_a_process_is() -> None:
    found = from_environment(LOCAL)
    assert (found.rank, found.size, found.address, found.host) == (1, 3, "127.0.0.1", platform.node())
    assert not found.bound


def test_the_local_launcher_counts_more_than_slurm_around_it() -> None:
    """A sweep that runs locally inside an interactive Slurm job still has the ranks that it started itself."""
    assert from_environment({**SRUN, **LOCAL}) == from_environment(LOCAL)._replace(host=SRUN["SLURMD_NODENAME"])


def test_a_node_that_slurm_does_not_name_goes_by_its_own_name() -> None:
    environment = {name: value for name, value in SRUN.items() if name != "SLURMD_NODENAME"}
    assert from_environment(environment).host == platform.node()


@pytest.mark.parametrize(
    "environment",
    [{}, {"PATH": "/bin"}, {"SLURM_JOB_ID": "4711", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}],
    ids=["empty", "ordinary", "a batch script without srun"],
)
def test_without_a_launcher_there_is_one_process(environment: dict[str, str]) -> None:
    assert from_environment(environment) == Ranks(0, 1, host=platform.node())


def test_a_host_that_does_not_resolve_gives_way_to_the_node_that_srun_ran_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert from_environment(SRUN).address == "192.0.2.7"


def test_a_host_name_that_no_resolver_can_encode_gives_way_too() -> None:
    assert from_environment({**SRUN, "SLURM_STEP_NODELIST": "n" * 70 + ".x"}).address == "192.0.2.7"


def test_a_host_that_resolves_is_used_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    assert from_environment({**SRUN, "SLURM_STEP_NODELIST": "gpu[07-12,3]"}).address == "gpu07"


@pytest.mark.parametrize(("environment", "name"), [(SRUN, "SLURM_PROCID"), (LOCAL, "HPCBENCH_RANK")])
def test_all_ranks_of_a_repetition_meet_at_the_same_place(environment: dict[str, str], name: str) -> None:
    ranks = [from_environment({**environment, name: str(rank)}) for rank in range(8)]
    assert len({(each.address, each.meeting, each.token) for each in ranks}) == 1


@pytest.mark.parametrize(
    "change",
    [{"SLURM_JOB_ID": "4712"}, {"SLURM_STEP_ID": "1"}, {"SLURM_CLUSTER_NAME": "other"}],
    ids=["job", "step", "cluster"],
)
def test_what_runs_beside_it_has_another_token(change: dict[str, str]) -> None:
    assert from_environment({**SRUN, **change}).token != from_environment(SRUN).token


def test_two_launchers_on_one_machine_have_tokens_of_their_own() -> None:
    assert from_environment({**LOCAL, "HPCBENCH_LAUNCHER": "23457"}).token != from_environment(LOCAL).token


@given(job=st.integers(1, 2**26), step=st.integers(0, 4), later=st.integers(0, 50), other=st.integers(0, 4))
def test_jobs_and_steps_that_may_run_together_begin_to_look_at_different_ports(
    job: int, step: int, later: int, other: int
) -> None:
    first, second = _first_port(job, step), _first_port(job + later, other)
    assert (first == second) == (later == 0 and step == other)


@given(job=st.integers(1, 2**26), later=st.integers(1, 50))
def test_the_candidates_of_jobs_that_follow_each_other_do_not_overlap(job: int, later: int) -> None:
    distance = (_first_port(job + later, 0) - _first_port(job, 0)) % ports.COUNT
    assert CANDIDATES <= distance <= ports.COUNT - CANDIDATES


def _first_port(job: int, step: int) -> int:
    meeting = from_environment({**SRUN, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)}).meeting
    return ports.FIRST + meeting % ports.COUNT


@pytest.mark.parametrize(
    ("node_list", "host"),
    [
        ("n1", "n1"),
        ("n1,n2", "n1"),
        ("n[3-5,9],m1", "n3"),
        ("n[07-12]", "n07"),
        ("rack[1-2]-n[07-12]", "rack1-n07"),
        ("gpu-a[001,003-004].cluster.example", "gpu-a001.cluster.example"),
        ("a1,b[1-3]", "a1"),
        ("", ""),
    ],
)
def test_the_first_host_of_a_node_list(node_list: str, host: str) -> None:
    assert first_host(node_list) == host


_prefixes = st.from_regex(r"[a-z][a-z0-9-]{0,5}[a-z]", fullmatch=True)


@st.composite
def _groups(draw: st.DrawFn) -> tuple[str, list[str]]:
    """One comma-separated part of a Slurm node list, and the hosts that it stands for, in order."""
    hosts = [draw(_prefixes)]
    text = hosts[0]
    for _ in range(draw(st.integers(0, 2))):
        width = draw(st.integers(1, 3))
        pieces = []
        numbers: list[str] = []
        for _ in range(draw(st.integers(1, 3))):
            low = draw(st.integers(0, 9))
            high = low + draw(st.integers(0, 3))
            pieces.append(f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}")
            numbers += [f"{number:0{width}d}" for number in range(low, high + 1)]
        suffix = draw(st.sampled_from(["", "-x"]))
        text += f"[{','.join(pieces)}]{suffix}"
        hosts = [f"{host}{number}{suffix}" for host in hosts for number in numbers]
    return text, hosts


@given(st.lists(_groups(), min_size=1, max_size=3))
def test_the_first_host_is_that_of_the_expanded_list(groups: list[tuple[str, list[str]]]) -> None:
    assert first_host(",".join(text for text, _ in groups)) == groups[0][1][0]
