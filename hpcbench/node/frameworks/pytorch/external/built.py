"""A model of a library or of the user, with the inputs that its library describes."""

import sys
from typing import Any, Callable, Dict, NamedTuple, Sequence

import torch
from torch import nn

from .....models.inputs import Input
from ....errors import BadModel, Unsupported
from ...external import building


class Built(NamedTuple):
    """A module on the CPU, those of its inputs that its library describes, by name, and remarks for the record."""

    module: nn.Module
    inputs: Dict[str, Input]
    remarks: Sequence[str] = ()


def built(title: str, build: Callable[[], Any]) -> nn.Module:
    """Return the module that `build` makes for the model `title`.

    Raise BadModel if it fails, returns no module, or one with a TorchScript module, whose operations are not visible.
    """
    module: nn.Module = building.built(title, build, nn.Module, "torch.nn.Module")
    for path, each in module.named_modules():
        if isinstance(each, torch.jit.ScriptModule):
            what = "%s returned a TorchScript module%s; return the torch.nn.Module before torch.jit"
            raise BadModel(what % (title, " in '%s'" % path if path else ""))
    return module


def not_installed(library: str, error: ImportError) -> Unsupported:
    """Return the error for a library that this Python lacks, that lacks a package, or that cannot be imported."""
    advice = "build the environment: hpcbench env build pytorch-zoo"
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return Unsupported("%s cannot be imported by %s (%s); %s" % (library, sys.executable, error, advice))
    reason = "" if error.name == library else " (required by %s)" % library
    return Unsupported("%s not found in %s%s; %s" % (error.name, sys.executable, reason, advice))
