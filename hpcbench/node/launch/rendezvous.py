"""Connect the ranks of a run over TCP, before and independently of any framework.

Rank 0 listens, and the others connect. They exchange small values: the port of a framework, the number of steps, a
checksum of the weights. A message is one line of JSON.
"""

import json
import os
import socket
import time
from typing import Any, BinaryIO, List, NamedTuple, Optional, cast

from ..errors import RankLost
from ..host import hardware
from . import ports
from .ranks import Ranks

CANDIDATES = 16  # ports that rank 0 tries
MEETING_TIMEOUT_S = 300.0  # one node may get its container image long before another
HELLO_TIMEOUT_S = 5.0
LONGEST_HELLO = 500  # bytes; json raises RecursionError for more than a thousand brackets
RETRY_S = 0.05


_NO_HELLO = (OSError, ValueError, KeyError, TypeError)  # from another program, or without a reply


class Member(NamedTuple):
    """The address and the host of one rank."""

    address: str
    host: str


class Group:
    """The connected ranks of a run. All ranks must make the same calls in the same order."""

    def __init__(self, ranks: Ranks, timeout_s: float = MEETING_TIMEOUT_S) -> None:
        """Connect the ranks. Raise OSError if they do not connect within `timeout_s` seconds."""
        self.rank = ranks.rank
        self.size = ranks.size
        self.bound = ranks.bound
        self._ranks = ranks
        self._lines: List[BinaryIO] = []  # on rank 0: to ranks 1, 2, ...; on the others: to rank 0
        self._claims: List[socket.socket] = []
        own = "127.0.0.1"
        if self.size > 1:
            meet = self._serve if self.rank == 0 else self._join
            own = meet(time.monotonic() + timeout_s)
        members = [Member(*member) for member in self.gather((own, ranks.host))]
        # A rank that connects over the loopback is on rank 0's node; elsewhere that address would mean another machine.
        leader = members[0].address
        self.members = [m._replace(address=leader) if is_loopback(m.address) else m for m in members]

    @property
    def local_ranks(self) -> List[int]:
        """Return the ranks on this node, including this one."""
        host = self.members[self.rank].host
        return [rank for rank, member in enumerate(self.members) if member.host == host]

    @property
    def local_rank(self) -> int:
        return self.local_ranks.index(self.rank)

    def gather(self, value: Any) -> List[Any]:
        """Return the `value` of every rank, by rank. Raise RankLost if a rank has ended."""
        if self.rank == 0:
            values = [value] + [self._receive(rank) for rank in range(1, self.size)]
            self._send_all(values)
            return values
        self._send(0, value)
        received: List[Any] = self._receive(0)
        return received

    def agree(self, value: Any) -> Any:
        """Return rank 0's `value` on every rank. Raise RankLost if a rank has ended."""
        if self.rank == 0:
            self._send_all(value)
            return value
        return self._receive(0)

    def claim_port(self) -> int:
        """Return a port of this node for the framework to listen on, reserved until the group is closed."""
        held, port = ports.claim(self._ranks.meeting + 7 * self.rank + CANDIDATES)
        self._claims.append(held)
        return port

    def reach_without_proxy(self) -> None:
        """Exclude the ranks' addresses from gRPC's proxy: a site's web proxy may not reach its nodes."""
        os.environ["no_grpc_proxy"] = ",".join(member.address for member in self.members)  # noqa: SIM112 - its own name

    def listen_at_own_address(self, variable: str) -> None:
        """Set `variable` to the network interface of this rank, unless the user has set it.

        Otherwise Gloo listens at the address of the host name, which may be a loopback address that no other node
        reaches.
        """
        interface = hardware.interface_of(self.members[self.rank].address)
        if interface:
            os.environ.setdefault(variable, interface)

    def close(self) -> None:
        for line in self._lines:
            line.close()
        for claim in self._claims:
            claim.close()

    def _serve(self, deadline: float) -> str:
        """Accept the connections of all other ranks; return the address at which they have reached this one."""
        server = _first_free(self._candidates())
        lines: List[Optional[BinaryIO]] = [None] * (self.size - 1)
        address = ""
        with server:
            while None in lines:
                server.settimeout(max(0.01, deadline - time.monotonic()))
                try:
                    connection, _ = server.accept()
                except socket.timeout:
                    missing = ", ".join(str(rank) for rank, line in enumerate(lines, 1) if line is None)
                    raise OSError("rank %s did not connect to rank 0 in time" % missing) from None
                rank = self._welcome(connection)
                if rank:
                    reached = connection.getsockname()[0]
                    address = address if address and is_loopback(reached) else reached
                    lines[rank - 1] = _stream(connection)
        self._lines = [line for line in lines if line]
        return address

    def _welcome(self, connection: socket.socket) -> int:
        """Return the rank that has connected; 0 for another program, whose connection is closed."""
        try:
            hello = _first_line(connection)
            if hello["token"] != self._ranks.token or not 0 < hello["rank"] < self.size:
                raise ValueError(hello)
            connection.sendall(_line({"token": self._ranks.token}))
            if _first_line(connection) != hello:  # the rank may have timed out after its first hello
                raise ValueError(hello)
        except _NO_HELLO:
            connection.close()
            return 0
        rank: int = hello["rank"]
        return rank

    def _join(self, deadline: float) -> str:
        """Connect to rank 0; return this rank's own address on that connection."""
        while True:
            for port in self._candidates():
                connection = self._knock(port)
                if connection:
                    self._lines = [_stream(connection)]
                    return str(connection.getsockname()[0])
            if time.monotonic() > deadline:
                raise OSError("rank %d could not connect to rank 0 at %s in time" % (self.rank, self._ranks.address))
            time.sleep(RETRY_S)

    def _knock(self, port: int) -> Optional[socket.socket]:
        """Return a connection to rank 0; None if something else listens on the port, or nothing."""
        try:
            connection = socket.create_connection((self._ranks.address, port), timeout=HELLO_TIMEOUT_S)
        except OSError:
            return None
        hello = _line({"token": self._ranks.token, "rank": self.rank})
        try:
            connection.sendall(hello)
            if _first_line(connection)["token"] == self._ranks.token:
                connection.sendall(hello)
                return connection
        except _NO_HELLO:
            pass
        connection.close()
        return None

    def _candidates(self) -> List[int]:
        return [ports.FIRST + (self._ranks.meeting + place) % ports.COUNT for place in range(CANDIDATES)]

    def _send_all(self, value: Any) -> None:
        for rank in range(1, self.size):
            self._send(rank, value)

    def _send(self, rank: int, value: Any) -> None:
        stream = self._lines[max(0, rank - 1)]
        try:
            stream.write(_line(value))
            stream.flush()
        except OSError as error:
            raise RankLost("rank %d has ended" % rank) from error

    def _receive(self, rank: int) -> Any:
        try:
            line = self._lines[max(0, rank - 1)].readline()
        except OSError as error:
            raise RankLost("rank %d has ended" % rank) from error
        if not line:
            raise RankLost("rank %d has ended" % rank)
        return json.loads(line)


def _first_free(candidates: List[int]) -> socket.socket:
    for port in candidates:
        try:
            return ports.listen(port)
        except OSError:
            continue
    raise OSError("rank 0 cannot listen: the ports %d to %d are taken" % (candidates[0], candidates[-1]))


def _stream(connection: socket.socket) -> BinaryIO:
    """Return a connection as a stream without a timeout: a rank may compile for long. Keepalive detects a lost one."""
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    stream: Any = connection.makefile("rwb")
    return cast(BinaryIO, stream)


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _first_line(connection: socket.socket) -> Any:
    """Return the value in the next line, without reading beyond it. Raise one of _NO_HELLO."""
    deadline = time.monotonic() + HELLO_TIMEOUT_S
    received = b""
    while not received.endswith(b"\n") and len(received) < LONGEST_HELLO:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        byte = connection.recv(1)
        if not byte:
            break
        received += byte
    return json.loads(received)


def is_loopback(address: str) -> bool:
    return address.startswith("127.")
