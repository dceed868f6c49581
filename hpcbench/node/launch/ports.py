"""Ports that two jobs on one node never both get, whoever runs them.

Some frameworks must be told a port before they open it, and in between another job could take it. So every port comes
with a partner, a fixed distance below, which is held from the choice on: who does not hold the partner does not use the
port. Both ranges are below Linux's ephemeral ports (32768 and up), which the kernel gives to anyone.
"""

import socket
from typing import Tuple

FIRST, COUNT = 20000, 6000  # of the partners; the ports themselves follow


def claim(start: int) -> Tuple[socket.socket, int]:
    """Return a free port, looked for from the place `start` in the range; it is ours while the socket is open.

    Raises OSError where none is free.
    """
    for place in range(start, start + COUNT):
        partner = FIRST + place % COUNT
        try:
            held = _bound(partner)
        except OSError:
            continue
        try:
            _bound(partner + COUNT).close()
        except OSError:  # some other program has it
            held.close()
            continue
        return held, partner + COUNT
    raise OSError("no free port from %d to %d" % (FIRST + COUNT, FIRST + 2 * COUNT - 1))


def listen(port: int) -> socket.socket:
    """Return a listening socket. Raises OSError if the port is taken."""
    server = _bound(port)
    server.listen(1024)
    return server


def _bound(port: int) -> socket.socket:
    """Without SO_REUSEADDR: a port on which anything else is bound is refused."""
    bound = socket.socket()
    try:
        bound.bind(("", port))
    except OSError:
        bound.close()
        raise
    return bound
