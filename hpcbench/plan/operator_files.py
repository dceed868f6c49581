"""Mistakes in the Python files of operators of the user that their text shows, before a node imports them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from hpcbench.config.parameters import Parameters
from hpcbench.models.operators.user_file import file_of
from hpcbench.util.bounded_read import content

_REQUIRED = ("inputs", "forward", "reference")
_RANDOM = "random"  # the argument of `inputs` that is not a size


def mistakes(cases: Iterable[Parameters], root: Path) -> Iterator[str]:
    """Yield a message for each mistake in the files of the operators of cases, relative to `root`.

    The mistakes are invalid syntax, a missing function, and a size that is not an argument of `inputs`. Files that
    cannot be read have none.
    """
    sizes: dict[str, dict[str, None]] = {}
    for parameters in cases:
        path = file_of(parameters.operator)
        if path is not None:
            sizes.setdefault(path, {}).update(dict.fromkeys(parameters.sizes))
    for path, names in sizes.items():
        try:
            text = content(root / path)
        except (OSError, ValueError):
            continue
        yield from _mistakes_in(text, path, names)


def _mistakes_in(text: bytes, path: str, sizes: Iterable[str]) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escape sequences, for example
            tree = ast.parse(text)
    except SyntaxError as error:
        yield f"{path}:{error.lineno}: {error.msg}"
        return
    except ValueError:  # NUL characters
        yield f"{path}: not valid Python (NUL characters)"
        return
    names = set(_bound(tree))
    if "*" in names:  # imported from a file whose names are unknown
        return
    yield from (f"{path}: function '{name}' not found" for name in _REQUIRED if name not in names)
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "inputs"]
    if len(functions) == 1 and not functions[0].decorator_list:
        arguments = functions[0].args
        known = [each.arg for each in (*arguments.args, *arguments.kwonlyargs) if each.arg != _RANDOM]
        has = f"'inputs' has no argument '%s' for the size; it has: {', '.join(known) or 'none'}"
        yield from (f"{path}:{functions[0].lineno}: {has % name}" for name in sizes if name not in known)


def _bound(tree: ast.AST) -> Iterator[str]:
    """Yield all names that the code binds anywhere: by definitions, assignments and imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
