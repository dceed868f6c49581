"""Strategies for training one PyTorch model on several ranks: each wraps the model and updates the weights."""

import os
import sys
from typing import Any, Callable, Dict, Iterator

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from ...errors import Unsupported
from ...workload.problem import MOMENTUM, Problem
from ..horovod import join
from .sharding import units

Update = Callable[[torch.Tensor], None]  # backward and optimizer step for a loss


def parallel(model: nn.Module, problem: Problem, device: torch.device) -> Any:
    """Return the model under the strategy of its case."""
    return _MODELS[problem.parameters["strategy"]](model, problem, device) if problem.parallel else model


def update_of(model: Any, problem: Problem, device: torch.device) -> Update:
    """Return the training update for a model that `parallel` returned."""
    return _UPDATES.get(problem.parameters["strategy"], _plain_update)(model, problem, device)


def whole_weights(model: nn.Module) -> "Iterator[numpy.ndarray]":
    """Yield the trainable weights, on the CPU in float32. Sharded ones are gathered, so all ranks must call this."""
    for weight in model.parameters():
        if weight.requires_grad:
            whole: Any = weight.detach()
            if hasattr(whole, "full_tensor"):
                whole = whole.full_tensor()
            yield whole.float().cpu().numpy()


def leave() -> None:
    """Destroy the process group, if it was joined."""
    if dist.is_initialized():
        dist.destroy_process_group()


def no_update(loss: torch.Tensor) -> None:
    """Do nothing: the user's step has already updated the weights."""


def optimizer_of(model: nn.Module, problem: Problem) -> torch.optim.Optimizer:
    """Return the optimizer of a case for the trainable weights of a model."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return torch.optim.SGD(trained, lr=problem.learning_rate, momentum=MOMENTUM)


def _scaler(problem: Problem, device: torch.device) -> Any:
    return torch.amp.GradScaler(device.type, enabled=problem.parameters["dtype"] == "float16")


def _plain_update(model: nn.Module, problem: Problem, device: torch.device) -> Update:
    optimizer, scaler = optimizer_of(model, problem), _scaler(problem, device)

    def update(loss: torch.Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return update


def _join(problem: Problem, device: torch.device) -> None:
    """Join the process group, over a store on a port that the kernel has given to rank 0, which is therefore free."""
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


def _ddp(model: nn.Module, problem: Problem, device: torch.device) -> nn.Module:
    _join(problem, device)
    local = [device.index] if device.type == "cuda" else None
    # Each rank has its own statistics of batch norm, as in the other frameworks; otherwise rank 0 would send its own
    # every step.
    return nn.parallel.DistributedDataParallel(model, device_ids=local, broadcast_buffers=False)


def _fsdp(model: nn.Module, problem: Problem, device: torch.device) -> Any:
    """Shard by FSDP2: each block separately, then the rest."""
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError as error:
        raise Unsupported("fsdp needs PyTorch 2.6 or newer, and this is %s" % torch.__version__) from error
    from torch.distributed.device_mesh import init_device_mesh

    _join(problem, device)
    mesh = init_device_mesh(device.type, (problem.group.size,))
    for part in units(model):
        fully_shard(part, mesh=mesh)
    # Without the last argument, the root module would not reshard its weights after the first step of inference.
    return fully_shard(model, mesh=mesh, reshard_after_forward=not problem.training)


def _horovod(model: nn.Module, problem: Problem, device: torch.device) -> nn.Module:
    join(problem)
    import horovod.torch as horovod

    horovod.init()
    return model


def _horovod_update(model: nn.Module, problem: Problem, device: torch.device) -> Update:
    import horovod.torch as horovod

    scaler = _scaler(problem, device)
    optimizer = horovod.DistributedOptimizer(optimizer_of(model, problem), named_parameters=model.named_parameters())

    def update(loss: torch.Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        optimizer.synchronize()  # before the scaler checks gradients for infinities: equal on all ranks
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()

    return update


def _deepspeed(model: nn.Module, problem: Problem, device: torch.device) -> Any:
    """Return the engine of DeepSpeed with ZeRO stage 1: each rank has a share of the optimizer state."""
    try:
        import deepspeed
    except ImportError as error:
        advice = "`hpcbench env build pytorch` builds an environment with it"
        raise Unsupported("DeepSpeed not found in %s (%s): %s" % (sys.executable, error, advice)) from error
    # Otherwise DeepSpeed would compile an all-reduce over shared memory on the node, during the job.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    dtype = problem.parameters["dtype"]
    if dtype == "float16":
        raise Unsupported("deepspeed uses its own loss scaling in float16, so that the work would differ")
    _join(problem, device)
    os.environ["LOCAL_RANK"] = str(device.index or 0)  # DeepSpeed selects its device by this
    settings = {
        "train_micro_batch_size_per_gpu": problem.parameters["batch_size"],
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "torch_autocast": {"enabled": dtype != "float32", "dtype": dtype},
    }
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer_of(model, problem), config=settings)
    return engine


def _deepspeed_update(engine: Any, problem: Problem, device: torch.device) -> Update:
    def update(loss: torch.Tensor) -> None:
        engine.backward(loss)
        engine.step()

    return update


_MODELS: Dict[str, Callable[[nn.Module, Problem, torch.device], Any]] = {
    "ddp": _ddp,
    "fsdp": _fsdp,
    "horovod": _horovod,
    "deepspeed": _deepspeed,
}
_UPDATES: Dict[str, Callable[[Any, Problem, torch.device], Update]] = {
    "horovod": _horovod_update,
    "deepspeed": _deepspeed_update,
}
