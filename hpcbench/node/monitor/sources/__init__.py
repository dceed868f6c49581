"""All sources of a monitor, one per file."""

from typing import Dict, List, Tuple, Type

from .amd import Amd, AmdEnergy, AmdProcesses
from .base import Absent, HostView, Source
from .cgroup import Quota
from .cpu import Cpu
from .cray import Cray
from .disk import Disk, OwnIo
from .frequency import Frequency
from .grace import Grace
from .infiniband import InfiniBand
from .lustre import Lustre
from .memory import Memory
from .network import Network
from .nvidia import Nvidia, NvidiaEnergy, NvidiaProcesses
from .own import Own, Switches, Waiting
from .pressure import Pressure
from .rapl import Rapl

_NODE: Tuple[Type[Source], ...] = (Cpu, Own, Waiting, Switches, Quota, Pressure, Memory, Frequency)
_TRANSFERS: Tuple[Type[Source], ...] = (Disk, OwnIo, Network, Lustre, InfiniBand)
_GPUS: Tuple[Type[Source], ...] = (Nvidia, NvidiaEnergy, NvidiaProcesses, Amd, AmdEnergy, AmdProcesses)
_ENERGY: Tuple[Type[Source], ...] = (Rapl, Grace, Cray)
ALL = (*_NODE, *_TRANSFERS, *_GPUS, *_ENERGY)


def present(host: HostView) -> Tuple[List[Source], Dict[str, str]]:
    """Return the sources of this node, and for each absent source the reason."""
    sources, absent = [], {}
    for kind in ALL:
        try:
            sources.append(kind(host))
        except Absent as reason:
            absent[kind.name] = str(reason)
        except Exception as error:  # unexpected content: the other sources are still used
            absent[kind.name] = "the first reading failed: %r" % error
    return sources, absent
