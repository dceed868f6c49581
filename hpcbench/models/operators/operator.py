"""An operator as data: the arrays that it takes and returns, its FLOPs, and the numbers that it moves.

Arrays are described in one layout for all frameworks: images as (n, channels, height, width), kernels of convolutions
as (filters, channels, height, width), matrices row by row, and those of layers as (outputs, inputs).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

Shape = Tuple[int, ...]

FORWARD, OF_INPUTS, OF_WEIGHTS, BOTH = "forward", "backward_inputs", "backward_weights", "both"
PHASES = (FORWARD, OF_INPUTS, OF_WEIGHTS, BOTH)
INPUT, WEIGHT, INDEX = "input", "weight", "index"  # roles: indices have no gradient
INDEX_BYTES = 4  # at least; some frameworks have indices of 64 bits
PLAIN, IMAGE, KERNEL, MATRIX, SPARSE = "plain", "image", "kernel", "matrix", "sparse"  # layouts
UNIFORM, DISTINCT = "uniform", "distinct"  # values: the latter have no equal numbers in any window of this side
LARGEST_WINDOW = 16  # whose 256 levels are exact in bfloat16
_ROLES = {FORWARD: (), OF_INPUTS: (INPUT,), OF_WEIGHTS: (WEIGHT,), BOTH: (INPUT, WEIGHT)}


class Array(NamedTuple):
    """An array of an operator. Its values are uniform in +- `spread`, or integers below `below` if it has indices.

    `least` is added to the absolute value of each number: operators are not differentiable where they have a kink.
    """

    shape: Shape
    role: str = INPUT
    spread: float = math.sqrt(3)  # variance 1
    layout: str = PLAIN
    below: int = 0
    values: str = UNIFORM
    least: float = 0.0
    zeros: float = 0.0  # fraction of a sparse array

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Operator(ABC):
    """One operator; the fields of a subclass are its sizes and attributes, with their defaults."""

    phases: ClassVar[Sequence[str]] = PHASES
    # Products of the cost of the forward pass that the gradients by role take; empty: none has FLOPs.
    products: ClassVar[Mapping[str, int]] = {}
    is_random: ClassVar[bool] = False
    is_collective: ClassVar[bool] = False  # whether all tasks make one call together

    @abstractmethod
    def arrays(self) -> Dict[str, Array]:
        """Return the arrays that the operator takes, by name."""

    @abstractmethod
    def output(self) -> Array:
        """Return the array that the operator returns."""

    def forward_flops(self) -> int:
        """Return the FLOPs of matrix products and convolutions in the forward pass (1 MAC = 2 FLOPs)."""
        return 0

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the names of the arrays that the gradient of the arrays with this role depends on."""
        return list(self.arrays())

    def flops(self, phase: str) -> int:
        """Return the FLOPs of one call of a phase."""
        factor = 1 if phase == FORWARD else sum(self.products.get(role, 0) for role in _ROLES[phase])
        return factor * self.forward_flops()

    def numbers_moved(self, phase: str) -> int:
        """Return how many numbers one call reads and writes at least: each array once."""
        arrays, output = self.arrays(), self.output()
        if phase == FORWARD:
            return sum(array.size for array in arrays.values()) + output.size
        read = {name for role in _ROLES[phase] for name in self.read_by_gradient(role)}
        return output.size + sum(arrays[name].size for name in [*read, *self.gradients(phase)])

    def indices_moved(self, phase: str) -> int:
        """Return how many of these numbers are indices, whose size does not depend on the data type."""
        arrays = self.arrays()
        read = arrays if phase == FORWARD else {each for role in _ROLES[phase] for each in self.read_by_gradient(role)}
        return sum(arrays[name].size for name in read if arrays[name].role == INDEX)

    def bytes_moved(self, phase: str, dtype_bytes: int) -> int:
        """Return how many bytes one call reads and writes at least, with indices of 32 bits."""
        indices = self.indices_moved(phase)
        return (self.numbers_moved(phase) - indices) * dtype_bytes + indices * INDEX_BYTES

    def bus_bytes(self, tasks: int, dtype_bytes: int) -> Optional[int]:
        """Return the bytes that each of the tasks sends in one call; None if they do not communicate."""
        return None

    def given(self) -> Optional[Mapping[str, Any]]:
        """Return the values of the arrays of an operator of the user; None for the others, whose values are drawn."""
        return None

    def fingerprint(self) -> Optional[str]:
        """Return a hash of the definition of an operator of the user; None for the others."""
        return None

    def gradients(self, phase: str) -> Tuple[str, ...]:
        """Return the names of the arrays whose gradients a phase computes; none for the forward pass."""
        return tuple(name for name, array in self.arrays().items() if array.role in _ROLES[phase])

    @property
    def title(self) -> str:
        """Return the name of the operator in messages."""
        return title(type(self))

    def known_phases(self) -> List[str]:
        """Return the phases that the operator has: an operator without weights has no gradient of them."""
        return [each for each in self.phases if each == FORWARD or self.gradients(each)]

    def check_phase(self, phase: str) -> None:
        """Raise ValueError if the operator does not have this phase."""
        if phase not in self.known_phases():
            values = (self.title, phase, ", ".join(self.known_phases()))
            raise ValueError("the operator %s has no phase %s; use one of: %s" % values)


def title(kind: Any) -> str:
    """Return the name of an operator: `lstm_cell` for LstmCell."""
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in kind.__name__).lstrip("_")
