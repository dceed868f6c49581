"""Bytes through the TCP connections of this process, as the kernel counts them for each connection.

tcp(7), TCP_INFO; the offsets are those of `struct tcp_info` in include/uapi/linux/tcp.h, which only grows at its end.
"""

import os
import socket
import stat
import struct
from typing import Dict, NamedTuple, Optional

_RECEIVED = 128  # u64 tcpi_bytes_received, Linux 4.1
_SENT = 200  # u64 tcpi_bytes_sent, then u64 tcpi_bytes_retrans, Linux 4.19
_SIZE = 216


class Traffic(NamedTuple):
    """Bytes of payload, without those sent again."""

    sent: int
    received: int


def connections() -> Optional[Dict[int, Traffic]]:
    """Return the traffic of each TCP socket of this process since it was connected, by inode of the socket.

    Return None if this kernel does not count.
    """
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            status = os.fstat(int(name))
            if not stat.S_ISSOCK(status.st_mode):
                continue
            with socket.fromfd(int(name), socket.AF_INET, socket.SOCK_STREAM) as connection:  # IPv6, too
                information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
        except OSError:  # not of TCP, or closed in the meantime
            continue
        if len(information) < _SIZE:
            return None
        (received,) = struct.unpack_from("=Q", information, _RECEIVED)
        sent, again = struct.unpack_from("=QQ", information, _SENT)
        found[status.st_ino] = Traffic(sent - again, received)
    return found


def since(before: Dict[int, Traffic], now: Dict[int, Traffic]) -> Traffic:
    """Return the traffic between two results of `connections`, without that of connections closed in between."""
    none = Traffic(0, 0)
    changes = [(after, before.get(inode, none)) for inode, after in now.items()]
    return Traffic(*(sum(after[way] - first[way] for after, first in changes) for way in (0, 1)))
