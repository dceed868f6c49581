"""Frozen dataclasses to JSON and back, by their annotations.

Supported annotations: str, int, float, bool, Any, Optional, Union of these, Sequence, Mapping, dataclasses, and named
tuples, which are JSON arrays. A float may be written as a whole number, which is infinite if a float cannot hold it; a
bool is not a number. An int has 64 bits: tables cannot hold more. A field with a default may be absent; fields that the
type does not have are ignored.
"""

import dataclasses
import math
import types
import typing
from functools import lru_cache
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Tuple, Type, TypeVar, Union

T = TypeVar("T")
Decoder = Callable[[Any], Any]

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
EXACT = 2**53  # up to here a float holds each whole number
_NULL = type(None)
_LEAVES: Mapping[Any, FrozenSet[type]] = {
    str: frozenset({str}),
    int: frozenset({int}),
    float: frozenset({int, float}),
    bool: frozenset({bool}),
    _NULL: frozenset({_NULL}),
}
_NUMBERS = _LEAVES[float]
_LEAF_TYPES = frozenset(_LEAVES)
_NAMES = {_NULL: "null", str: "a string", bool: "a boolean", list: "an array", dict: "an object"}
_ABSENT = object()
_UNION_TYPES = getattr(types, "UnionType", ())  # of `int | None`, from Python 3.10 on


class InvalidError(ValueError):
    """JSON that is not of a type: `samples.times_s[3] is a string`, for example."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path + problem)
        self.path = path
        self.problem = problem

    def below(self, path: str) -> "InvalidError":
        """Return the error as seen from the object or array that has the value at `path`."""
        return InvalidError(path + self.path, self.problem)


def to_json(value: Any) -> Any:
    """Return a value as dicts, lists and leaves."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {name: to_json(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return list(value) if _LEAF_TYPES.issuperset(map(type, value)) else [to_json(each) for each in value]
    return value


def from_json(kind: Type[T], data: Any, at: str = "") -> T:
    """Return `data`, the value of the field `at` of something larger, as a value of a dataclass.

    Raise InvalidError with the first field that is missing or of another type.
    """
    try:
        made: T = _decoder(typing.cast(Any, kind))(data)
    except InvalidError as error:
        raise InvalidError((at + error.path).lstrip("."), error.problem) from None
    return made


def leaf_types(annotation: Any) -> Optional[FrozenSet[type]]:
    """Return the Python types of the JSON values that a leaf annotation allows, or None if it is not a leaf."""
    found: FrozenSet[type] = frozenset()
    for kind in _alternatives(annotation):
        if kind not in _LEAVES:
            return None
        found |= _LEAVES[kind]
    return found


def _alternatives(annotation: Any) -> Tuple[Any, ...]:
    is_union = typing.get_origin(annotation) is typing.Union or isinstance(annotation, _UNION_TYPES)
    return typing.get_args(annotation) if is_union else (annotation,)


@lru_cache(maxsize=None)
def _decoder(annotation: Any) -> Decoder:
    if annotation is Any:
        return lambda data: data
    leaves = leaf_types(annotation)
    if leaves is not None:
        return _of_leaf(leaves)
    alternatives = _alternatives(annotation)
    if len(alternatives) > 1:
        (kind,) = (each for each in alternatives if each is not _NULL)
        decode = _decoder(kind)
        return lambda data: None if data is None else decode(data)
    arguments = typing.get_args(annotation)
    if arguments:
        return _of_array(arguments[0]) if len(arguments) == 1 else _of_mapping(arguments[1])
    return _of_named_tuple(annotation) if issubclass(annotation, tuple) else _of_dataclass(annotation)


def _of_leaf(allowed: FrozenSet[type]) -> Decoder:
    def decode(data: Any) -> Any:
        kind = type(data)
        if kind not in allowed:
            raise _is_not(data)
        if kind in _NUMBERS and not -EXACT <= data <= EXACT:
            return _large(data, allowed)
        return data

    return decode


def _large(number: Union[int, float], allowed: FrozenSet[type]) -> float:
    """Return the number, as a float if floats are allowed. Raise InvalidError if the type cannot hold it."""
    if float not in allowed:
        if MIN_INT <= number <= MAX_INT:
            return number
        raise InvalidError("", " does not fit into 64 bits")
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _are_small(numbers: List[Any]) -> bool:
    return all(-EXACT <= number <= EXACT for number in numbers if number is not None)


def _of_array(element: Any) -> Decoder:
    leaves, decode_element = leaf_types(element), _decoder(element)

    def decode(data: Any) -> List[Any]:
        if type(data) is not list:
            raise _is_not(data)
        if leaves and leaves.issuperset(map(type, data)) and (leaves.isdisjoint(_NUMBERS) or _are_small(data)):
            return data
        return [_at("[%d]" % place, decode_element, each) for place, each in enumerate(data)]

    return decode


def _of_mapping(element: Any) -> Decoder:
    decode_element = _decoder(element)

    def decode(data: Any) -> Dict[str, Any]:
        if type(data) is not dict:
            raise _is_not(data)
        return data if element is Any else {name: _at("." + name, decode_element, each) for name, each in data.items()}

    return decode


def _of_named_tuple(kind: Any) -> Decoder:
    decoders = [_decoder(annotation) for annotation in typing.get_type_hints(kind).values()]

    def decode(data: Any) -> Any:
        if type(data) is not list:
            raise _is_not(data)
        if len(data) != len(decoders):
            raise InvalidError("", " has %d elements instead of %d" % (len(data), len(decoders)))
        return kind(*(_at("[%d]" % place, decoders[place], each) for place, each in enumerate(data)))

    return decode


def _of_dataclass(kind: Any) -> Decoder:
    hints = typing.get_type_hints(kind)
    defaults = {field.name: _default(field) for field in dataclasses.fields(kind)}
    allowed_types = {name: leaf_types(annotation) for name, annotation in hints.items()}
    leaves = [(name, allowed, _of_leaf(allowed)) for name, allowed in allowed_types.items() if allowed]
    branches = [(name, _decoder(hints[name])) for name, allowed in allowed_types.items() if not allowed]

    def decode(data: Any) -> Any:
        if type(data) is not dict:
            raise _is_not(data)
        values = {name: data.get(name, default) for name, default in defaults.items()}
        for name, allowed, decode_leaf in leaves:
            value = values[name]
            if type(value) not in allowed or (type(value) in _NUMBERS and not -EXACT <= value <= EXACT):
                values[name] = _at("." + name, decode_leaf, value)
        for name, decode_field in branches:
            if name in data or defaults[name] is _ABSENT:
                values[name] = _at("." + name, decode_field, values[name])
        made = object.__new__(kind)  # __init__ of a frozen dataclass takes ten times as long
        made.__dict__.update(values)
        return made

    return decode


def _default(field: "dataclasses.Field[Any]") -> Any:
    return _ABSENT if field.default is dataclasses.MISSING else field.default


def _at(path: str, decode: Decoder, data: Any) -> Any:
    try:
        return decode(data)
    except InvalidError as error:
        raise error.below(path) from None


def _is_not(data: Any) -> InvalidError:
    return InvalidError("", " is missing" if data is _ABSENT else " is " + _NAMES.get(type(data), "a number"))
