"""Operators of Keras 3 on PyTorch."""

from functools import partial
from typing import Callable, ClassVar, Dict, Tuple

import torch

from ....models.operators import products, recurrent
from ....models.operators.operator import KERNEL, MATRIX
from ...errors import Unsupported
from ...workload.problem import Problem
from ..operator_call import ChannelsLast, Orders, Request
from ..pytorch.operators import PyTorchOperator
from .operator_functions import FUNCTIONS, LAYERS, STATES, without_float64

_WITHOUT_FLOAT64 = without_float64(products.Gemm, products.Bmm, products.Linear, recurrent.RnnCell)


class KerasTorchOperator(ChannelsLast, PyTorchOperator):
    """An operator of Keras on PyTorch's engine. Images have channels first; kernels and matrices are those of Keras."""

    _ORDERS: ClassVar[Orders] = {layout: ChannelsLast._ORDERS[layout] for layout in (KERNEL, MATRIX)}
    _BACK: ClassVar[Orders] = {layout: ChannelsLast._BACK[layout] for layout in (KERNEL, MATRIX)}

    def __init__(self, request: Request, problem: Problem) -> None:
        if isinstance(request.operator, products.SparseGemm):
            raise Unsupported("Keras has sparse tensors on TensorFlow and JAX only")
        if request.dtype == "float64" and type(request.operator) in _WITHOUT_FLOAT64:
            raise Unsupported("float64 is not available: %s" % _WITHOUT_FLOAT64[type(request.operator)])
        super().__init__(request, problem)

    def built(self, tensors: Dict[str, torch.Tensor]) -> Tuple[Callable[..., torch.Tensor], Dict[str, torch.Tensor]]:
        operator = self.request.operator
        function, state = partial(FUNCTIONS[type(operator)], operator), STATES.get(type(operator))
        seed = self.problem.parameters["seed"] + self.problem.group.rank
        own = state(operator, seed, self.request.dtype) if state else {}
        layer = LAYERS.get(type(operator))
        if layer:
            function = partial(function, layer=layer(operator, self.request.dtype))
        return function, {**tensors, **own}
