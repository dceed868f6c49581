"""Put off the import of torch._dynamo, which takes as long as that of torch, until something is compiled.

Fake tensors read one value of its configuration, and name the sources of tensors. Optimizers and dispatch modes call
its `disable` and `graph_break`, which change nothing in a process that compiles nothing.
"""

import importlib
import importlib.util
import os
import sys
import types
from typing import Any, Mapping

import torch

_PACKAGE, _SOURCE = "torch._dynamo", "torch._dynamo.source"
_SOURCES = ("ConstantSource", "RandomValueSource")  # they only name tensors whose shapes are not symbolic


class _Later(types.ModuleType):
    """A module with some attributes, which is replaced by the real one if another attribute is used."""

    def __init__(self, name: str, known: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        own = self.__name__
        if own == _PACKAGE and importlib.util.find_spec("%s.%s" % (own, name)):
            return importlib.import_module("%s.%s" % (own, name))
        if sys.modules.get(own) is self:
            del sys.modules[own]
        return getattr(importlib.import_module(own), name)


def _disable(function: Any = None, recursive: bool = True, **_: Any) -> Any:
    """Return the function: nothing is compiled yet."""
    return function if function is not None else (lambda found: found)


def _graph_break(*_: Any) -> None:
    """Do nothing: there is no graph."""


def put_off() -> None:
    """Replace torch._dynamo in this process by a package that imports it later, unless it is imported already."""
    if _PACKAGE in sys.modules:
        return
    later = _Later(_PACKAGE, {"disable": _disable, "graph_break": _graph_break})
    later.__path__ = [os.path.join(torch.__path__[0], "_dynamo")]
    sys.modules[_PACKAGE] = later
    sys.modules[_SOURCE] = _Later(_SOURCE, dict.fromkeys(_SOURCES, str))
    torch._dynamo = later
