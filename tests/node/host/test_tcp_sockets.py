"""The bytes of real connections over the loopback interface."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hpcbench.node.host import tcp_sockets
from hpcbench.node.host.tcp_sockets import Traffic, connections, since

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(params=["127.0.0.1", "::1"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    try:
        server = socket.create_server((request.param, 0), family=family)
    except OSError:
        pytest.skip(f"no address {request.param}; not run: its bytes")
    with closing(server), closing(socket.create_connection(server.getsockname()[:2])) as one:
        other, _ = server.accept()
        with closing(other):
            yield one, other


def test_each_connection_has_the_bytes_that_went_through_it(pair: Pair) -> None:
    one, other = pair
    deliver(one, other, 70_000)
    before = of(connections(), one, other)
    deliver(one, other, 100_000)
    deliver(other, one, 3)
    after = of(connections(), one, other)
    assert before[0].sent == before[1].received == 70_000
    assert [tuple(now) for now in after] == [(170_000, 3), (3, 170_000)]


def test_other_sockets_and_files_do_not_count(pair: Pair) -> None:
    known = set(connections() or ())
    left, right = socket.socketpair()
    with closing(left), closing(right), closing(socket.socket(type=socket.SOCK_DGRAM)), Path("/dev/null").open():
        left.sendall(b"over no network")
        assert set(connections() or ()) == known


def test_a_new_connection_counts_from_its_first_byte_and_a_closed_one_no_more() -> None:
    before = {1: Traffic(10, 20), 2: Traffic(5, 5)}
    assert since(before, {1: Traffic(11, 22), 3: Traffic(100, 200)}) == (101, 202)


def test_a_kernel_that_does_not_count_bytes_is_recognized(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_sockets, "_SIZE", 1000)  # more than any kernel has
    assert connections() is None


def deliver(sender: socket.socket, receiver: socket.socket, count: int) -> None:
    sender.setblocking(False)
    rest, missing = bytes(count), count
    while missing:
        if rest:
            rest = rest[sender.send(rest[: 1 << 15]) :]
        missing -= len(receiver.recv(1 << 16))
    sender.setblocking(True)


def of(found: dict[int, Traffic] | None, *sockets: socket.socket) -> list[Traffic]:
    assert found is not None
    return [found[os.fstat(each.fileno()).st_ino] for each in sockets]
