"""The operators of an exported program for batches of several sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcbench.collect.operator_lists.exported.archive import read_program
from hpcbench.collect.operator_lists.exported.graph import Tensor, nodes_of, tensor_of
from hpcbench.collect.operator_lists.exported.operators import operators_of
from hpcbench.collect.operator_lists.exported.sizes import TooLargeError, UnknownSizeError, hint_of, size, symbol_of
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.errors import UserError

_DYNAMIC = "export it with dynamic_shapes, whose first dimension is torch.export.Dim('batch')"
_UNEXPECTED = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class ExportedProgram:
    """A program in a file. `batch_size` is that of its export; None if it has no tensor as an input.

    `batch_symbol` is the symbol of the batch in its sizes; None if the batch is fixed.
    """

    file: Path
    content: Mapping[str, Any]
    symbols: Mapping[str, int]  # values of dynamic sizes, as exported
    batch_size: int | None
    batch_symbol: str | None

    @property
    def name(self) -> str:
        """Return the name of the file without its suffix."""
        return self.file.stem

    @property
    def weights(self) -> list[Tensor]:
        """Return the parameters of the program."""
        graph = self.content["graph_module"]["graph"]
        return [tensor_of(graph["tensor_values"][name], self.symbols, True) for name in _inputs(self.content)[1]]

    @property
    def dtype(self) -> str:
        """Return the data type of most of the weights; float32 without weights."""
        sizes: Counter[str] = Counter()
        for each in self.weights:
            sizes[each.dtype] += each.elements
        return next((name for name, _ in sizes.most_common(1)), "float32")

    def operators(self, batch_size: int | None = None) -> OperatorList:
        """Return the operators of a forward pass of a batch, by default of the size of the export.

        Raise UserError if the program has another, fixed batch, or if sizes depend on values.
        """
        try:
            symbols = {**self.symbols, **self._with_batch(batch_size)}
            graph = self.content["graph_module"]["graph"]
            found = operators_of(nodes_of(graph, symbols, frozenset(_inputs(self.content)[1])))
            count = sum(each.elements for each in self.weights)
        except _UNEXPECTED as error:
            raise _unexpected(self.file, self.content, error) from error
        return OperatorList("", "", found, _version(self.content), count)

    def _with_batch(self, batch_size: int | None) -> Mapping[str, int]:
        if batch_size is None or batch_size == self.batch_size:
            return {}
        if self.batch_symbol is None:
            what = f"the program has a fixed batch size of {self.batch_size}, not {batch_size}"
            raise UserError(what, where=str(self.file), hint=_DYNAMIC)
        limit = (self.content.get("range_constraints") or {}).get(self.batch_symbol, {}).get("max_val")
        if limit is not None and batch_size > limit:
            what = f"the batch size {batch_size} exceeds {limit}, the maximum of the program"
            raise UserError(what, where=str(self.file), hint=_DYNAMIC)
        return {self.batch_symbol: batch_size}


def exported_program(file: Path) -> ExportedProgram:
    """Return the program in a file of torch.export. Raise UserError if the file is not one."""
    content = read_program(file)
    try:
        given = [content["graph_module"]["graph"]["tensor_values"][name]["sizes"] for name in _inputs(content)[0]]
        found = {symbol_of(each): hint_of(each) for sizes in given for each in sizes}
        symbols = {name: value for name, value in found.items() if name is not None and value is not None}
        first = next((sizes[0] for sizes in given if sizes), None)
        batch = None if first is None else size(first, symbols)
        return ExportedProgram(file, content, symbols, batch, None if first is None else symbol_of(first))
    except _UNEXPECTED as error:
        raise _unexpected(file, content, error) from error


def _inputs(content: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of the tensors that a user gives, and of the parameters."""
    given, weights = [], []
    for spec in content["graph_module"]["signature"]["input_specs"]:
        if "user_input" in spec and "as_tensor" in spec["user_input"]["arg"]:
            given.append(spec["user_input"]["arg"]["as_tensor"]["name"])
        elif "parameter" in spec:
            weights.append(spec["parameter"]["arg"]["name"])
    return given, weights


def _version(content: Mapping[str, Any]) -> str:
    return str(content.get("torch_version", "unknown"))


def _unexpected(file: Path, content: Mapping[str, Any], error: Exception) -> UserError:
    if isinstance(error, UnknownSizeError):
        what = f"the size '{error}' of a tensor is unknown: it depends on values, or the export did not store it"
        return UserError(what, where=str(file), hint="export the program with fixed sizes, except that of the batch")
    if isinstance(error, TooLargeError):
        return UserError(str(error), where=str(file), hint="use a smaller batch size")
    what = f"the graph has unexpected content: {type(error).__name__}: {error}"
    return UserError(
        what,
        where=str(file),
        hint=f"it was written by PyTorch {_version(content)}; save it again with PyTorch 2.6 or newer",
    )
