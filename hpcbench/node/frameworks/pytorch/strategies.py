"""Strategies for training one PyTorch model on several ranks: each wraps the model."""

import os
import sys
from typing import Any, Callable, Dict, Iterable, List

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from ....models.communication_volume import Exchange
from ....models.optimizers import LAMB
from ...errors import Unsupported
from ...workload.problem import Problem
from ..horovod import join
from .averaging import AVERAGES
from .optimizers import optimizer_of
from .sharding import units


def parallel(model: nn.Module, problem: Problem, device: torch.device) -> Any:
    """Return the model under the strategy of its case."""
    return _MODELS[problem.parameters["strategy"]](model, problem, device) if problem.parallel else model


def whole(tensor: torch.Tensor) -> "numpy.ndarray":
    """Return a tensor in float32. A sharded one is gathered, so all ranks must call this."""
    found: Any = tensor.detach()
    if hasattr(found, "full_tensor"):
        found = found.full_tensor()
    array: "numpy.ndarray" = found.float().cpu().numpy()
    return array


def exchange(known: Exchange, model: Any) -> Exchange:
    """Return an exchange with the bytes of weights and gradients of a model under its strategy."""
    root = getattr(model, "_orig_mod", model)  # of torch.compile
    weights = [weight for weight in root.parameters() if weight.requires_grad]
    units = [each for each in root.modules() if hasattr(each, "set_requires_gradient_sync") and each is not root]
    # In 16 bits, DeepSpeed marks weights with the type of the gradients that it exchanges.
    gradients = sum(weight.numel() * getattr(weight, "comm_dtype", weight.dtype).itemsize for weight in weights)
    resharded = sum(_bytes(unit.parameters()) for unit in units)  # FSDP keeps those of the root in the backward pass
    return known._replace(weight_bytes=_bytes(weights), gradient_bytes=gradients, resharded_bytes=resharded)


def _bytes(weights: Iterable[torch.Tensor]) -> int:
    """Return the bytes of weights, whole also if they are sharded."""
    return sum(weight.numel() * weight.element_size() for weight in weights)


_left: List[Any] = []  # process groups


def leave() -> None:
    """Destroy the process group, if it was joined, but keep its object until the process ends.

    The destructor of a group of Gloo waits for its threads, with Python's lock held. A thread that releases a tensor
    waits for that lock, so both could wait forever (pytorch/pytorch#56297).
    """
    if dist.is_initialized():
        _left.append(dist.group.WORLD)
        dist.destroy_process_group()


def join_group(problem: Problem, device: torch.device) -> None:
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
    join_group(problem, device)
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

    join_group(problem, device)
    mesh = init_device_mesh(device.type, (problem.group.size,))
    for part in units(model):
        fully_shard(part, mesh=mesh)
    # Without the last argument, the root module would not reshard its weights after the first step of inference.
    return fully_shard(model, mesh=mesh, reshard_after_forward=not problem.training)


def _with_own_weights(model: nn.Module, problem: Problem, device: torch.device) -> nn.Module:
    """Join the ranks; the update averages the weights."""
    join_group(problem, device)
    return model


def _horovod(model: nn.Module, problem: Problem, device: torch.device) -> nn.Module:
    join(problem)
    import horovod.torch as horovod

    horovod.init()
    return model


def _deepspeed(model: nn.Module, problem: Problem, device: torch.device) -> Any:
    """Return the engine of DeepSpeed with ZeRO stage 1: each rank has a share of the optimizer state."""
    options = problem.optimizer
    if options.name == LAMB:
        raise Unsupported(
            "optimizer lamb cannot be used with strategy: deepspeed (ZeRO divides weight tensors among the ranks)"
        )
    if options.clip_value is not None:
        raise Unsupported("clip_value cannot be used with strategy: deepspeed; use clip_norm")
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
    join_group(problem, device)
    os.environ["LOCAL_RANK"] = str(device.index or 0)  # DeepSpeed selects its device by this
    settings = {
        "train_micro_batch_size_per_gpu": problem.parameters["batch_size"],
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "torch_autocast": {"enabled": dtype != "float32", "dtype": dtype},
        "gradient_accumulation_steps": options.gradient_accumulation_steps,
        "gradient_clipping": options.clip_norm or 0.0,  # DeepSpeed's default is 1
    }
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer_of(model, options), config=settings)
    return engine


_MODELS: Dict[str, Callable[[nn.Module, Problem, torch.device], Any]] = {
    "ddp": _ddp,
    "fsdp": _fsdp,
    "horovod": _horovod,
    "deepspeed": _deepspeed,
    **dict.fromkeys(AVERAGES, _with_own_weights),
}
