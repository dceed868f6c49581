"""Modules by their paths, as of named_modules(): which lies in which."""

from typing import List


def is_in(path: str, parent: str) -> bool:
    """Whether a module lies in another one."""
    return path != parent and path.startswith(parent + "." if parent else "")


def above(path: str) -> List[str]:
    """The modules that a module lies in: `""`, `a` and `a.b` for `a.b.c`."""
    names = path.split(".") if path else []
    return [".".join(names[:level]) for level in range(len(names))]
