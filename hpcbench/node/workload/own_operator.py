"""An operator that a Python file of the user defines, by functions that receive the arguments that they name.

`inputs` returns the arrays, `forward` and `backward` are what is measured, and `reference` is NumPy in float64.
docs/guides/operators.md describes all functions.
"""

import hashlib
import math
import os
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

import numpy

from ...core.frameworks import DTYPES
from ...models.operators.operator import FORWARD, INDEX, INPUT, WEIGHT, Array, Operator
from ..errors import BadModel
from .user_file import REQUIRED, UserFile

Arrays = Dict[str, "numpy.ndarray"]
_DIGITS = 16
_DTYPES = (*DTYPES, "float64")
_INT32 = numpy.iinfo(numpy.int32)


@dataclass(frozen=True, eq=False)
class OwnOperator(Operator):
    """The operator of a file, with its sizes and the values of its arrays."""

    file: UserFile
    sizes: Mapping[str, Any]
    values: Arrays

    @property
    def title(self) -> str:
        """Return the file."""
        return self.file.path

    def arrays(self) -> Dict[str, Array]:
        """Return the arrays of `inputs`: those in WEIGHTS are weights, and integers are indices."""
        weights = self.file.value("WEIGHTS", ())
        roles = {name: WEIGHT if name in weights else INPUT for name in self.values}
        return {
            name: Array(array.shape, INDEX if array.dtype == numpy.int32 else roles[name])
            for name, array in self.values.items()
        }

    def given(self) -> Arrays:
        """Return the arrays of `inputs`, in float32 or int32."""
        return self.values

    def output(self) -> Array:
        """Return the output, which has the shape of the reference."""
        return Array(self._output_shape)

    @cached_property
    def _output_shape(self) -> Tuple[int, ...]:
        shape = self.reference(in_float64(self.values)).shape
        if 0 in shape:
            raise BadModel("operator: %s returned an empty array (shape %s)" % (self.file.title("reference"), shape))
        return shape

    def flops(self, phase: str) -> int:
        """Return what the function `flops` returns; 0 without it, or if it describes the forward pass only."""
        return self._count("flops", phase) or 0

    def bytes_moved(self, phase: str, dtype_bytes: int) -> int:
        """Return what the function `bytes_moved` returns, by default each array once."""
        found = self._count("bytes_moved", phase, dtype_bytes)
        return super().bytes_moved(phase, dtype_bytes) if found is None else found

    def fingerprint(self) -> str:
        """Return a hash of the file, and of the files in SOURCES."""
        folder = os.path.dirname(self.file.path)
        digest = hashlib.sha256()
        for path in (self.file.path, *(os.path.join(folder, name) for name in self.file.value("SOURCES", ()))):
            try:
                with open(path, "rb") as source:
                    digest.update(source.read())
            except OSError as error:
                raise BadModel("operator: %s: SOURCES: %s" % (self.file.path, error)) from error
        return digest.hexdigest()[:_DIGITS]

    def reference(self, arrays: Arrays) -> "numpy.ndarray":
        """Return the output in float64 for arrays in float64."""
        return self._in_float64("reference", self.file.call("reference", {**self.sizes, **arrays}))

    def reference_gradients(
        self, arrays: Arrays, cotangent: "numpy.ndarray", wanted: Sequence[str]
    ) -> Optional[Arrays]:
        """Return the gradients in float64 by name; None if the file does not have `reference_backward`.

        Raise BadModel if it fails, or does not return all gradients that are wanted.
        """
        name = "reference_backward"
        if self.file.value(name) is None:
            return None
        found = self.named(name, self.file.call(name, {**self.sizes, **arrays, "cotangent": cotangent}), wanted)
        return {each: self._in_float64(name, found[each]) for each in wanted}

    def named(self, name: str, found: Any, wanted: Sequence[str]) -> Dict[str, Any]:
        """Return the gradients that a function returned by name.

        Raise BadModel if they are not a dictionary, have unknown names, or lack a wanted one.
        """
        title, known = self.file.title(name), ", ".join(self.values)
        if not isinstance(found, dict):
            what = "operator: %s returned %s, not a dictionary of gradients; known names: %s"
            raise BadModel(what % (title, _described(found), known))
        unknown = ", ".join(str(each) for each in found if each not in self.values)
        missing = [each for each in wanted if each not in found]
        if unknown:
            lacking = "; missing: %s" % ", ".join(missing) if missing else ""
            values = (title, unknown, lacking, known)
            raise BadModel("operator: %s returned gradients with unknown names: %s%s; known names: %s" % values)
        if missing:
            raise BadModel("operator: %s did not return the gradient of '%s'" % (title, "', '".join(missing)))
        return found

    def terms(self, name: str) -> int:
        """Return the length of the sums of an array: of the output, or of a gradient."""
        if self.file.value("terms") is None:
            return 1
        found = self.file.call("terms", self.sizes)
        return max(1, self._number("terms", found.get(name, 1) if isinstance(found, dict) else found))

    def tolerance(self, dtype: str) -> Optional[float]:
        """Return the declared tolerance, relative to the largest value of an array; None without one."""
        found = self.file.value("TOLERANCE")
        return found.get(dtype) if isinstance(found, dict) else found

    def _count(self, name: str, phase: str, dtype_bytes: int = 0) -> Optional[int]:
        if self.file.value(name) is None:
            return None
        if phase != FORWARD and "phase" not in self.file.parameters(name):
            return None
        found = self.file.call(name, {**self.sizes, "phase": phase, "dtype_bytes": dtype_bytes})
        return self._number(name, found)

    def _number(self, name: str, found: Any) -> int:
        """Return the number that a function returned. Raise BadModel if it is none, negative or too large."""
        if not _is_real(found) or not 0 <= found < 2**63:
            raise BadModel("operator: %s returned %r, not a number from 0" % (self.file.title(name), found))
        return int(found)

    def _in_float64(self, name: str, found: Any) -> "numpy.ndarray":
        try:
            return numpy.asarray(found, numpy.float64)
        except (TypeError, ValueError) as error:
            values = (self.file.title(name), _described(found))
            raise BadModel("operator: %s returned %s, not an array of NumPy" % values) from error


def load(path: str, sizes: Mapping[str, Any], seed: int, rank: int) -> OwnOperator:
    """Return the operator of a file. Raise BadModel if the file is wrong; the message has the file and the line."""
    file = UserFile(path)
    for name in ("inputs", "forward", "reference"):
        file.function(name)
    known = {name: each.default for name, each in file.parameters("inputs").items() if name != "random"}
    unknown = [name for name in sizes if name not in known]
    if unknown:
        values = (file.title("inputs"), unknown[0], ", ".join(known) or "none")
        raise BadModel("operator: %s has no argument '%s' for the size; it has: %s" % values)
    complete = {
        name: sizes.get(name, default) for name, default in known.items() if name in sizes or default is not REQUIRED
    }
    random = numpy.random.RandomState([seed, rank])
    arrays = _checked(file, file.call("inputs", {"random": random, **complete}))
    clash = sorted(set(arrays) & set(complete))
    if clash:
        raise BadModel("operator: %s: '%s' is a size and an array" % (file.title("inputs"), clash[0]))
    _check_constants(file, arrays)
    return OwnOperator(file, complete, arrays)


def in_float64(arrays: Arrays) -> Arrays:
    """Return arrays with their numbers, but not their indices, in float64."""
    return {
        name: array if array.dtype == numpy.int32 else array.astype(numpy.float64) for name, array in arrays.items()
    }


def _checked(file: UserFile, found: Any) -> Arrays:
    """Return the arrays of `inputs` in float32, or int32 for indices."""
    if not isinstance(found, dict) or not found:
        raise BadModel("operator: %s returned %s, not arrays by name" % (file.title("inputs"), _described(found)))
    arrays = {}
    for name, array in found.items():
        kind = array.dtype.kind if isinstance(array, numpy.ndarray) else ""
        if kind not in ("f", "i", "u"):
            values = (file.title("inputs"), _described(array), name)
            raise BadModel("operator: %s returned %s for '%s', not an array of NumPy with numbers" % values)
        if not array.size:
            values = (file.title("inputs"), array.shape, name)
            raise BadModel("operator: %s returned an empty array (shape %s) for '%s'" % values)
        if kind != "f" and not _INT32.min <= array.min() <= array.max() <= _INT32.max:
            what = "operator: %s returned integers for '%s' that do not fit into 32 bits"
            raise BadModel(what % (file.title("inputs"), name))
        arrays[name] = array.astype(numpy.float32 if kind == "f" else numpy.int32)
    return arrays


def _check_constants(file: UserFile, arrays: Arrays) -> None:
    """Raise BadModel if a constant of the file has a wrong type, or a name that is unknown."""
    for name in ("WEIGHTS", "SOURCES"):
        found = file.value(name, ())
        if not isinstance(found, (list, tuple)) or not all(isinstance(each, str) for each in found):
            use = "%s = (%r,)" % (name, found if isinstance(found, str) else "NAME")
            raise BadModel(
                "operator: %s: %s is %r, not a list or tuple of names; use %s" % (file.path, name, found, use)
            )
    unknown = [name for name in file.value("WEIGHTS", ()) if name not in arrays]
    if unknown:
        what = "operator: %s: array '%s' of WEIGHTS not found; arrays are: %s"
        raise BadModel(what % (file.path, unknown[0], ", ".join(arrays)))
    given = file.value("TOLERANCE")
    tolerances = given if isinstance(given, dict) else {} if given is None else {_DTYPES[0]: given}
    if not all(name in _DTYPES and _is_real(each) and 0 < each < math.inf for name, each in tolerances.items()):
        what = "operator: %s: TOLERANCE is %r; use a positive number, or a dictionary by data type (%s)"
        raise BadModel(what % (file.path, given, ", ".join(_DTYPES)))


def _is_real(value: Any) -> bool:
    return isinstance(value, Real)


def _described(value: Any) -> str:
    return "an object of type %s" % type(value).__name__
