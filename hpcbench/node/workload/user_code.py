"""Import a function of the user, such as `mypackage.nets:build`, from the workspace or the framework's environment."""

import difflib
import importlib
import inspect
import os
import sys
import traceback
from typing import Any, Callable, List, Optional, Sequence

from ...core.status import LAST_LINES
from ...models.source import split_function
from ..errors import BadModel

_SHOWN = 6  # folders of the search path in a message


def function(text: str, purpose: str, receives: Sequence[str] = ()) -> Callable[..., Any]:
    """Return the function `module:name`. The folder of the run, the workspace, comes first in the search path.

    `purpose` is the parameter that contains `text`. `receives` are the positional arguments that hpcbench passes; empty
    skips their check. Raise BadModel if the import, the lookup or the check fails.
    """
    module_name, name = split_function(text)
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _not_imported(error, module_name, purpose) from error
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, [each for each in dir(found) if not each.startswith("_")], 3)
            hint = "; did you mean %s?" % " or ".join(near) if near else ""
            where = getattr(sys.modules[module_name], "__file__", None) or module_name
            raise BadModel("%s: '%s' not found in %s%s" % (purpose, part, where, hint))
        found = getattr(found, part)
    if not callable(found):
        raise BadModel("%s: '%s' is an object of type %s, not a function" % (purpose, text, type(found).__name__))
    called: Callable[..., Any] = found
    if receives and inspect.isclass(called):
        raise BadModel("%s: '%s' is a class, not a function" % (purpose, text))
    if receives:
        _check_arguments(called, text, purpose, receives)
    return called


def _check_arguments(called: Callable[..., Any], text: str, purpose: str, receives: Sequence[str]) -> None:
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # functions in C may have no signature
        return
    try:
        signature.bind(*receives)
    except TypeError as error:
        what = "%s: '%s' cannot be called with (%s); its signature is %s"
        raise BadModel(what % (purpose, text, ", ".join(receives), signature)) from error


def last_lines(error: Optional[BaseException]) -> List[str]:
    """Return the last lines of the traceback of an error of the user's code."""
    if error is None:
        return []
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    return lines[-LAST_LINES:]


def in_one_line(error: BaseException) -> str:
    """Return the type and the first line of the message of an error."""
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0]) if lines else type(error).__name__


def _not_imported(error: BaseException, module: str, purpose: str) -> BadModel:
    missing = isinstance(error, ModuleNotFoundError) and (module + ".").startswith((error.name or "") + ".")
    if missing:
        what = "module '%s' not found by %s; %s" % (error.name, sys.executable, _searched())  # type: ignore[attr-defined]
    else:
        what = "importing %s failed: %s" % (module, in_one_line(error))
        if isinstance(error, ModuleNotFoundError):
            what += " in %s; %s" % (sys.executable, _searched())
    return BadModel("%s: %s" % (purpose, what), last_lines(error))


def _searched() -> str:
    """Return the first folders of the search path."""
    folders = [folder for folder in sys.path if folder and not folder.endswith(".pyz")]
    more = ["and %d more" % (len(folders) - _SHOWN)] if len(folders) > _SHOWN else []
    return "searched in: " + ", ".join(folders[:_SHOWN] + more)
