"""How several ranks train one PyTorch model. Each strategy takes the model and gives it back, made parallel."""

import os
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from ..outcomes import Unsupported
from ..problem import MOMENTUM, Problem
from . import horovod_group
from .pytorch_layers import Residual


class Parallel(NamedTuple):
    """A model with its optimizer. `step` replaces backward and optimizer step where the strategy has its own."""

    model: Any
    optimizer: Optional[torch.optim.Optimizer] = None
    step: Optional[Callable[[torch.Tensor], None]] = None


def parallel(model: nn.Module, problem: Problem, device: torch.device) -> Parallel:
    """The model under the strategy of its case."""
    if not problem.parallel:
        return Parallel(model, _sgd(model, problem) if problem.training else None)
    return _STRATEGIES[problem.parameters["strategy"]](model, problem, device)


def whole_weights(model: nn.Module) -> "Iterator[numpy.ndarray]":
    """The trainable weights, one at a time; the parts of a sharded one are gathered, so all ranks must ask."""
    for weight in model.parameters():
        if weight.requires_grad:
            whole: Any = weight.detach()
            if hasattr(whole, "full_tensor"):
                whole = whole.full_tensor()
            yield whole.float().cpu().numpy()


def leave() -> None:
    """Leave the group of processes, if it was joined."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _sgd(model: nn.Module, problem: Problem) -> torch.optim.Optimizer:
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return torch.optim.SGD(trained, lr=problem.learning_rate, momentum=MOMENTUM)


def _join(problem: Problem, device: torch.device) -> None:
    """The group of processes, over a store whose port rank 0 got from the kernel: nobody else can have it."""
    group = problem.group
    if device.type == "cpu":
        group.listen_at_own_address("GLOO_SOCKET_IFNAME")
    leader = group.members[0].address
    store = TCPStore(leader, 0, is_master=True, wait_for_workers=False) if group.rank == 0 else None
    port = group.agree(store.port if store else None)
    if store is None:
        store = TCPStore(leader, port, is_master=False)
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=store,
        rank=group.rank,
        world_size=group.size,
        device_id=device if device.type == "cuda" else None,
    )


def _ddp(model: nn.Module, problem: Problem, device: torch.device) -> Parallel:
    _join(problem, device)
    local = [device.index] if device.type == "cuda" else None
    return Parallel(nn.parallel.DistributedDataParallel(model, device_ids=local), _sgd(model, problem))


def _fsdp(model: nn.Module, problem: Problem, device: torch.device) -> Parallel:
    """FSDP2: the layers of a transformer and the blocks of a ResNet each on their own, then what is left."""
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError as error:
        raise Unsupported("fsdp needs PyTorch 2.6 or newer, and this is %s" % torch.__version__) from error
    from torch.distributed.device_mesh import init_device_mesh

    _join(problem, device)
    mesh = init_device_mesh(device.type, (problem.group.size,))
    for part in model.modules():
        if isinstance(part, (nn.TransformerEncoderLayer, Residual)):
            fully_shard(part, mesh=mesh)
    # Without the last argument the outermost part would keep its weights after the first step of inference.
    sharded: Any = fully_shard(model, mesh=mesh, reshard_after_forward=not problem.training)
    return Parallel(sharded, _sgd(sharded, problem) if problem.training else None)


def _horovod(model: nn.Module, problem: Problem, device: torch.device) -> Parallel:
    horovod_group.join(problem.group)
    import horovod.torch as horovod

    horovod.init()
    optimizer = horovod.DistributedOptimizer(_sgd(model, problem), named_parameters=model.named_parameters())
    return Parallel(model, optimizer)


def _deepspeed(model: nn.Module, problem: Problem, device: torch.device) -> Parallel:
    """ZeRO stage 1: each rank keeps the optimizer's state of its part of the weights."""
    try:
        import deepspeed
    except ImportError as error:
        raise Unsupported("this environment has no DeepSpeed: %s" % error) from error
    # Else it would compile an all-reduce over shared memory on the node, in the midst of the job.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    dtype = problem.parameters["dtype"]
    if dtype == "float16":
        raise Unsupported("deepspeed trains in float16 by a loss scaling of its own, which would be other work")
    _join(problem, device)
    os.environ["LOCAL_RANK"] = str(device.index or 0)  # by which DeepSpeed finds its device
    settings = {
        "train_micro_batch_size_per_gpu": problem.parameters["batch_size"],
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "torch_autocast": {"enabled": dtype != "float32", "dtype": dtype},
    }
    engine, *_ = deepspeed.initialize(model=model, optimizer=_sgd(model, problem), config=settings)

    def step(loss: torch.Tensor) -> None:
        engine.backward(loss)
        engine.step()

    return Parallel(engine, None, step)


_STRATEGIES: Dict[str, Callable[[nn.Module, Problem, torch.device], Parallel]] = {
    "ddp": _ddp,
    "fsdp": _fsdp,
    "horovod": _horovod,
    "deepspeed": _deepspeed,
}
