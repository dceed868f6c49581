"""Operators that ONNX Runtime fuses into a matrix product or a convolution, so that they launch no kernel.

These are its fusions on CPUs and on CUDA, by name: MatMulAddFusion, MatMulScaleFusion, MatmulTransposeFusion and
ConvBNFusion (https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html).
"""

import math
from typing import Any, Collection, Dict, List, Optional, Set

from .shapes import Shapes

_PRODUCT, _CONVOLUTION = "MatMul", "Conv"


class Fusions:
    """The fusions of a graph; `constant` has the names of its constant tensors, and `known` the shapes."""

    def __init__(self, graph: Any, constant: Collection[str], known: Shapes) -> None:
        self._constant, self._known = constant, known
        self._writers = {name: node for node in graph.node for name in node.output}
        self._readers: Dict[str, List[Any]] = {value.name: [None] for value in graph.output}
        for node in graph.node:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
        self.outputs: Set[str] = set()
        """First outputs of the operators that are fused into another one."""
        for node in reversed(graph.node):
            if self._is_before(node):
                self.outputs.add(node.output[0])
        self.outputs.update(node.output[0] for node in graph.node if self._is_after(node))

    def _is_before(self, node: Any) -> bool:
        """Return whether an operator is a scale or the transposition of a matrix, and only a product reads it."""
        reader = self._only_reader(node.output[0])
        into = reader is not None and (reader.op_type == _PRODUCT or reader.output[0] in self.outputs)
        return into and (self._is_scale(node) or self._is_transposed(node))

    def _is_after(self, node: Any) -> bool:
        """Return whether the operator adds the bias of a product, or normalizes a convolution by constants."""
        varying = self._varying(node)
        if varying is None or self._only_reader(varying) is None:
            return False
        writer = self._writers.get(varying)
        if writer is None or node.op_type not in ("Add", "BatchNormalization"):
            return False
        if node.op_type == "BatchNormalization":
            return bool(writer.op_type == _CONVOLUTION and writer.input[1] in self._constant)
        biases = [self._known.get(name, ()) for name in node.input if name != varying]
        kernel = self._known.get(writer.input[1], ()) if writer.op_type == _PRODUCT else ()
        return len(kernel) == 2 and [tuple(kernel[1:])] == biases

    def _is_scale(self, node: Any) -> bool:
        varying = self._varying(node)
        factors = [self._known.get(name) for name in node.input if name != varying]
        is_first = node.op_type == "Mul" or (node.op_type == "Div" and varying == node.input[0])
        return varying is not None and is_first and all(each is not None and math.prod(each) == 1 for each in factors)

    def _is_transposed(self, node: Any) -> bool:
        orders = [list(each.ints) for each in node.attribute if each.name == "perm"]
        rank = len(orders[0]) if orders else 0
        return bool(node.op_type == "Transpose" and rank > 1 and orders[0] == [*range(rank - 2), rank - 1, rank - 2])

    def _varying(self, node: Any) -> Optional[str]:
        """Return the only input of an operator of ONNX that is not constant; None if it has none, or several."""
        found = [name for name in node.input if name and name not in self._constant]
        return str(found[0]) if len(found) == 1 and not node.domain else None

    def _only_reader(self, name: str) -> Any:
        readers = self._readers.get(name, [])
        return readers[0] if len(readers) == 1 else None
