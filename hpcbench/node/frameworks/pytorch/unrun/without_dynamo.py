"""Put off the import of torch._dynamo, which takes as long as that of torch, until something is compiled.

Fake tensors read one value of its configuration. Optimizers and dispatch modes call `torch._dynamo.disable` and
`graph_break`, which change nothing in a process that compiles nothing.
"""

import importlib
import importlib.util
import os
import sys
import types
from typing import Any

import torch

_NAME = "torch._dynamo"


class _Later(types.ModuleType):
    """A package that has the submodules of torch._dynamo, and is replaced by it if something else is used."""

    @staticmethod
    def disable(function: Any = None, recursive: bool = True, **_: Any) -> Any:
        """Return the function: nothing is compiled yet."""
        return function if function is not None else (lambda found: found)

    @staticmethod
    def graph_break(*_: Any) -> None:
        """Do nothing: there is no graph."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if importlib.util.find_spec("%s.%s" % (_NAME, name)):
            return importlib.import_module("%s.%s" % (_NAME, name))
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
        return getattr(importlib.import_module(_NAME), name)


def put_off() -> None:
    """Replace torch._dynamo in this process by a package that imports it later, unless it is imported already."""
    if _NAME in sys.modules:
        return
    later = _Later(_NAME)
    later.__path__ = [os.path.join(torch.__path__[0], "_dynamo")]
    sys.modules[_NAME] = later
    torch._dynamo = later
