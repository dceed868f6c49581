"""A model of a library or of the user, with the inputs that its library describes."""

import difflib
import sys
from typing import Any, Callable, Dict, Iterable, NamedTuple, Sequence

from torch import nn

from .....models.inputs import Input
from ....errors import BadModel, Unsupported
from ....workload.user_code import in_one_line, last_lines


class Built(NamedTuple):
    """A module on the CPU, those of its inputs that its library describes, by name, and remarks for the record."""

    module: nn.Module
    inputs: Dict[str, Input]
    remarks: Sequence[str] = ()


def built(title: str, build: Callable[[], Any]) -> nn.Module:
    """Return the module that `build` makes for the model `title`.

    Raise BadModel, with the end of the traceback, if it fails or returns something else.
    """
    try:
        module = build()
    except (MemoryError, Unsupported, BadModel):
        raise
    except Exception as error:
        raise BadModel("%s cannot be built: %s" % (title, in_one_line(error)), last_lines(error)) from error
    if not isinstance(module, nn.Module):
        found = type(module).__name__
        raise BadModel("%s returned an object of type %s, not a torch.nn.Module" % (title, found))
    return module


def not_installed(library: str, error: ImportError) -> Unsupported:
    """Return the error for a library that this Python lacks, or that cannot be imported."""
    advice = "build an environment with it: hpcbench env build pytorch-zoo"
    return Unsupported("%s not found in %s (%s); %s" % (library, sys.executable, error, advice))


def unknown_name(library: str, version: str, name: str, known: Iterable[str]) -> BadModel:
    """Return the error for a name that a library does not have, with the nearest names that it has."""
    near = difflib.get_close_matches(name, list(known), 3)
    hint = "; did you mean %s?" % " or ".join(near) if near else ""
    return BadModel("model '%s' not found in %s %s%s" % (name, library, version, hint))
