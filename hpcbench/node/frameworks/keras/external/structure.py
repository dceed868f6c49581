"""The structure of a Keras model: the same description on all backends."""

import inspect
import io
import json
import tokenize
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, Dict, Iterator, List

import keras

_OF_DTYPE = ("dtype", "dtype_policy")


def lines(model: keras.Model) -> List[str]:
    """Return one line per layer: type, configuration without dtypes, and the shapes of its own weights.

    Layers whose class is not Keras's also have its source code, because a configuration does not describe `call`.
    Names of layers and operations, which count those of the process, are replaced by their position in the model.
    """
    layers = list(model._flatten_layers())
    parts = [*layers, *(each for layer in layers for each in getattr(layer, "operations", ()))]
    names = {each.name: "%s#%d" % (type(each).__name__, place) for place, each in reversed(list(enumerate(parts)))}
    return [_line(layer, names) for layer in layers] + [str(tuple(weight.shape)) for weight in model.weights]


@contextmanager
def step_by_step(model: keras.Model) -> Iterator[None]:
    """Let recurrent layers compute each step once, by operations that are counted, instead of in cuDNN.

    Eager loops of Keras compute the first step twice, unless they are unrolled.
    """
    changes = {"use_cudnn": False, **({} if keras.backend.backend() == "jax" else {"unroll": True})}
    before = [
        (each, name, getattr(each, name)) for each in model._flatten_layers() for name in changes if hasattr(each, name)
    ]
    for layer, name, _ in before:
        setattr(layer, name, changes[name])
    try:
        yield
    finally:
        for layer, name, value in before:
            setattr(layer, name, value)


def recurrent_layers(model: keras.Model) -> List[Any]:
    """Return the layers, at any depth, that cuDNN can compute."""
    return [layer for layer in model._flatten_layers() if hasattr(layer, "use_cudnn")]


def _line(layer: Any, names: Dict[str, str]) -> str:
    try:
        configuration = layer.get_config()
    except NotImplementedError:  # of a class with arguments that Keras cannot describe
        configuration = {}
    text = json.dumps(_cleaned(configuration, names), sort_keys=True, default=lambda value: type(value).__name__)
    return "%s %s %s" % (names[layer.name], text, _program(type(layer)))


def _program(kind: type) -> str:
    """Return the source code of a class and its bases without comments, except Keras's; empty without source code."""
    own = takewhile(lambda each: each.__module__.partition(".")[0] != "keras", inspect.getmro(kind))
    try:
        return " ".join(_tokens(inspect.getsource(each)) for each in own)
    except (OSError, TypeError, tokenize.TokenError, IndentationError):
        return ""


def _tokens(source: str) -> str:
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return " ".join(each.string.strip() for each in found if each.type not in (tokenize.COMMENT, tokenize.NL))


def _cleaned(value: Any, names: Dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {str(key): _cleaned(each, names) for key, each in value.items() if key not in _OF_DTYPE}
    if isinstance(value, (list, tuple)):
        return [_cleaned(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value
