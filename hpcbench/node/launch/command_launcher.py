"""Start the processes of a command by torchrun or mpirun, instead of one process per task.

torchrun runs once on each node. Its processes meet at an address and a port of the first node, on which the nodes agree
before: https://docs.pytorch.org/docs/stable/elastic/run.html. mpirun runs once, on the first node, and finds the others
by Slurm's variables.
"""

import contextlib
import shlex
from typing import TYPE_CHECKING, Iterator, List

from ...core.run_spec import MPIRUN, SHELL, TORCHRUN, PlannedRun
from ..errors import RankLost
from .ranks import Ranks

if TYPE_CHECKING:
    from .rendezvous import Group


class NotLaunched(Exception):
    """The nodes of a run have not agreed on an address."""


@contextlib.contextmanager
def words(planned: PlannedRun, ranks: Ranks, launcher: str) -> Iterator[List[str]]:
    """Yield the words that start the command of a run; `launcher` is torchrun or mpirun with the site's arguments.

    The port of the first node is reserved inside the `with` block. Raise NotLaunched if the nodes do not meet.
    """
    command = SHELL + [planned.parameters["command"]]
    if planned.launch == MPIRUN:
        yield shlex.split(launcher) + ["-n", str(planned.tasks)] + command
    elif planned.launch == TORCHRUN:
        with contextlib.closing(_met(ranks)) as group:
            yield _torchrun(planned, ranks, group, launcher) + command
    else:
        yield command


def _met(ranks: Ranks) -> "Group":
    from .rendezvous import Group  # few commands need it

    try:
        return Group(ranks)
    except (OSError, RankLost) as error:
        raise NotLaunched(str(error)) from error


def _torchrun(planned: PlannedRun, ranks: Ranks, group: "Group", launcher: str) -> List[str]:
    try:
        port = group.agree(group.claim_port() if ranks.rank == 0 else None)
    except (OSError, RankLost) as error:
        raise NotLaunched(str(error)) from error
    return shlex.split(launcher) + [
        "--nnodes=%d" % planned.parameters["nodes"],
        "--nproc-per-node=%d" % planned.parameters["tasks_per_node"],
        "--node-rank=%d" % ranks.rank,
        "--master-addr=%s" % group.members[0].address,
        "--master-port=%d" % port,
        "--no-python",
    ]
