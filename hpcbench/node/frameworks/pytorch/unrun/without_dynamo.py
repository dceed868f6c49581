"""Put off the import of torch._dynamo, which takes as long as that of torch, until something is compiled.

Fake tensors read one value of its configuration, and name the sources of tensors. Optimizers and dispatch modes call
its `disable` and `graph_break`, which change nothing in a process that compiles nothing.
"""

import importlib
import importlib.util
import os
import sys
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, Mapping, Optional

import torch

_PACKAGE, _SOURCE, _CONFIG = "torch._dynamo", "torch._dynamo.source", "torch._dynamo.config"
_SOURCES = ("ConstantSource", "RandomValueSource")  # they only name tensors whose shapes are not symbolic


class _Later(types.ModuleType):
    """A module with some attributes, which is replaced by the real one if another attribute is used."""

    def __init__(self, name: str, known: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _import_now()
        return getattr(importlib.import_module(self.__name__), name)


class _Finder(MetaPathFinder, Loader):
    """Import the real package before a module inside it: in another order, its circular imports fail."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """Return the spec of a module that the real package has imported already; None for all others."""
        if not name.startswith(_PACKAGE + ".") or not isinstance(sys.modules.get(_PACKAGE), _Later):
            return None
        _import_now()
        return importlib.util.spec_from_loader(name, self) if name in sys.modules else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return the module that the real package has imported."""
        return sys.modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the import has executed the module."""


_FINDER = _Finder()


def _import_now() -> None:
    """Import the real package in place of the one that put it off."""
    for name in (_PACKAGE, _SOURCE):
        if isinstance(sys.modules.get(name), _Later):
            del sys.modules[name]
    if isinstance(vars(torch).get("_dynamo"), _Later):
        del torch._dynamo
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    importlib.import_module(_PACKAGE)


def _disable(function: Any = None, recursive: bool = True, **_: Any) -> Any:
    """Return the function: nothing is compiled yet."""
    return function if function is not None else (lambda found: found)


def _graph_break(*_: Any) -> None:
    """Do nothing: there is no graph."""


def put_off() -> None:
    """Replace torch._dynamo in this process by a package that imports it later, unless it is imported already."""
    if _PACKAGE in sys.modules:
        return
    later = _Later(
        _PACKAGE,
        {"disable": _disable, "graph_break": _graph_break, "__path__": [os.path.join(torch.__path__[0], "_dynamo")]},
    )
    sys.modules[_PACKAGE] = torch._dynamo = later
    sys.modules[_SOURCE] = _Later(_SOURCE, dict.fromkeys(_SOURCES, str))
    vars(later)["config"] = importlib.import_module(_CONFIG)
    sys.meta_path.insert(0, _FINDER)
