"""PyTorch: eager or compiled, one process or several (DDP, FSDP), on CPU and GPU."""

import re
from contextlib import nullcontext
from typing import Any, ContextManager, Dict, List, Optional

import torch
import torch.distributed as dist
from torch import nn

from .. import catalog, hardware
from ..outcomes import Unsupported
from ..ranks import Ranks
from . import pytorch_models
from .base import Adapter, Network, Work

LEARNING_RATE, MOMENTUM = 0.01, 0.9

# From the allocators of PyTorch (its OutOfMemoryError is a RuntimeError) and from those of CUDA's libraries.
_OUT_OF_MEMORY = re.compile(
    r"out of memory|DefaultCPUAllocator: (can't allocate|not enough) memory|CU\w+_STATUS_ALLOC_FAILED|std::bad_alloc",
    re.I,
)
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class PyTorchNetwork(Network):
    def __init__(self, parameters: Dict[str, Any], ranks: Ranks) -> None:
        self.parameters = parameters
        self.ranks = ranks
        self.device = _device(parameters, ranks)
        self.dtype = _DTYPES[parameters["dtype"]]
        self.training = parameters["task"] == "training"
        # float32 shall mean the same everywhere: cuDNN would round the inputs of convolutions to 10 bits (TF32).
        torch.backends.cudnn.allow_tf32 = False
        options = catalog.resolved_options(parameters["model"], parameters["model_options"])
        shape = (parameters["batch_size"], *catalog.MODELS[parameters["model"]].input_shape(options))

        torch.manual_seed(parameters["seed"])
        model = pytorch_models.build(parameters["model"], options).to(self.device)
        model.train(self.training)
        self.work = Work(
            parameter_count=sum(weight.numel() for weight in model.parameters()),
            flops_per_item=catalog.flops_per_item(parameters["model"], options, parameters["task"]),
            items_per_step=parameters["batch_size"] * ranks.size,
            input_shape=shape,
            dtype=parameters["dtype"],
            math_mode="float32" if self.dtype is torch.float32 else "autocast" if self.training else "pure",
        )
        # Every rank trains the same weights on data of its own.
        generator = torch.Generator().manual_seed(parameters["seed"] + 1 + ranks.rank)
        batch = pytorch_models.synthetic_batch(parameters["model"], options, shape, generator)
        self.labels = torch.randint(0, options["classes"], shape[:1], generator=generator).to(self.device)
        if not self.training:  # training keeps float32 weights and uses autocast
            model = model.to(self.dtype)
            batch = batch.to(self.dtype) if batch.is_floating_point() else batch
        self.batch = batch.to(self.device)
        self.model: Any = self._distributed(model)
        if self.training:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
            self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.dtype is torch.float16)
        if parameters["compile"]:
            self.model = torch.compile(self.model)
        # Inference tensors cannot be gathered and freed again, which is what FSDP does with its weights.
        self.without_gradients = torch.no_grad if parameters["strategy"] == "fsdp" else torch.inference_mode

    def infer(self) -> torch.Tensor:
        with self.without_gradients():
            return self.model(self.batch)

    def train(self) -> torch.Tensor:
        self.optimizer.zero_grad()
        with self._autocast():
            loss = nn.functional.cross_entropy(self.model(self.batch), self.labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def agree(self, value: float) -> float:
        if self.ranks.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.broadcast(shared, src=0)
        return float(shared.item())

    def peak_device_bytes(self) -> Optional[int]:
        if self.device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self.device))
        return None

    def close(self) -> None:
        if dist.is_initialized():
            dist.barrier()  # rank 0 holds the store that the others still need
            dist.destroy_process_group()

    def _distributed(self, model: nn.Module) -> nn.Module:
        """The model under its strategy. The group of ranks is formed from srun's variables alone."""
        strategy = self.parameters["strategy"]
        if strategy == "single":
            return model
        dist.init_process_group(
            "nccl" if self.device.type == "cuda" else "gloo",
            init_method="tcp://%s:%d" % (self.ranks.address, self.ranks.port),
            rank=self.ranks.rank,
            world_size=self.ranks.size,
            device_id=self.device if self.device.type == "cuda" else None,
        )
        if strategy == "fsdp":
            return _sharded(model, self.device, self.ranks.size)
        if not self.training:  # replicas that infer have nothing to say to one another
            return model
        local = [self.device.index] if self.device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(model, device_ids=local)

    def _autocast(self) -> ContextManager[Any]:
        if self.dtype is torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)

    def _math_mode(self) -> str:
        if self.dtype is not torch.float32:
            return "autocast" if self.training else "pure"
        modes = ["matmul %s" % torch.get_float32_matmul_precision()]
        if self.device.type == "cuda" and torch.backends.cudnn.allow_tf32:
            modes.append("convolution tf32")
        return ", ".join(modes)


class PyTorch(Adapter):
    name = "pytorch"
    packages = ("torch", "numpy", "triton")

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        if intra_op is not None:
            torch.set_num_threads(intra_op)
        if inter_op is not None:
            torch.set_num_interop_threads(inter_op)

    def threads(self) -> Dict[str, Optional[int]]:
        return {"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads()}

    def devices(self) -> List[str]:
        return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]

    def build(self, parameters: Dict[str, Any], ranks: Ranks) -> PyTorchNetwork:
        _check_device(parameters, ranks)
        _check_dtype(parameters)
        return PyTorchNetwork(parameters, ranks)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return super().is_out_of_memory(error) or (
            isinstance(error, RuntimeError) and bool(_OUT_OF_MEMORY.search(str(error)))
        )


def _device(parameters: Dict[str, Any], ranks: Ranks) -> torch.device:
    """The rank's GPU: its own where srun shows each task one, else by its place on the node."""
    if parameters["device"] == "cpu":
        return torch.device("cpu")
    index = ranks.local_rank % torch.cuda.device_count()
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def _sharded(model: nn.Module, device: torch.device, size: int) -> Any:
    """FSDP2: the layers of a transformer and the blocks of a ResNet each on their own, then what is left."""
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError as error:
        raise Unsupported("fsdp needs PyTorch 2.6 or newer, and this is %s" % torch.__version__) from error
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh(device.type, (size,))
    for part in model.modules():
        if isinstance(part, (nn.TransformerEncoderLayer, pytorch_models.Bottleneck)):
            fully_shard(part, mesh=mesh)
    # Without the last argument the outermost part would keep its weights after the first step of inference.
    return fully_shard(model, mesh=mesh, reshard_after_forward=not model.training)


def _check_device(parameters: Dict[str, Any], ranks: Ranks) -> None:
    if parameters["device"] != "gpu":
        return
    if not torch.cuda.is_available():
        built = "sees none" if torch.version.cuda or torch.version.hip else "was built for the CPU only"
        raise Unsupported("a GPU is asked for, and PyTorch %s %s" % (torch.__version__, built))
    visible, tasks = torch.cuda.device_count(), parameters["tasks_per_node"]
    if visible < tasks and not (ranks.bound and visible == 1):  # srun may show each task its own GPU only
        raise Unsupported("%d tasks on a node ask for a GPU each, and %d can be seen" % (tasks, visible))


def _check_dtype(parameters: Dict[str, Any]) -> None:
    dtype = parameters["dtype"]
    if dtype == "float32":
        return
    if parameters["device"] == "gpu":
        if dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            raise Unsupported("%s has no bfloat16 arithmetic" % torch.cuda.get_device_name())
    elif not hardware.cpu_computes_in(dtype):
        raise Unsupported("this CPU has no %s arithmetic (%s)" % (dtype, hardware.cpu_model()))


ADAPTER = PyTorch()
