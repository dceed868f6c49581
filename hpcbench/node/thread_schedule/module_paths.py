"""The paths of modules, as named_modules() returns them."""

from typing import List


def is_in(path: str, parent: str) -> bool:
    """Return whether a module is inside another one."""
    return path != parent and path.startswith(parent + "." if parent else "")


def above(path: str) -> List[str]:
    """Return the paths of the modules that contain a module: `""`, `a` and `a.b` for `a.b.c`."""
    names = path.split(".") if path else []
    return [".".join(names[:level]) for level in range(len(names))]
