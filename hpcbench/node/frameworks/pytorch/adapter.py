"""PyTorch, eager or compiled, with one process or several, on CPU and GPU."""

from contextlib import nullcontext
from typing import Any, ContextManager, Dict, Iterator, List, Optional, Tuple, Type

import numpy
import torch
from torch import nn

from ....core.frameworks import COMPILED
from ... import oom_detection
from ...errors import Unsupported
from ...workload.data import Items
from ...workload.problem import Problem
from .. import capabilities
from ..adapter import Adapter, Batch, Library, Network
from . import data, layers, strategies
from .settings import flushes_denormals, set_flush_denormals, set_onednn, uses_onednn
from .strategies import Update

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class PyTorchNetwork(Network):
    """A network of PyTorch modules."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.device = _device(problem)
        self.dtype = _DTYPES[problem.parameters["dtype"]]
        _set_arithmetic()
        torch.manual_seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
        weights_dtype = torch.float32 if problem.training else self.dtype  # training uses autocast
        model = self.model_of(problem).to(weights_dtype).to(self.device)
        self.parameter_count = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
        model.train(problem.training)
        self.model: Any = strategies.parallel(model, problem, self.device)
        if problem.training:
            self.update = self.update_of(problem)
        if problem.parameters["execution"] == COMPILED:
            self.model = torch.compile(self.model, mode=problem.parameters["compile_mode"])
        # FSDP gathers and frees its weights, which inference tensors do not support.
        self.without_gradients = torch.no_grad if problem.parallel else torch.inference_mode
        self.pipelines = data.Pipelines(problem)
        self.feed()
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    def model_of(self, problem: Problem) -> nn.Module:
        """Return the module of a case with its initial weights."""
        return layers.sequential(problem.layers, problem.item_shape, problem.weights())

    def update_of(self, problem: Problem) -> Update:
        """Return the function that runs backward pass and optimizer step for a loss."""
        return strategies.update_of(self.model, problem, self.device)

    def predict(self, inputs: torch.Tensor) -> torch.Tensor:
        if not self.problem.training:
            with self.without_gradients():
                return self.model(inputs)
        self.model.eval()
        with torch.no_grad(), self._autocast():
            logits = self.model(inputs)
        self.model.train()
        return logits

    def learn(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with self._autocast():
            loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.update(loss)
        return loss

    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        return self._moved(torch.from_numpy(inputs), torch.from_numpy(labels))

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        return (self._moved(*batch) for batch in self.pipelines.batches(items, forever))

    def _moved(self, inputs: torch.Tensor, labels: torch.Tensor) -> Batch:
        """Move a batch to the device, then convert it: a converted batch would not be in pinned memory."""
        inputs, labels = inputs.to(self.device, non_blocking=True), labels.to(self.device, non_blocking=True)
        if inputs.is_floating_point() and not self.problem.training:
            inputs = inputs.to(self.dtype)
        return inputs, labels.long()

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def to_numpy(self, result: torch.Tensor) -> "numpy.ndarray":
        return result.detach().float().cpu().numpy()

    def weights(self) -> "Iterator[numpy.ndarray]":
        return strategies.whole_weights(self.model)

    def peak_device_bytes(self) -> Optional[int]:
        if self.device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self.device))
        return None

    def remarks(self) -> List[str]:
        if self.problem.parameters["execution"] != COMPILED:
            return []
        counters = torch._dynamo.utils.counters
        breaks = sum(counters["graph_break"].values())
        if not breaks:
            return []
        pieces = counters["stats"]["unique_graphs"]
        return ["torch.compile split the model into %d graphs, and runs the code between them eagerly" % pieces]

    def close(self) -> None:
        strategies.leave()

    def _autocast(self) -> ContextManager[Any]:
        if self.dtype is torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)


class PyTorch(Adapter):
    """The adapter of PyTorch."""

    name = "pytorch"
    packages: Tuple[str, ...] = ("torch", "numpy", "triton", "horovod", "deepspeed")
    # torch.amp.GradScaler takes a device since 2.3.
    libraries: Tuple[Library, ...] = (Library("PyTorch", torch.__version__, "2.3", "3"),)
    network: Type[PyTorchNetwork] = PyTorchNetwork
    exhausted = (torch.cuda.OutOfMemoryError,)  # of all its allocators on GPUs
    memory_errors = (RuntimeError,)
    memory_words = oom_detection.PYTORCH

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        if intra_op is not None:
            torch.set_num_threads(intra_op)
        if inter_op is not None:
            try:
                torch.set_num_interop_threads(inter_op)
            except RuntimeError as error:  # something has run in parallel, or the count was set before
                message = "inter_op_threads can no longer be set: %s" % str(error).splitlines()[0]
                advice = (
                    "remove inter_op_threads, or code that uses PyTorch earlier in this process (e.g. sitecustomize)"
                )
                raise Unsupported("%s; %s" % (message, advice)) from error

    def threads(self) -> Dict[str, Any]:
        by = "torch.set_num_threads, torch.set_num_interop_threads"
        return {"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads(), "by": by}

    def set_settings(self, parameters: Dict[str, Any]) -> None:
        set_flush_denormals(parameters["flush_denormals"])
        set_onednn(parameters["onednn"])

    def settings(self) -> Dict[str, Any]:
        return {"flush_denormals": flushes_denormals(), "onednn": uses_onednn()}

    def devices(self) -> List[str]:
        return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]

    def build(self, problem: Problem) -> PyTorchNetwork:
        built = "" if torch.version.cuda or torch.version.hip else " (built for the CPU only)"
        visible = self.devices() if problem.on_gpu else []
        capabilities.check_gpus(problem, visible, "PyTorch %s%s" % (torch.__version__, built))
        _check_dtype(problem)
        return self.network(problem)


def _device(problem: Problem) -> torch.device:
    if not problem.on_gpu:
        return torch.device("cpu")
    index = capabilities.own_gpu(problem, torch.cuda.device_count())
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def _check_dtype(problem: Problem) -> None:
    if not problem.on_gpu:
        capabilities.check_cpu_dtype(problem, tuple(_DTYPES))
        return
    own = capabilities.own_gpu(problem, torch.cuda.device_count())
    capability = None if torch.version.hip else torch.cuda.get_device_capability(own)
    capabilities.check_gpu_dtype(problem, capability, torch.cuda.get_device_name(own))


def _set_arithmetic() -> None:
    # Equal float32 arithmetic in all frameworks. TF32 would round the factors to 10 bits: PyTorch allows it in
    # convolutions and LSTMs, and NVIDIA's images of PyTorch (by TORCH_ALLOW_TF32_CUBLAS_OVERRIDE) in matrix products,
    # too.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True  # shapes are fixed, and other frameworks let cuDNN benchmark, too


ADAPTER = PyTorch()
