"""Print the structure figures of the package, compare them with their limits, and list what exceeds a limit.

    tools/house.py [--check] [PACKAGE]

Definitions:
- A line is code, docstring, comment or blank. A line with code and a comment is code.
- The length of a function is its lines from `def` to the last, without decorators.
- Cyclomatic complexity is 1 plus the decisions of a function: if, elif, for, while, except, case, conditional
  expressions, comprehensions and their conditions, and each operand of `and` and `or` after the first.
  A nested function counts separately.
- A function is fully typed if its result and all of its arguments except `self` and `cls` have annotations.
- Public are the functions, classes and methods whose names, and the names of their classes, have no leading underscore.
- A method has a docstring if it, or the method of a base class within the package that it overrides, has one.
- An import chain is a path along the module-level imports within the package, counted in modules. Imports inside
  functions and under `if TYPE_CHECKING` are counted, but are not part of a chain. In a cycle, all modules count.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from import_graph import components, longest_chains
from package_source import Module, read_package

ROOT = Path(__file__).parents[1]
LONGEST_FILE = 330  # lines
LONGEST_FUNCTION = 55  # lines
LARGEST_PACKAGE = 42_000  # lines
LARGEST_FOLDER = 18  # files
LONGEST_CHAIN = 12  # modules
FEWEST_DOCSTRINGS = 95  # percent of the public functions, classes and methods
WORKER = "node"  # the side that runs on compute nodes
SHARED = ("core", "models")  # both sides import these


@dataclass(frozen=True)
class Row:
    """One figure, its limit and what exceeds the limit."""

    name: str
    value: str
    limit: str = ""
    missed: bool = False
    offenders: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures. Return 1 if `--check` is given and a limit is missed, otherwise 0."""
    parser = argparse.ArgumentParser(description="Print the structure figures of the package and their limits.")
    parser.add_argument("package", nargs="?", type=Path, default=ROOT / "hpcbench", help="[default: hpcbench]")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a limit is missed")
    options = parser.parse_args(arguments)
    if not options.package.is_dir():
        parser.error(f"directory {str(options.package)!r} not found")
    rows = measure(read_package(options.package.resolve()))
    print(table(rows))
    missed = [row for row in rows if row.missed]
    for row in missed:
        print(f"\n{row.name}: {row.value} (limit {row.limit})")
        print("\n".join(f"  {offender}" for offender in row.offenders))
    return 1 if options.check and missed else 0


def table(rows: list[Row]) -> str:
    """Return the figures as aligned text, one per line."""
    width = max(len(row.name) for row in rows)
    wide = max(len(row.value) for row in rows)
    lines = []
    for row in rows:
        verdict = f"{row.limit:<10}  {'MISSED' if row.missed else 'met'}" if row.limit else ""
        lines.append(f"{row.name:<{width}}  {row.value:>{wide}}  {verdict}".rstrip())
    return "\n".join(lines)


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the smallest value that is at least as large as `percent` percent of the values; 0 for no values."""
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * percent // 100) - 1)] if ranked else 0


def measure(modules: list[Module]) -> list[Row]:
    """Return the figures of a package in the order in which they are printed."""
    return [*_size(modules), *_functions(modules), *_docstrings(modules), *_structure(modules)]


def _spread(values: Sequence[int]) -> str:
    return f"{percentile(values, 50)} / {percentile(values, 95)} / {max(values, default=0)}"


def _size(modules: list[Module]) -> Iterator[Row]:
    lengths = [module.lines.total() for module in modules]
    kinds: Counter[str] = sum((module.lines for module in modules), Counter())
    total = sum(lengths)
    yield Row("modules", f"{len(modules):,}")
    limit = f"<= {LARGEST_PACKAGE:,}"
    yield Row("lines", f"{total:,}", limit, total > LARGEST_PACKAGE, ["the package as a whole"])
    shares = " / ".join(f"{kinds[kind]:,}" for kind in ("code", "docstring", "comment", "blank"))
    yield Row("lines: code / docstring / comment / blank", shares)
    long = [module for module in modules if module.lines.total() > LONGEST_FILE]
    offenders = [f"{module.file}:1: {module.lines.total()} lines" for module in long]
    yield Row("lines of a file: p50 / p95 / max", _spread(lengths), f"max {LONGEST_FILE}", bool(long), offenders)


def _functions(modules: list[Module]) -> Iterator[Row]:
    located = [(module.file, function) for module in modules for function in module.functions]
    functions = [function for _, function in located]
    offenders = [
        f"{file}:{function.line}: {function.name}: {function.length} lines"
        for file, function in located
        if function.length > LONGEST_FUNCTION
    ]
    lengths = _spread([function.length for function in functions])
    yield Row("lines of a function: p50 / p95 / max", lengths, f"max {LONGEST_FUNCTION}", bool(offenders), offenders)
    complexity = [function.complexity for function in functions]
    mean = sum(complexity) / max(len(complexity), 1)
    spread = f"{mean:.1f} / {percentile(complexity, 95)} / {max(complexity, default=0)}"
    yield Row("cyclomatic complexity: mean / p95 / max", spread)
    yield Row("fully typed functions", _share([function.typed for function in functions]))


def _share(values: Sequence[bool]) -> str:
    return f"{100 * sum(values) / max(len(values), 1):.1f} % of {len(values):,}"


def _docstrings(modules: list[Module]) -> Iterator[Row]:
    public = [entry for module in modules for entry in module.public]
    have = [documented for _, _, documented in public]
    offenders = [
        f"{module.file}:{line}: {name}"
        for module in modules
        for name, line, documented in module.public
        if not documented
    ]
    missed = 100 * sum(have) < FEWEST_DOCSTRINGS * len(have)
    yield Row("public names with a docstring", _share(have), f">= {FEWEST_DOCSTRINGS} %", missed, offenders)


def _structure(modules: list[Module]) -> Iterator[Row]:
    folders = Counter(module.file.parent for module in modules if module.file.name != "__init__.py")
    largest = max(folders.values(), default=0)
    full = [f"{folder}: {files} files" for folder, files in folders.most_common() if files > LARGEST_FOLDER]
    yield Row("files of the largest flat folder", str(largest), f"<= {LARGEST_FOLDER}", bool(full), full)

    graph = {
        module.name: {found.target for found in module.imports if found.kind == "module"} - {module.name}
        for module in modules
    }
    chains = longest_chains(graph)
    chain = max(chains.values(), key=len, default=[])
    missed = len(chain) > LONGEST_CHAIN
    offenders = _chain_offenders(modules, chains, chain)
    yield Row("modules of the longest import chain", str(len(chain)), f"<= {LONGEST_CHAIN}", missed, offenders)

    cycles = [group for group in components(graph) if len(group) > 1]
    named = [" -> ".join([*group, group[0]]) for group in cycles]
    yield Row("import cycles", str(len(cycles)), "none", bool(cycles), named)

    kinds = Counter(found.kind for module in modules for found in module.imports)
    counts = " / ".join(f"{kinds[kind]:,}" for kind in ("module", "function", "typing"))
    yield Row("imports: module level / in functions / for types", counts)
    login = [module for module in modules if _is_login_side(module) and _imports_worker(module)]
    yield Row(f"login-side files that import {WORKER}", str(len(login)))


def _chain_offenders(modules: list[Module], chains: dict[str, list[str]], chain: list[str]) -> list[str]:
    """Return one longest chain, an import a line, and how many modules begin a chain that is too long."""
    by_name = {module.name: module for module in modules}
    offenders = []
    for name, following in zip(chain, [*chain[1:], ""], strict=True):
        line = next((found.line for found in by_name[name].imports if found.target == following), 1)
        offenders.append(f"{by_name[name].file}:{line}: {len(chains[name])} modules from here")
    begin = sum(len(other) > LONGEST_CHAIN for other in chains.values())
    return [*offenders, f"{begin} modules begin a chain of more than {LONGEST_CHAIN}"]


def _is_login_side(module: Module) -> bool:
    return module.name.split(".")[1:2] not in ([WORKER], *([room] for room in SHARED))


def _imports_worker(module: Module) -> bool:
    return any(found.target.split(".")[1] == WORKER for found in module.imports if "." in found.target)


if __name__ == "__main__":
    sys.exit(main())
