"""The inputs of a case for the graph of an ONNX file: the file's, updated with those of the experiment."""

import difflib
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy

from ....models import inputs as model_inputs
from ....models.initial_weights import Numbers
from ....models.inputs import FLOAT, TOKENS, Input, Inputs
from ...errors import BadModel, FixedBatch, IncompleteInput
from ...workload import synthetic
from .model_file import FLOATS, Declared

Fields = Mapping[str, Any]
_GIVEN_FOR = {"shape": "shape: [...]", "value": "either vocabulary: N or value: N"}


def inputs_of(path: str, declared: Mapping[str, Declared], given: Optional[Fields], size: int) -> Inputs:
    """Return the inputs of batches of `size` items, by the names of the graph; `given` is `input` of the experiment.

    Raise BadModel if an input is missing or incomplete, or does not fit the graph.
    """
    fields = _by_name(path, declared, given)
    known: Dict[str, Input] = {}
    incomplete: List[str] = []
    lacking: Dict[str, None] = {}  # in place of an ordered set
    for name, each in declared.items():
        own = fields.get(name, {})
        missing = _missing(each, own)
        if missing:
            required = " and ".join(_GIVEN_FOR[field] for field in missing)
            incomplete.append("'%s' of type %s requires %s" % (name, each, required))
            lacking.update(dict.fromkeys(missing))
        else:
            known[name] = Input(_item_shape(each), _default_dtype(each, own))
    if incomplete:
        raise IncompleteInput("'input' is incomplete for %s: %s" % (path, "; ".join(incomplete)), list(lacking))
    try:
        found = model_inputs.merged(known, fields)
    except ValueError as error:
        raise BadModel("%s: %s" % (path, error)) from error
    for name, each in declared.items():
        _check(path, name, each, found[name], size)
    return found


def arrays(declared: Mapping[str, Declared], inputs: Inputs, size: int, numbers: Numbers) -> "Dict[str, numpy.ndarray]":
    """Return synthetic input, (size, *shape of the item), by name, in the data types of the graph."""
    return {name: synthetic.array(inputs[name], size, numbers).astype(declared[name].dtype) for name in declared}


def fixed_batch(declared: Mapping[str, Declared]) -> Optional[int]:
    """Return the batch size that the graph requires; None if it accepts any."""
    sizes = [each.shape[0] for each in declared.values() if each.shape and isinstance(each.shape[0], int)]
    return sizes[0] if sizes else None


def _by_name(path: str, declared: Mapping[str, Declared], given: Optional[Fields]) -> Dict[str, Fields]:
    """Return the fields of each input. A single unnamed input describes all of them."""
    if not given:
        return {}
    if model_inputs.is_single(given):
        return dict.fromkeys(declared, given)
    for name in given:
        if name not in declared:
            near = difflib.get_close_matches(name, list(declared), 3)
            hint = "did you mean %s?" % " or ".join(near) if near else "its inputs are: %s" % ", ".join(declared)
            raise BadModel("input '%s' not found in %s; %s" % (name, path, hint))
    return {name: fields for name, fields in given.items() if fields}


def _missing(declared: Declared, given: Fields) -> List[str]:
    """Return the fields that the experiment must give: a dynamic shape, and the values of integers."""
    missing = []
    if _item_shape(declared) is _DYNAMIC and "shape" not in given:
        missing.append("shape")
    if declared.dtype not in FLOATS and not {"vocabulary", "value"} & set(given):
        missing.append("value")
    return missing


_DYNAMIC: Tuple[int, ...] = (0,)  # in place of a shape; no input has it


def _item_shape(declared: Declared) -> Tuple[int, ...]:
    """Return the shape of one item; _DYNAMIC if the graph does not define it."""
    if declared.shape is None:
        return _DYNAMIC
    sizes = tuple(size for size in declared.shape[1:] if isinstance(size, int))
    return sizes if len(sizes) == len(declared.shape) - 1 else _DYNAMIC


def _default_dtype(declared: Declared, given: Fields) -> str:
    if declared.dtype in FLOATS:
        return FLOAT
    if "vocabulary" in given:
        return TOKENS
    return declared.dtype if declared.dtype in model_inputs.DTYPES else "int64"


def _check(path: str, name: str, declared: Declared, found: Input, size: int) -> None:
    """Raise BadModel if an input does not have the type, shape or batch size of the graph."""
    if not _fits(declared.dtype, found.dtype):
        raise BadModel("input '%s' of %s has type %s, not %s" % (name, path, declared.dtype, found.dtype))
    if declared.shape is None:
        return
    batch, *sizes = declared.shape
    pairs = list(zip(sizes, found.shape))
    if len(sizes) != len(found.shape) or any(isinstance(one, int) and one != other for one, other in pairs):
        wanted = ", ".join(map(str, sizes))
        what = "shape %s of input '%s' does not fit %s, which requires [%s]"
        raise BadModel(what % (list(found.shape), name, path, wanted))
    if isinstance(batch, int) and batch != size:
        what = "%s has a fixed batch size of %d, not %d; set batch_size: %d, or export it with a dynamic batch"
        raise FixedBatch(what % (path, batch, size, batch), batch)


def _fits(of_graph: str, given: str) -> bool:
    if given == FLOAT:
        return of_graph in FLOATS
    if given == "bool" or of_graph == "bool":
        return given == of_graph
    return of_graph.lstrip("u").startswith("int")
