"""Strategies for training one MXNet model on several ranks: how gradients are summed and applied to the weights."""

import os
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List

import mxnet as mx
from mxnet import gluon

from ....core.frameworks import KVSTORE_ASYNC
from ...errors import Unsupported
from ...launch.rendezvous import Group
from ...workload.problem import Problem
from ..horovod import join
from . import optimizers

END_S = 10.0  # for servers after the request to end

# A server and a scheduler run inside `import mxnet`, and must end with the rank that started them, for whatever reason
# it ends; 1 is PR_SET_PDEATHSIG, 9 SIGKILL. The current folder may contain something called mxnet.
_SERVE = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() == int(sys.argv[1]):
    sys.path = [folder for folder in sys.path if folder]
    import mxnet
"""

_STORES: List[Any] = []  # a reference, since the destructor of a store waits for all ranks


_NO_CLIPPING = (
    "clip_norm and clip_value cannot be used with MXNet and strategy: horovod (it averages within the update)"
)


class Strategy:
    """Training on one rank; the base of the other strategies."""

    def __init__(self, parameters: Any, problem: Problem) -> None:
        self.ranks_summed = 1  # number of ranks whose gradients are summed before the optimizer gets them
        self.options, self.steps = problem.optimizer, 0
        self.trained = [each for each in parameters.values() if each.grad_req != "null"]
        self.trainer = self.trainer_of(parameters, problem)

    def trainer_of(self, parameters: Any, problem: Problem) -> Any:
        """Return the trainer for the parameters of a network, with all ranks joined."""
        return gluon.Trainer(parameters, optimizers.optimizer_of(self.options), kvstore=None)

    def update(self) -> None:
        """Take an optimizer step with the mean of the ranks' gradients."""
        optimizers.clip(self.trained, self.options)
        optimizers.set_step(self.trainer.optimizer, self.options, self.steps)
        self.trainer.step(self.ranks_summed)
        self.steps += 1

    def agree(self) -> None:
        """Give all ranks the same weights, if they differ. All ranks must call this."""
        return

    def leave(self) -> None:
        """Leave the group of ranks. All ranks must call this."""
        return


class KVStore(Strategy):
    """A server per rank, as many as MXNet's launcher starts by default, and the scheduler on rank 0.

    Each server holds a share of the weights and their momentum: it sums the gradients and takes the optimizer step, and
    all ranks get the same weights. With update_on_kvstore=False every rank would take the step; in two of nine such
    runs of MXNet 1.9.1 on a busy machine the ranks trained different weights, in none of more than thirty runs with
    servers.
    """

    def trainer_of(self, parameters: Any, problem: Problem) -> Any:
        optimizers.check_servers(self.options, problem.parameters["strategy"])
        self.group = problem.group
        self.processes = _Processes(self.group)
        store = self.store_of(problem)
        _STORES.append(store)
        optimizer = optimizers.optimizer_of(self.options)
        return gluon.Trainer(parameters, optimizer, kvstore=store, update_on_kvstore=True)

    def store_of(self, problem: Problem) -> Any:
        """Return the store, whose servers take a step with the mean of the gradients of all ranks."""
        self.ranks_summed = self.group.size
        return mx.kv.create("dist_device_sync" if problem.on_gpu else "dist_sync")

    def leave(self) -> None:
        self.processes.may_end()
        store = _STORES.pop()
        mx.base.check_call(mx.base._LIB.MXKVStoreFree(store.handle))  # waits for all ranks, then ends the servers
        store.handle = None
        self.processes.end()


class KVStoreAsync(KVStore):
    """Servers that take an optimizer step with the gradients of each rank, without waiting for the others.

    Dean et al., 2012, "Large scale distributed deep networks", section 4.1. A rank computes its next gradients with the
    weights that it gets back. Ranks have different weights, and those of the servers count.
    """

    def store_of(self, problem: Problem) -> Any:
        return mx.kv.create("dist_device_async" if problem.on_gpu else "dist_async")

    def agree(self) -> None:
        mx.nd.waitall()
        self.group.gather(None)  # the servers have the gradients of all ranks
        for index, parameter in enumerate(self.trainer._params):
            if parameter.grad_req != "null":
                _STORES[-1].pull(index, parameter.list_data())
        mx.nd.waitall()
        self.group.gather(None)  # no rank trains on before all have these weights


class Horovod(Strategy):
    """Gradients averaged by Horovod."""

    def trainer_of(self, parameters: Any, problem: Problem) -> Any:
        if self.options.clip_norm is not None or self.options.clip_value is not None:
            raise Unsupported(_NO_CLIPPING)
        join(problem)
        import horovod.mxnet as horovod

        horovod.init()
        self.horovod = horovod
        return horovod.DistributedTrainer(parameters, optimizers.optimizer_of(self.options))  # averages by itself

    def leave(self) -> None:
        self.horovod.shutdown()


def parallel(parameters: Any, problem: Problem) -> Strategy:
    """Return the strategy of a case, for the parameters of its network."""
    if not problem.parallel:
        return Strategy(parameters, problem)
    return _STRATEGIES[problem.parameters["strategy"]](parameters, problem)


_STRATEGIES: Dict[str, Callable[[Any, Problem], Strategy]] = {
    "kvstore": KVStore,
    KVSTORE_ASYNC: KVStoreAsync,
    "horovod": Horovod,
}


class _Processes:
    """This rank's server, and on rank 0 the scheduler. They get the variables that MXNet's tools/launch.py sets."""

    def __init__(self, group: Group) -> None:
        ports = {role: group.claim_port() for role in ("scheduler", "server", "worker")}
        common = {
            "DMLC_NUM_WORKER": group.size,
            "DMLC_NUM_SERVER": group.size,
            "DMLC_PS_ROOT_URI": group.members[0].address,
            "DMLC_PS_ROOT_PORT": group.agree(ports["scheduler"]),
            "DMLC_NODE_HOST": group.members[group.rank].address,
        }
        self._ending = False
        self._children: "List[subprocess.Popen[bytes]]" = []
        for role in ("server", "scheduler") if group.rank == 0 else ("server",):
            self._start(role, _as_text({**common, "DMLC_ROLE": role, "PORT": ports[role]}))
        os.environ.update(_as_text({**common, "DMLC_ROLE": "worker", "PORT": ports["worker"]}))

    def may_end(self) -> None:
        """Expect the end of the servers from now on."""
        self._ending = True

    def end(self) -> None:
        for child in self._children:
            try:
                child.wait(timeout=END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _start(self, role: str, variables: Dict[str, str]) -> None:
        child = subprocess.Popen([sys.executable, "-c", _SERVE, str(os.getpid())], env={**os.environ, **variables})
        self._children.append(child)
        threading.Thread(target=self._watch, args=(role, child), daemon=True).start()

    def _watch(self, role: str, child: "subprocess.Popen[bytes]") -> None:
        """End this rank if its server ends early: it would wait forever inside MXNet, which raises no exception."""
        status = child.wait()
        if not self._ending:
            print("MXNet's %s has ended with exit status %d, so this rank ends" % (role, status), file=sys.stderr)
            sys.stderr.flush()
            os._exit(1)


def _as_text(values: Dict[str, Any]) -> Dict[str, str]:
    return {name: str(value) for name, value in values.items()}
