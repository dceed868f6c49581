"""Where a section begins: hooks on its module, forward and backward."""

from typing import Any, Callable, List, Optional

FORWARD, BACKWARD = "forward", "backward"


def on_begin(module: Any, phase: str, begin: Callable[[], None]) -> List[Any]:
    """Hooks that call `begin` when a section of this module begins. What is removed is called no more."""
    if phase == FORWARD:
        return [module.register_forward_pre_hook(lambda module, inputs: begin())]
    active = _Active()

    def of_output(module: Any, inputs: Any, output: Any) -> None:
        tensor = _with_gradient(output)
        if tensor is not None:
            tensor.register_hook(lambda gradient: begin() if active.on else None)

    return [module.register_forward_hook(of_output), active]


class _Active:
    """Stands for hooks on tensors of graphs, which may outlive those on modules."""

    on = True

    def remove(self) -> None:
        self.on = False


def _with_gradient(output: Any) -> Optional[Any]:
    """The first tensor of a module's output that gets a gradient."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (tuple, list)):
        for each in output:
            found = _with_gradient(each)
            if found is not None:
                return found
        return None
    return output if getattr(output, "requires_grad", False) else None
