"""Ranks that meet over real sockets, as threads or as processes; and those who are none of them."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.errors import RankLost
from hpcbench.node.launch import ports, rendezvous
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import CANDIDATES, Group, Member

Meet = Callable[..., list[Group]]
# Workers of pytest-xdist run at the same time: each has ports of its own.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PLACES = ports.COUNT // (3 * CANDIDATES) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_MEETINGS = (3 * CANDIDATES * (_WORKER * _PLACES + n % _PLACES) for n in itertools.count(os.getpid()))


@pytest.fixture
def meeting() -> int:
    """A place in the ports whose candidates nobody else looks at."""
    while True:
        place = next(_MEETINGS)
        try:
            for port in candidates(place):
                ports.listen(port).close()
        except OSError:
            continue
        return place


@pytest.fixture
def ranks(meeting: int) -> Callable[..., list[Ranks]]:
    def make(size: int, **changes: Any) -> list[Ranks]:
        given = {"meeting": meeting, "token": "ours", "host": "n1", **changes}
        return [Ranks(rank, size, **given) for rank in range(size)]

    return make


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as pool:
        yield pool


@pytest.fixture
def meet(ranks: Callable[..., list[Ranks]], threads: ThreadPoolExecutor) -> Iterator[Meet]:
    """Let ranks meet, each in a thread of its own."""
    groups: list[Group] = []

    def start(size: int, given: list[Ranks] | None = None) -> list[Group]:
        groups.extend(threads.map(lambda each: Group(each, timeout_s=60), given or ranks(size)))
        return groups

    yield start
    for each in groups:
        each.close()


def candidates(meeting: int) -> list[int]:
    return [ports.FIRST + (meeting + place) % ports.COUNT for place in range(CANDIDATES)]


def on_all(threads: ThreadPoolExecutor, groups: list[Group], call: Callable[[Group], Any]) -> list[Any]:
    return list(threads.map(call, groups))


def test_a_rank_alone_talks_to_itself() -> None:
    alone = Group(Ranks(0, 1, host="n1"))
    assert alone.gather({"a": [1, None]}) == [{"a": [1, None]}]
    assert alone.agree(0.25) == 0.25
    assert alone.members == [Member("127.0.0.1", "n1")]
    assert (alone.local_ranks, alone.local_rank) == ([0], 0)
    alone.close()


@pytest.mark.parametrize("size", [2, 3, 9])
def test_every_rank_gathers_the_values_of_all_in_order(meet: Meet, threads: ThreadPoolExecutor, size: int) -> None:
    gathered = on_all(threads, meet(size), lambda each: each.gather({"rank": each.rank, "text": "a\nb\u2028c"}))
    assert gathered == [[{"rank": rank, "text": "a\nb\u2028c"} for rank in range(size)]] * size


def test_all_agree_on_what_rank_0_says(meet: Meet, threads: ThreadPoolExecutor) -> None:
    assert on_all(threads, meet(3), lambda each: each.agree(each.rank + 0.1)) == [0.1] * 3


def test_many_calls_follow_each_other(meet: Meet, threads: ThreadPoolExecutor) -> None:
    def talk(each: Group) -> list[Any]:
        return [each.gather(n * each.rank) if n % 2 else each.agree(n) for n in range(200)]

    said = on_all(threads, meet(3), talk)
    assert said[0] == said[1] == said[2] == [[0, n, 2 * n] if n % 2 else n for n in range(200)]


def test_a_long_value_arrives_whole(meet: Meet, threads: ThreadPoolExecutor) -> None:
    values = on_all(threads, meet(3), lambda each: each.gather(str(each.rank) * 3_000_000))
    assert [{len(value) for value in each} for each in values] == [{3_000_000}] * 3


def test_ranks_know_who_is_on_their_node(ranks: Callable[..., list[Ranks]], meet: Meet) -> None:
    hosts = ["a", "b", "a", "b", "b"]
    groups = meet(5, [each._replace(host=host) for each, host in zip(ranks(5), hosts, strict=True)])
    assert [[member.host for member in each.members] for each in groups] == [hosts] * 5
    assert [each.local_ranks for each in groups] == [[0, 2], [1, 3, 4], [0, 2], [1, 3, 4], [1, 3, 4]]
    assert [each.local_rank for each in groups] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("order", [[1, 2], [2, 1]], ids=["local rank first", "local rank last"])
def test_an_address_of_the_loopback_is_not_told_to_other_nodes(
    ranks: Callable[..., list[Ranks]], threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, order: list[int]
) -> None:
    """On Debian a node's own name stands for 127.0.1.1. Here 127.0.0.2 takes the part of the network's address."""
    monkeypatch.setattr(rendezvous, "is_loopback", lambda address: address == "127.0.0.1")
    given = ranks(3)
    given[2] = given[2]._replace(address="127.0.0.2")
    futures = {0: threads.submit(Group, given[0], 60)}
    for rank in order:
        futures[rank] = threads.submit(Group, given[rank], 60)
        wait_until(lambda: has_come(given[0].meeting))
    for future in futures.values():
        assert [member.address for member in future.result(60).members] == ["127.0.0.2"] * 3
        future.result().close()


def test_ranks_of_one_machine_listen_at_the_loopback_unless_the_user_chose(
    meet: Meet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_USERS_CHOICE", "ib0")
    monkeypatch.setenv("OURS", "")
    monkeypatch.delenv("OURS")
    for each in meet(2):
        each.listen_at_own_address("A_USERS_CHOICE")
        each.listen_at_own_address("OURS")
        assert (os.environ["A_USERS_CHOICE"], os.environ.pop("OURS")) == ("ib0", "lo")


def test_a_rank_listens_at_the_interface_by_which_the_others_reach_it(
    meet: Meet, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone,) = meet(1)
    alone.members = [Member("10.1.2.3", "n1")]
    monkeypatch.setattr(rendezvous.hardware, "interface_of", {"10.1.2.3": "eth1"}.get)
    monkeypatch.delenv("OURS", raising=False)
    alone.listen_at_own_address("OURS")
    assert os.environ.pop("OURS") == "eth1"
    alone.members = [Member("10.9.9.9", "n1")]
    alone.listen_at_own_address("OURS")
    assert "OURS" not in os.environ, "an address of no interface changes nothing"


def has_come(meeting: int) -> bool:
    """Whether a connection to the first candidate stands."""
    ports_of_peers = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    wanted = f":{candidates(meeting)[0]:04X}"
    return any(local.endswith(wanted) and state == "01" for local, _, state in ports_of_peers)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def test_a_rank_that_came_long_before_rank_0_waits_for_it(
    ranks: Callable[..., list[Ranks]], threads: ThreadPoolExecutor
) -> None:
    first, second = ranks(2)
    early = threads.submit(Group, second, 60)
    time.sleep(0.3)
    late = threads.submit(Group, first, 60)
    second_group, first_group = (future.result(60) for future in (early, late))
    with closing(second_group), closing(first_group):
        told = threads.submit(second_group.gather, "second")
        assert first_group.gather("first") == told.result(60) == ["first", "second"]


GARBAGE = {
    "nothing at all": b"",
    "a line of noise": b"\xff\xfe\x00\n",
    "another protocol": b"GET / HTTP/1.1\r\nHost: n1\r\n\r\n",
    "no end of line": b"x" * 10_000,
    "brackets": b"[" * 10_000,
    "a list": b"[1, 2]\n",
    "no rank": b'{"token":"ours"}\n',
    "a rank that there is not": b'{"token":"ours","rank":7}\n',
    "rank 0": b'{"token":"ours","rank":0}\n',
    "a rank in words": b'{"token":"ours","rank":"1"}\n',
    "a wrong token": 2 * b'{"token":"theirs","rank":1}\n',
    "a right hello, and then nothing more": b'{"token":"ours","rank":1}\n',
}


@pytest.mark.parametrize("leaves", [True, False], ids=["who leaves", "who stays"])
@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
def test_a_stranger_is_turned_away_and_the_ranks_meet(
    ranks: Callable[..., list[Ranks]],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    said: bytes,
    leaves: bool,
) -> None:
    monkeypatch.setattr(rendezvous, "HELLO_TIMEOUT_S", 0.3)
    first, second = ranks(2)
    serving = threads.submit(Group, first, 60)
    with ExitStack() as strangers:
        for _ in range(3):
            stranger = strangers.enter_context(knock(first.meeting, serving))
            stranger.sendall(said)
            if leaves:
                stranger.close()
        joining = threads.submit(Group, second, 60)
        values = [threads.submit(future.result(60).gather, rank) for rank, future in enumerate((serving, joining))]
        assert [value.result(60) for value in values] == [[0, 1], [0, 1]]
    serving.result().close()
    joining.result().close()


def knock(meeting: int, serving: Future[Group]) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", candidates(meeting)[0]), timeout=10)
        except ConnectionRefusedError:
            assert not serving.done(), serving.exception()
            time.sleep(0.01)


class Impostor(threading.Thread):
    """Another program on a port where rank 0 could have been: answers every connection with the same words."""

    def __init__(self, port: int, answer: bytes) -> None:
        super().__init__(daemon=True)
        self.server = ports.listen(port)
        self.answer = answer
        self.connections: list[socket.socket] = []
        self.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            self.connections.append(connection)
            connection.sendall(self.answer)

    def __enter__(self) -> Impostor:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for connection in self.connections:
            connection.close()


@pytest.mark.parametrize("answer", [b"", b"220 ready\r\n", b'{"token":"theirs"}\n'], ids=["silent", "words", "token"])
def test_where_a_port_is_taken_the_ranks_meet_on_another(
    meet: Meet, meeting: int, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(rendezvous, "HELLO_TIMEOUT_S", 0.3)
    first, second, *_ = candidates(meeting)
    with Impostor(first, answer), Impostor(second, answer):
        groups = meet(3)
        assert on_all(threads, groups, lambda each: each.gather(each.rank)) == [[0, 1, 2]] * 3


def test_two_jobs_that_look_at_the_same_ports_do_not_mix(
    ranks: Callable[..., list[Ranks]], threads: ThreadPoolExecutor
) -> None:
    futures = {
        token: [threads.submit(Group, each._replace(token=token), 60) for each in ranks(3)]
        for token in ("ours", "theirs", "others")
    }
    for token, members in futures.items():
        groups = [future.result(60) for future in members]
        said = [threads.submit(each.gather, f"{token} {each.rank}") for each in groups]
        assert [each.result(60) for each in said] == [[f"{token} {rank}" for rank in range(3)]] * 3
        for each in groups:
            each.close()


def test_where_all_ports_are_taken_rank_0_says_which(ranks: Callable[..., list[Ranks]], meeting: int) -> None:
    with ExitStack() as taken:
        for port in candidates(meeting):
            taken.enter_context(ports.listen(port))
        first, last = candidates(meeting)[0], candidates(meeting)[-1]
        with pytest.raises(OSError, match=f"rank 0 cannot listen: the ports {first} to {last} are taken"):
            Group(ranks(2)[0], timeout_s=1)


def test_a_rank_that_never_comes_is_named(ranks: Callable[..., list[Ranks]], threads: ThreadPoolExecutor) -> None:
    given = ranks(4)
    joined = threads.submit(Group, given[2], 60)
    with pytest.raises(OSError, match="rank 1, 3 did not connect to rank 0 in time"):
        Group(given[0], timeout_s=2)
    with pytest.raises(RankLost):
        joined.result(60)


def test_a_rank_0_that_never_comes_is_told_with_its_address(ranks: Callable[..., list[Ranks]]) -> None:
    with pytest.raises(OSError, match=r"rank 1 could not connect to rank 0 at 127\.0\.0\.1 in time"):
        Group(ranks(2)[1], timeout_s=0.2)


@pytest.mark.parametrize("gone", [1, 2])
def test_rank_0_names_the_rank_that_has_left_and_the_others_name_rank_0(
    meet: Meet, threads: ThreadPoolExecutor, gone: int
) -> None:
    groups = meet(3)
    other = threads.submit(groups[3 - gone].gather, "here")
    groups[gone].close()
    with pytest.raises(RankLost, match=f"rank {gone} has ended"):
        groups[0].gather("here")
    groups[0].close()
    with pytest.raises(RankLost, match="rank 0 has ended"):
        other.result(60)


# A rank that meets the others, says so, and then gathers for ever.
MEMBER = """
import json, sys
from hpcbench.node.errors import RankLost
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.launch.ranks import Ranks
group = Group(Ranks(**json.loads(sys.argv[1])), timeout_s=60)
print("met", flush=True)
try:
    while True:
        group.gather(group.rank)
except RankLost as error:
    sys.exit(str(error))
"""


@pytest.mark.integration
@pytest.mark.parametrize("dying", [0, 2])
def test_a_rank_that_is_killed_is_noticed_and_named(ranks: Callable[..., list[Ranks]], dying: int) -> None:
    members = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER, json.dumps(each._asdict())],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for each in ranks(3)
    ]
    for member in members:
        assert member.stdout
        assert member.stdout.readline() == "met\n"
    members[dying].kill()
    said = [member.communicate(timeout=60)[1] for member in members]
    assert [member.returncode for member in members] == [-signal.SIGKILL if n == dying else 1 for n in range(3)]
    assert f"rank {dying} has ended" in said[1 if dying == 0 else 0]


def test_the_ranks_of_a_node_claim_different_ports(meet: Meet) -> None:
    groups = meet(4)
    claimed = [each.claim_port() for each in groups for _ in range(2)]
    assert len(set(claimed)) == len(claimed)
    groups[0].close()
    with ports.listen(claimed[0] - ports.COUNT):
        pass


def test_two_jobs_that_began_at_the_same_place_claim_different_ports(ranks: Callable[..., list[Ranks]]) -> None:
    (one,) = ranks(1)
    first, second = Group(one), Group(one)
    claimed = [each.claim_port() for each in (first, second) for _ in range(8)]
    assert len(set(claimed)) == len(claimed)
    first.close()
    second.close()
