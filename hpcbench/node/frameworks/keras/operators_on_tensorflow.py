"""Operators of Keras 3 on TensorFlow."""

from typing import Any, Callable, Dict, List, Sequence, Type

from keras import ops

from ....core.frameworks import COMPILED, EAGER
from ....models.operators import pointwise, products, recurrent
from ....models.operators.operator import FORWARD, Operator
from ..tensorflow import operator_functions as of_tensorflow
from ..tensorflow.operators import TensorFlowOperator
from ..tensorflow.recurrence import Recurrence, with_own_gradient
from .operator_functions import FUNCTIONS, STATES, gru_step, lstm_layer, lstm_step, rnn_step

Tensor = Any
Apart = Callable[..., Tensor]


def _cell_apart(recurrence: Recurrence) -> Apart:
    """Return a recurrence whose backward pass XLA can compile apart from the forward pass."""

    def function(operator: Operator, wanted: Sequence[str], x: Tensor, kernel: Tensor) -> Tensor:
        return ops.swapaxes(with_own_gradient(recurrence, ops.swapaxes(x, 0, 1), kernel), 0, 1)

    return function


_lstm_cell = _cell_apart(Recurrence(lstm_step, 2))


def _lstm_apart(
    operator: recurrent.Lstm,
    wanted: Sequence[str],
    x: Tensor,
    input_kernel: Tensor,
    hidden_kernel: Tensor,
    **state: Tensor,
) -> Tensor:
    return _lstm_cell(operator, wanted, ops.matmul(x, input_kernel), hidden_kernel)


_RECURRENT: Dict[Type[Operator], Apart] = {
    recurrent.Lstm: _lstm_apart,
    recurrent.LstmCell: _lstm_cell,
    recurrent.RnnCell: _cell_apart(Recurrence(rnn_step, 1)),
    recurrent.GruCell: _cell_apart(Recurrence(gru_step, 1)),
}
_APART: Dict[str, Dict[Type[Operator], Apart]] = {
    EAGER: {products.Conv2d: of_tensorflow.APART[EAGER][products.Conv2d]},
    COMPILED: _RECURRENT,
}
_WITHOUT_FLOAT64: Dict[Type[Operator], str] = {pointwise.Gelu: of_tensorflow.WITHOUT_FLOAT64[pointwise.Gelu]}
_WITHOUT_XLA: Dict[Type[Operator], str] = {
    products.SparseGemm: "it does not have TensorFlow's operation SparseFillEmptyRows",
}


class KerasTensorFlowOperator(TensorFlowOperator):
    """An operator of Keras on TensorFlow's engine."""

    functions = FUNCTIONS
    apart = _APART
    states = STATES
    without_xla = _WITHOUT_XLA
    without_float64 = _WITHOUT_FLOAT64

    def remarks(self) -> List[str]:
        kind, remarks = type(self.request.operator), []
        if kind is recurrent.Lstm and self.problem.on_gpu and self._execution == COMPILED:
            remarks.append("the LSTM runs step by step, not in cuDNN, which XLA cannot compile")
        if kind in _RECURRENT and self.request.phase != FORWARD and self._execution == COMPILED:
            remarks.append(
                "XLA cannot compile the backward pass of Keras' loop apart from its forward pass: it runs as a loop of "
                "TensorFlow over Keras' functions, which computes the activations of each time step again"
            )
        return remarks

    def _tensors(self) -> Dict[str, Tensor]:
        tensors = super()._tensors()
        if isinstance(self.request.operator, recurrent.Lstm):
            layer = lstm_layer(self.request.operator, self.request.dtype)
            layer.use_cudnn = False if self._execution == COMPILED else "auto"  # XLA cannot compile it
        return tensors
