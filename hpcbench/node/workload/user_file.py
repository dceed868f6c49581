"""A Python file of the user: its functions, called with the arguments that they have, and with messages for errors."""

import importlib.util
import inspect
import os
import sys
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional

from ..errors import BadModel, Unsupported
from . import extensions
from .user_code import in_one_line, last_lines

_MODULE = "hpcbench_user_operator"
_NOT_OF_USERS = (MemoryError, Unsupported, BadModel, KeyboardInterrupt)
REQUIRED = inspect.Parameter.empty  # the default of a parameter without one
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class UserFile:
    """An imported file. All errors of its code are BadModel, with the file and the line."""

    def __init__(self, path: str) -> None:
        """Import the file; a C++ extension is built in a folder that the processes of this node share.

        Raise BadModel if it fails, and Unsupported if this node lacks what a C++ extension needs.
        """
        self.path = path
        if not os.path.isfile(path):
            raise BadModel("operator: '%s' not found in %s" % (path, os.getcwd()))
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        spec = importlib.util.spec_from_file_location(_MODULE, path)
        if spec is None or spec.loader is None:
            raise BadModel("operator: '%s' is not a Python file; its name must end with .py" % path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[_MODULE] = module  # as pickle, dataclasses and torch.compile expect
        try:
            with extensions.shared_folder(path):
                spec.loader.exec_module(module)
        except _NOT_OF_USERS:
            raise
        except BaseException as error:  # also SystemExit
            lacking = extensions.what_is_missing()
            if lacking:
                raise Unsupported("operator: %s: %s" % (path, lacking)) from error
            raise self._failed("importing it", error) from error
        self.module = module

    def value(self, name: str, default: Any = None) -> Any:
        """Return a constant of the file."""
        return getattr(self.module, name, default)

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the file. Raise BadModel if it does not have it."""
        found = self.value(name)
        if not callable(found):
            raise BadModel("operator: function '%s' not found in %s" % (name, self.path))
        called: Callable[..., Any] = found
        return called

    def parameters(self, name: str) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of a function that can be passed by name."""
        found = inspect.signature(self.function(name)).parameters
        return {each: parameter for each, parameter in found.items() if parameter.kind in _NAMED}

    def arguments(self, name: str, available: Mapping[str, Any]) -> Dict[str, Any]:
        """Return those of the available arguments that a function has. Raise BadModel if it has others."""
        parameters = inspect.signature(self.function(name)).parameters.values()
        if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
            return dict(available)
        named = self.parameters(name)
        unknown = [each for each in named if each not in available and named[each].default is REQUIRED]
        if unknown:
            values = (self.title(name), unknown[0], ", ".join(available) or "none")
            raise BadModel("operator: %s has the unknown argument '%s'; known arguments: %s" % values)
        return {each: available[each] for each in named if each in available}

    def call(self, name: str, available: Mapping[str, Any]) -> Any:
        """Call a function with those of the available arguments that it has."""
        arguments = self.arguments(name, available)
        return self.guarded(name, lambda: self.function(name)(**arguments))

    def guarded(self, name: str, call: Callable[[], Any]) -> Any:
        """Return the result of `call`, which runs the function `name`."""
        try:
            return call()
        except _NOT_OF_USERS:
            raise
        except BaseException as error:  # also SystemExit
            raise self._failed("'%s'" % name, error) from error

    def title(self, name: str) -> str:
        """Return a function with its place: `'forward' (ops/axpy.py:12)`."""
        line = getattr(getattr(self.value(name), "__code__", None), "co_firstlineno", None)
        return "'%s' (%s)" % (name, self.path if line is None else "%s:%d" % (self.path, line))

    def _failed(self, what: str, error: BaseException) -> BadModel:
        line = _line_in(self.path, error)
        place = self.path if line is None else "%s:%d" % (self.path, line)
        return BadModel("operator: %s: %s failed: %s" % (place, what, in_one_line(error)), last_lines(error))


def _line_in(path: str, error: BaseException) -> Optional[int]:
    """Return the last line of the file in the traceback of an error."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames: List[traceback.FrameSummary] = list(traceback.extract_tb(error.__traceback__))
    own = [each.lineno for each in frames if os.path.abspath(each.filename) == os.path.abspath(path)]
    return own[-1] if own else None
