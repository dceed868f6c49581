"""Docstrings of the public names of a package. A method inherits that of the method it overrides, as in inspect.getdoc.

Only base classes within the package count: what a library documents, its users have not read here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Docstrings:
    """The classes of a package by full name, and what each module calls the names that it imports."""

    def __init__(self, trees: Mapping[str, ast.Module], packages: Mapping[str, str]) -> None:
        """`trees` are the modules by full name, `packages` the package that relative imports of each start from."""
        self._imported = {name: dict(_imported(tree, packages[name])) for name, tree in trees.items()}
        self._classes = {
            f"{name}.{node.name}": (name, node)
            for name, tree in trees.items()
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }

    def public(self, module: str, tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
        """Yield name, line and whether there is a docstring, for each public function, class and method."""
        yield from self._public(tree.body, module, "")

    def _public(self, body: list[ast.stmt], module: str, prefix: str) -> Iterator[tuple[str, int, bool]]:
        for node in body:
            if isinstance(node, (ast.ClassDef, *DEFS)) and not node.name.startswith("_"):
                documented = ast.get_docstring(node) is not None
                if prefix and isinstance(node, DEFS):
                    documented = documented or self._inherits(f"{module}.{prefix.rstrip('.')}", node.name)
                yield prefix + node.name, node.lineno, documented
                if isinstance(node, ast.ClassDef):
                    yield from self._public(node.body, module, f"{prefix}{node.name}.")

    def _inherits(self, full_name: str, method: str) -> bool:
        """Return whether a base class of a class documents `method`."""
        module, node = self._classes.get(full_name, ("", None))
        bases = [self._resolve(module, ast.unparse(base)) for base in node.bases] if node else []
        return any(self._documents(base, method) or self._inherits(base, method) for base in bases)

    def _documents(self, full_name: str, method: str) -> bool:
        node = self._classes.get(full_name, ("", None))[1]
        methods = [child for child in node.body if isinstance(child, DEFS) and child.name == method] if node else []
        return any(ast.get_docstring(child) is not None for child in methods)

    def _resolve(self, module: str, written: str) -> str:
        """Return the full name of a class as `module` writes it, e.g. `base.Source`, also through re-exports."""
        first, _, rest = written.partition(".")
        target = self._imported[module].get(first)
        if target is None:
            return f"{module}.{written}"
        full = f"{target}.{rest}" if rest else target
        owner, _, name = full.rpartition(".")
        if full not in self._classes and name in self._imported.get(owner, {}):
            return self._resolve(owner, name)
        return full


def origin(node: ast.ImportFrom, package: str) -> str:
    """Return the full name of the module that `node`, in a module of `package`, imports from."""
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def _imported(tree: ast.Module, package: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{origin(node, package)}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)
