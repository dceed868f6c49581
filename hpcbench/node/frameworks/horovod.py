"""Horovod without horovodrun: set the variables that its launcher sets for each process, from our own group of ranks.

The variables are those of horovod.runner.gloo_run; the rendezvous server is Horovod's own, in rank 0's process.
"""

import os
import sys
from typing import Any, Dict, List

from ..errors import Unsupported
from ..launch.rendezvous import Group
from ..workload.problem import Problem

_SERVERS: List[Any] = []  # on rank 0: it must live as long as the process


def join(problem: Problem) -> None:
    """Set the variables that horovod's init() reads. All ranks must call this. Raise Unsupported without Horovod."""
    try:
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousServer
    except ImportError as error:
        advice = "`hpcbench env build horovod-%s` builds an environment with it" % problem.parameters["framework"]
        raise Unsupported("Horovod not found in %s (%s): %s" % (sys.executable, error, advice)) from error
    group = problem.group
    if group.rank == 0:
        server = RendezvousServer(verbose=0)
        _SERVERS.append(server)
        port = server.start()
        hosts = [member.host for member in group.members]
        counts = ",".join("%s:%d" % (host, hosts.count(host)) for host in dict.fromkeys(hosts))
        server.init(get_host_assignments(parse_hosts(counts), group.size))
        group.agree(port)
    else:
        port = group.agree(None)
    os.environ.update(_variables(group, port))
    group.listen_at_own_address("HOROVOD_GLOO_IFACE")


def _variables(group: Group, port: int) -> Dict[str, str]:
    hosts = [member.host for member in group.members]
    different = list(dict.fromkeys(hosts))
    own = hosts[group.rank]
    values = {
        "HOROVOD_HOSTNAME": own,
        "HOROVOD_RANK": group.rank,
        "HOROVOD_SIZE": group.size,
        "HOROVOD_LOCAL_RANK": group.local_rank,
        "HOROVOD_LOCAL_SIZE": len(group.local_ranks),
        "HOROVOD_CROSS_RANK": different.index(own),
        "HOROVOD_CROSS_SIZE": len(different),
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": group.members[0].address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": port,
    }
    return {name: str(value) for name, value in values.items()}
