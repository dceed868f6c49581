"""Read the files of a package: their lines by kind, functions, public names and imports."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docstrings import DEFS, Docstrings, origin

Def = ast.FunctionDef | ast.AsyncFunctionDef
DECISIONS = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)


@dataclass(frozen=True)
class Import:
    """An import of a module of the package."""

    target: str
    line: int
    kind: str  # module, function or typing


@dataclass(frozen=True)
class Function:
    """The figures of one function."""

    name: str
    line: int
    length: int  # lines
    complexity: int
    typed: bool


@dataclass(frozen=True)
class Module:
    """The figures of one file."""

    name: str
    file: Path
    lines: Counter[str]  # by kind: code, docstring, comment, blank
    functions: list[Function]
    public: list[tuple[str, int, bool]]  # name, line, whether it has or inherits a docstring
    imports: list[Import]


def read_package(folder: Path) -> list[Module]:
    """Return the figures of all files of a package, sorted by path."""
    files = {_module_name(file, folder): file for file in sorted(folder.rglob("*.py"))}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    packages = {name: _parent_package(file, folder) for name, file in files.items()}
    docstrings = Docstrings(trees, packages)
    return [
        Module(
            name,
            file.relative_to(folder.parent),
            _count_lines(texts[name], trees[name]),
            [_function(node) for node in ast.walk(trees[name]) if isinstance(node, DEFS)],
            list(docstrings.public(name, trees[name])),
            list(_imports(trees[name], packages[name], set(files))),
        )
        for name, file in files.items()
    ]


def _module_name(file: Path, folder: Path) -> str:
    parts = file.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parent_package(file: Path, folder: Path) -> str:
    return ".".join(file.relative_to(folder.parent).parent.parts)


def _count_lines(text: str, tree: ast.Module) -> Counter[str]:
    kinds = ["blank" if not line.strip() else "code" for line in text.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.start[0] - 1
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            kinds[row] = "comment"
        elif token.type == tokenize.STRING:  # blank lines inside a string are part of it
            kinds[row : token.end[0]] = ["code"] * (token.end[0] - row)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *DEFS)) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            first, last = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
            kinds[first:last] = ["docstring"] * (last - first)
    return Counter(kinds)


def _function(node: Def) -> Function:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    return Function(node.name, node.lineno, length, 1 + sum(map(_decisions, node.body)), _is_typed(node))


def _decisions(node: ast.AST) -> int:
    if isinstance(node, DEFS):
        return 0
    own = int(isinstance(node, DECISIONS))
    if isinstance(node, ast.BoolOp):
        own = len(node.values) - 1
    elif isinstance(node, ast.comprehension):
        own = 1 + len(node.ifs)
    return own + sum(map(_decisions, ast.iter_child_nodes(node)))


def _is_typed(node: Def) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args]
    if arguments and arguments[0].arg in ("self", "cls"):
        arguments = arguments[1:]
    arguments += [*node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
    return node.returns is not None and all(argument.annotation is not None for argument in arguments)


def _imports(node: ast.AST, package: str, names: set[str], kind: str = "module") -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            for target in dict.fromkeys(_targets(child, package, names)):
                yield Import(target, child.lineno, kind)
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _imports(ast.Module(child.body, []), package, names, "typing")
            yield from _imports(ast.Module(child.orelse, []), package, names, kind)
        else:
            inside = "function" if isinstance(child, DEFS) else kind
            yield from _imports(child, package, names, inside)


def _targets(node: ast.Import | ast.ImportFrom, package: str, names: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in names)
        return
    base = origin(node, package)
    for alias in node.names:
        full = f"{base}.{alias.name}"
        if full in names or base in names:
            yield full if full in names else base
