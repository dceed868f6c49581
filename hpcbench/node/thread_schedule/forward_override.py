"""Replace the forward of a module."""

from typing import Any

from torch import nn

IN_FORCE = "a schedule is applied to this model: copy or save it before apply() or after remove()"


class ForwardOverride:
    """Replaces a module's own forward until it is removed."""

    def __init__(self, module: nn.Module) -> None:
        self._module: Any = module
        self._before = module.__dict__.get("forward")
        self._own = module.forward
        self._in_force = True
        module.forward = self.forward

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the output of the module; this default calls the module's own forward."""
        return self._own(*inputs, **named)

    def remove(self) -> None:
        """Restore the module's forward. An override that was applied later stays, and calls the module's own."""
        self._in_force = False
        stands: Any = self._module.__dict__.get("forward")
        while isinstance(getattr(stands, "__self__", None), ForwardOverride) and not stands.__self__._in_force:
            stands = stands.__self__._before
        if stands is None:
            self._module.__dict__.pop("forward", None)
        else:
            self._module.forward = stands

    def __reduce__(self) -> Any:
        raise TypeError(IN_FORCE)
