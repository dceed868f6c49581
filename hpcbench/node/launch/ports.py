"""Ports that two jobs on one node never both get, even if their users differ.

Some frameworks need a port number before they open the port, and another job could take it in between. Therefore every
port has a partner at a fixed distance below, which is held from the choice on: a process without the partner does not
use the port. Both ranges are below Linux's ephemeral ports (32768 and up), which the kernel assigns to any program.
"""

import socket
from typing import Tuple

FIRST, COUNT = 20000, 6000  # of the partners; the ports themselves follow


def claim(start: int) -> Tuple[socket.socket, int]:
    """Return a socket that reserves a free port while it is open, and the port. The search starts at place `start`.

    Raise OSError if no port is free.
    """
    for place in range(start, start + COUNT):
        partner = FIRST + place % COUNT
        try:
            held = _bound(partner)
        except OSError:
            continue
        try:
            _bound(partner + COUNT).close()
        except OSError:  # another program uses it
            held.close()
            continue
        return held, partner + COUNT
    raise OSError("no free port from %d to %d" % (FIRST + COUNT, FIRST + 2 * COUNT - 1))


def listen(port: int) -> socket.socket:
    """Return a listening socket. Raise OSError if the port is taken."""
    server = _bound(port)
    server.listen(1024)
    return server


def _bound(port: int) -> socket.socket:
    """Return a socket bound to a port, without SO_REUSEADDR: raise OSError if any other socket uses the port."""
    bound = socket.socket()
    try:
        bound.bind(("", port))
    except OSError:
        bound.close()
        raise
    return bound
