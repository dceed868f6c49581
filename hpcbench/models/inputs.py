"""The inputs of a model that is not one of the shipped ones: shape and data type of one item, by name."""

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

FLOAT, TOKENS = "float32", "tokens"
DTYPES = (FLOAT, TOKENS, "int64", "int32", "bool")
UNNAMED = ""  # the key of a single positional input


class Input(NamedTuple):
    """One input. `shape` is that of one item; `tokens` are int64 from 0 to `vocabulary` - 1."""

    shape: Tuple[int, ...]
    dtype: str = FLOAT
    vocabulary: Optional[int] = None
    value: Optional[float] = None  # of all elements; without one, numbers are random


Inputs = Dict[str, Input]


def merged(known: Mapping[str, Input], given: Optional[Mapping[str, Any]]) -> Inputs:
    """Return the default inputs of a library, updated with those of the experiment.

    A single unnamed input updates every default input. Raise ValueError if an input has no shape, tokens have no
    vocabulary, or integers have no value.
    """
    if not given:
        return _checked(dict(known))
    if is_single(given):
        fields = {name: value for name, value in given.items() if value is not None}
        base = known or {UNNAMED: Input(())}
        if not known and "shape" not in fields:
            raise ValueError("'shape' is missing for 'input', e.g. shape: [3, 224, 224]")
        return _checked({name: _overridden(each, fields) for name, each in base.items()})
    found = {name: each for name, each in known.items() if name != UNNAMED}  # names replace a positional input
    for name, fields in given.items():
        own = {key: value for key, value in fields.items() if value is not None}
        if name not in known and "shape" not in own:
            raise ValueError("'shape' is missing for input '%s', e.g. shape: [128]" % name)
        found[name] = _overridden(found.get(name, Input(())), own)
    return _checked(found)


def is_single(given: Mapping[str, Any]) -> bool:
    """Return whether an `input` describes one input, instead of several by name."""
    return not all(isinstance(value, Mapping) for value in given.values())


def in_short(given: Optional[Mapping[str, Any]]) -> Optional[str]:
    """Return `3x96x96`, `128 tokens vocabulary=30522` or `ids: 128 tokens vocabulary=9; mask: 128 bool value=1`.

    Different inputs have different texts. Return None without an input.
    """
    if not given:
        return None
    if is_single(given):
        return _one_in_short(given)
    return "; ".join("%s: %s" % (name, _one_in_short(fields)) for name, fields in given.items())


def _one_in_short(fields: Mapping[str, Any]) -> str:
    parts = ["x".join(map(str, fields.get("shape") or ())), fields.get("dtype")]
    parts += ["%s=%s" % (name, fields[name]) for name in ("vocabulary", "value") if fields.get(name) is not None]
    return " ".join(filter(None, parts))


def _overridden(one: Input, fields: Mapping[str, Any]) -> Input:
    changed = one._replace(**dict(fields, **({"shape": tuple(fields["shape"])} if "shape" in fields else {})))
    if "dtype" in fields and changed.dtype != TOKENS and "vocabulary" not in fields:
        return changed._replace(vocabulary=None)
    return changed


def _checked(inputs: Inputs) -> Inputs:
    for name, each in inputs.items():
        title = "input '%s'" % name if name else "'input'"
        if each.dtype == TOKENS and not each.vocabulary:
            raise ValueError(
                "'vocabulary' is missing for %s: dtype: tokens requires it, e.g. vocabulary: 30522" % title
            )
        if each.dtype not in (FLOAT, TOKENS) and each.value is None:
            raise ValueError("'value' is missing for %s: dtype: %s requires it, e.g. value: 1" % (title, each.dtype))
        if each.value is not None and not _fits(each):
            kind = "an integer below vocabulary, %d" % (each.vocabulary or 0) if each.dtype == TOKENS else each.dtype
            raise ValueError("'value' of %s is %r, not %s" % (title, each.value, kind))
    return inputs


def _fits(one: Input) -> bool:
    """Return whether the value of an input is one of its dtype."""
    value = one.value or 0
    if one.dtype == FLOAT:
        return not isinstance(one.value, bool)
    if one.dtype == "bool":
        return value in (0, 1)
    bits = 31 if one.dtype == "int32" else 63
    below = one.vocabulary or 1 if one.dtype == TOKENS else 2**bits
    return value == int(value) and (0 if one.dtype == TOKENS else -(2**bits)) <= value < below
