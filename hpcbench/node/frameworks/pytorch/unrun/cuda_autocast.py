"""The data types of operators under CUDA's autocast, on tensors of the CPU, whose autocast has other lists."""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# Operators that CUDA's autocast computes in float32, and the CPU's does not: PyTorch's documentation, "Automatic Mixed
# Precision package", section "CUDA Ops that can autocast to float32". Their functions are in torch, Tensor or
# torch.nn.functional.
_IN_FLOAT32 = {
    *("layer_norm", "group_norm", "rms_norm", "softmax", "log_softmax", "softmin", "softplus"),
    *("cross_entropy", "nll_loss", "cosine_similarity", "cosine_embedding_loss", "kl_div", "smooth_l1_loss"),
    *("pow", "__pow__", "__rpow__", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt"),
    *("sum", "cumsum", "cumprod", "prod", "norm", "cdist", "renorm", "acos", "asin", "cosh", "sinh", "tan", "erfinv"),
}
_NARROW = (torch.float16, torch.bfloat16)


class CudaAutocast(TorchFunctionMode):
    """Within autocast, pass tensors of 16 bits as float32 to the operators that CUDA's autocast computes in float32."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") in _IN_FLOAT32 and torch.is_autocast_enabled("cpu"):
            args = tuple(map(_wide, args))
            kwargs = {name: _wide(value) for name, value in kwargs.items()}
        return function(*args, **kwargs)


def _wide(value: Any) -> Any:
    is_narrow = isinstance(value, torch.Tensor) and value.dtype in _NARROW
    return value.to(torch.float32) if is_narrow else value
