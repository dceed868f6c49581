"""Claims on ports, by real sockets and real processes."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

import pytest

from hpcbench.node.launch import ports

LOWEST, HIGHEST = ports.FIRST, ports.FIRST + 2 * ports.COUNT  # of all ports that hpcbench uses

# A process that claims ports, says which, and holds them until it is told to end.
CLAIMANT = """
import sys
from hpcbench.node.launch import ports
start, count, ports.FIRST, ports.COUNT = (int(word) for word in sys.argv[1:])
claims = [ports.claim(start) for _ in range(count)]
print(*(port for _, port in claims), flush=True)
sys.stdin.read()
"""


class Claimant:
    def __init__(self, start: int, count: int) -> None:
        numbers = [str(number) for number in (start, count, ports.FIRST, ports.COUNT)]
        words = [sys.executable, "-c", CLAIMANT, *numbers]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ports(self) -> list[int]:
        assert self.process.stdout
        return [int(port) for port in self.process.stdout.readline().split()]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Claimant:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@pytest.fixture(autouse=True)
def _own_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports below those of hpcbench, because other tests claim and release ports at the same time."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    monkeypatch.setattr(ports, "COUNT", 300)
    monkeypatch.setattr(ports, "FIRST", 10000 + 600 * (worker % 16))


@pytest.fixture
def free() -> int:
    """A place in the range whose port and partner nobody holds, as it stands in a claim."""
    held, port = ports.claim(random.randrange(ports.COUNT))
    held.close()
    return port - ports.FIRST - ports.COUNT


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> range:
    """A range of three ports and three partners, all free: the ports."""
    while True:
        first = random.randrange(ports.FIRST, ports.FIRST + ports.COUNT)
        with suppress(OSError), ExitStack() as row:
            for port in range(first, first + 6):
                row.enter_context(listening(port))
            break
    monkeypatch.setattr(ports, "FIRST", first)
    monkeypatch.setattr(ports, "COUNT", 3)
    return range(first + 3, first + 6)


def listening(port: int, address: str = "", reuse: bool = False) -> socket.socket:
    """A port that some other program has."""
    server = socket.socket()
    if reuse:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    server.listen()
    return server


def test_a_claim_is_a_port_that_can_be_listened_on(free: int) -> None:
    held, port = ports.claim(free)
    with held, listening(port):
        assert port == ports.FIRST + ports.COUNT + free


def test_claims_of_one_process_exclude_each_other(free: int) -> None:
    with ExitStack() as claims:
        found = []
        for _ in range(5):
            held, port = ports.claim(free)
            claims.enter_context(held)
            found.append(port)
        assert len(set(found)) == 5


def test_claims_of_two_processes_exclude_each_other(free: int) -> None:
    with Claimant(free, 1) as other:
        (theirs,) = other.ports()
        held, ours = ports.claim(free)
        held.close()
        assert ours != theirs


def test_a_port_that_was_claimed_and_opened_stays_the_claimants(free: int) -> None:
    held, port = ports.claim(free)
    with held, listening(port), Claimant(free, 1) as other:
        assert other.ports() != [port]


def test_a_claim_ends_with_its_process(free: int) -> None:
    with Claimant(free, 1) as other:
        (theirs,) = other.ports()
        other.kill()
        held, ours = ports.claim(free)
        held.close()
        assert ours == theirs


@pytest.mark.integration
def test_jobs_that_look_from_the_same_place_at_once_never_get_the_same_port(free: int) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(Claimant(free, 25)) for _ in range(8)]
        found = [port for other in others for port in other.ports()]
        assert len(found) == 8 * 25
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("address", ["", "127.0.0.1"], ids=["everywhere", "on the loopback"])
@pytest.mark.parametrize("reuse", [False, True], ids=["plain", "with SO_REUSEADDR"])
@pytest.mark.parametrize("whose", ["port", "partner"])
def test_what_another_program_holds_is_passed_over(free: int, address: str, reuse: bool, whose: str) -> None:
    taken = ports.FIRST + free + (ports.COUNT if whose == "port" else 0)
    with listening(taken, address, reuse):
        held, port = ports.claim(free)
        held.close()
        assert port != ports.FIRST + ports.COUNT + free


def test_a_partner_of_a_port_that_was_passed_over_is_let_go(free: int) -> None:
    with listening(ports.FIRST + ports.COUNT + free):
        ports.claim(free)[0].close()
        with listening(ports.FIRST + free) as partner:
            assert partner.getsockname()[1] == ports.FIRST + free


def test_where_no_port_is_free_the_range_is_named(few: range) -> None:
    with ExitStack() as claims:
        for _ in few:
            claims.enter_context(ports.claim(0)[0])
        with pytest.raises(OSError, match=f"no free port from {few[0]} to {few[-1]}"):
            ports.claim(0)


@pytest.mark.parametrize("start", [0, 299, 300, 10**9])
def test_any_place_to_start_from_leads_into_the_range(start: int) -> None:
    held, port = ports.claim(start)
    held.close()
    assert ports.FIRST + ports.COUNT <= port < ports.FIRST + 2 * ports.COUNT


def test_ports_lie_below_those_that_linux_gives_to_anyone_and_above_those_of_services() -> None:
    assert LOWEST > 10000
    assert HIGHEST <= 32768


def test_a_port_that_is_listened_on_cannot_be_listened_on_again(free: int) -> None:
    with ports.listen(ports.FIRST + free), pytest.raises(OSError, match="in use"):
        ports.listen(ports.FIRST + free)
