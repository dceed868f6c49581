"""Detect compiled modules, in which hooks are not called."""

from typing import Any, List, Mapping

import torch


def refuse_compiled(model: Any, what: str) -> None:
    """Raise ValueError, with a message that begins with `what`, if the model is compiled as a whole."""
    if is_compiled(model):
        raise ValueError("%s: the model is compiled: pass the model without torch.compile or torch.jit" % what)


def compiled_in(modules: Mapping[str, Any]) -> List[str]:
    """Return the paths of the compiled modules."""
    return [path for path, module in modules.items() if is_compiled(module)]


def is_compiled(module: Any) -> bool:
    """Return whether torch.compile, the module's own compile() or TorchScript has compiled it or its forward."""
    forward = getattr(module, "forward", None)
    return (
        isinstance(module, torch.jit.ScriptModule)
        or hasattr(module, "_orig_mod")
        or getattr(module, "_compiled_call_impl", None) is not None
        # The result of torch.compiler.disable has the original forward, too.
        or (hasattr(forward, "_torchdynamo_orig_callable") and not getattr(forward, "_torchdynamo_disable", False))
    )
