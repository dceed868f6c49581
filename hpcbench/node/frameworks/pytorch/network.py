"""A network of PyTorch modules: eager or compiled, with one process or several, on CPU and GPU."""

from contextlib import nullcontext
from typing import Any, ContextManager, Iterator, List, Optional, Sequence

import numpy
import torch
from torch import nn

from ....core.frameworks import COMPILED, SHARDED
from ....core.training.saved_activations import SavedActivations
from ....models.communication_volume import Exchange
from ...errors import Unsupported
from ...workload.data import Items
from ...workload.problem import Problem
from .. import capabilities
from ..adapter import Batch, Network
from . import data, layers, strategies
from .averaging import AVERAGES, mean_weights
from .saved_tensors import saved_bytes
from .update import update_of

_CUDA_GRAPHS = ("reduce-overhead", "max-autotune")  # modes of torch.compile
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class PyTorchNetwork(Network):
    """A network of PyTorch modules."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.device = device_of(problem)
        self.dtype = DTYPES[problem.parameters["dtype"]]
        set_arithmetic()
        torch.manual_seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
        weights_dtype = torch.float32 if problem.training else self.dtype  # training uses autocast
        model = self.placed(self.model_of(problem), weights_dtype)
        self.parameter_count = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
        model.train(problem.training)
        self.model: Any = self.distributed(model)
        if problem.training:
            check_accumulation(problem)
            self.update = self.update_of(problem)
        if problem.parameters["execution"] == COMPILED:
            self.model = torch.compile(self.model, mode=problem.parameters["compile_mode"])
        # FSDP gathers and frees its weights, which inference tensors do not support.
        self.without_gradients = torch.no_grad if problem.parallel else torch.inference_mode
        self.pipelines = data.Pipelines(self.problem)
        self.feed()
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    def model_of(self, problem: Problem) -> nn.Module:
        """Return the module of a case with its initial weights."""
        return layers.sequential(problem.layers, problem.item_shape, problem.weights())

    def placed(self, model: nn.Module, dtype: torch.dtype) -> nn.Module:
        """Return the module on the device of the case, with its numbers in a dtype."""
        return model.to(dtype).to(self.device)

    def distributed(self, model: nn.Module) -> Any:
        """Return the module under the strategy of its case."""
        return strategies.parallel(model, self.problem, self.device)

    def update_of(self, problem: Problem) -> Any:
        """Return the update of the weights: backward passes and the step of the optimizer (update.py)."""
        return update_of(self.model, problem, self.device)

    def trainable(self) -> List[torch.Tensor]:
        """Return the trainable weights, in the order of the layers."""
        return [weight for weight in self.model.parameters() if weight.requires_grad]

    def output(self, inputs: Any) -> torch.Tensor:
        """Return the logits, (batch, classes), of a batch on the device."""
        logits: torch.Tensor = self.model(inputs)
        return logits

    def loss(self, inputs: Any, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch on the device: the mean cross entropy."""
        logits = self.output(inputs)
        return nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())

    def predict(self, inputs: Any) -> torch.Tensor:
        if not self.problem.training:
            with self.without_gradients():
                return self.output(inputs)
        self.model.eval()
        with torch.no_grad(), self.autocast():
            logits = self.output(inputs)
        self.model.train()
        return logits

    def learn(self, batches: Sequence[Batch]) -> torch.Tensor:
        loss = self.differentiate(batches)
        self.update.step()
        return loss

    def differentiate(self, batches: Sequence[Batch]) -> torch.Tensor:
        self.update.begin()
        losses = []
        for count, (inputs, labels) in enumerate(batches, 1):
            with self.update.batch(is_last=count == len(batches)):
                with self.autocast():
                    loss = self.loss(inputs, labels)
                self.update.backward(loss)
            losses.append(loss.detach())
        self.update.exchange()
        return losses[0] if len(losses) == 1 else torch.stack(losses).mean()

    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        return self.moved(torch.from_numpy(inputs), torch.from_numpy(labels))

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        return (self.moved(*batch) for batch in self.pipelines.batches(items, forever))

    def moved(self, inputs: Any, labels: torch.Tensor) -> Batch:
        """Move a batch to the device, then convert it: a converted batch would not be in pinned memory."""
        return self.input_on_device(inputs), labels.to(self.device, non_blocking=True).long()

    def input_on_device(self, array: torch.Tensor) -> torch.Tensor:
        """Return an input on the device; in inference, numbers are in the dtype of the case."""
        array = array.to(self.device, non_blocking=True)
        return array.to(self.dtype) if array.is_floating_point() and not self.problem.training else array

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def to_numpy(self, result: torch.Tensor) -> "numpy.ndarray":
        return result.detach().float().cpu().numpy()

    def common_weights(self) -> ContextManager[None]:
        differ = self.problem.training and self.problem.parallel and self.problem.parameters["strategy"] in AVERAGES
        return mean_weights(self.model) if differ else nullcontext()

    def weights(self) -> "Iterator[numpy.ndarray]":
        with self.common_weights():
            yield from map(strategies.whole, self.trainable())

    def exchange(self) -> Exchange:
        return strategies.exchange(super().exchange(), self.model)

    def gradients(self) -> "Iterator[numpy.ndarray]":
        scale = numpy.float32(self.update.loss_scale())
        for weight in self.trainable():
            yield strategies.whole(torch.zeros_like(weight) if weight.grad is None else weight.grad) / scale

    def peak_device_bytes(self) -> Optional[int]:
        if self.device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self.device))
        return None

    def saved_activations(self) -> SavedActivations:
        if self.problem.parameters["strategy"] in SHARDED:
            return SavedActivations(reason="saved tensors include the gathered weights of this strategy")
        inputs, labels = next(self._batches)
        arrays = inputs.values() if isinstance(inputs, dict) else [inputs]

        def forward() -> torch.Tensor:
            with self.autocast():
                return self.loss(inputs, labels)

        others = [*self.model.parameters(), *self.model.buffers(), *arrays, labels]
        return SavedActivations(saved_bytes(forward, others), "torch.autograd.graph.saved_tensors_hooks")

    def remarks(self) -> List[str]:
        return remarks_on_graphs("model") if self.problem.parameters["execution"] == COMPILED else []

    def close(self) -> None:
        strategies.leave()

    def autocast(self) -> ContextManager[Any]:
        """Return the context in which training computes in 16 bits, if the case does."""
        if self.dtype is torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)


def remarks_on_graphs(compiled: str) -> List[str]:
    """Return a remark if torch.compile could not compile all of a model or operator."""
    counters = torch._dynamo.utils.counters
    breaks = sum(counters["graph_break"].values())
    if not breaks:
        return []
    values = (compiled, counters["stats"]["unique_graphs"])
    return ["torch.compile split the %s into %d graphs, and runs the code between them eagerly" % values]


def check_accumulation(problem: Problem) -> None:
    """Raise Unsupported for accumulation with CUDA graphs: the next graph would overwrite the gradients of the last."""
    mode = problem.parameters["compile_mode"]
    if problem.batches_per_step > 1 and problem.on_gpu and mode in _CUDA_GRAPHS:
        raise Unsupported("gradient_accumulation_steps cannot be used with compile_mode: %s on a GPU" % mode)


def device_of(problem: Problem) -> torch.device:
    """Return the device of a case, which becomes the current one."""
    if not problem.on_gpu:
        return torch.device("cpu")
    index = capabilities.own_gpu(problem, torch.cuda.device_count())
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def set_arithmetic() -> None:
    """Set the arithmetic of float32 and the choice of kernels. User code may have changed them."""
    # Equal float32 arithmetic in all frameworks. TF32 would round the factors to 10 bits: PyTorch allows it in
    # convolutions and LSTMs, and NVIDIA's images of PyTorch (by TORCH_ALLOW_TF32_CUBLAS_OVERRIDE) in matrix products,
    # too.
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True  # shapes are fixed, and other frameworks let cuDNN benchmark, too
