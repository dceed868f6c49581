"""The output of `hpcbench env list`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rich.markup import escape
from rich.table import Table

from hpcbench.config.site import Environment, Site
from hpcbench.environments.build_state import NOT_BUILT, read_marker, state_of
from hpcbench.environments.locations import environment_dir, environment_dirs
from hpcbench.environments.recipes import RecipeFile, recipe_files
from hpcbench.environments.resolve import brings_python, is_beside_hpcbench
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.disk_usage import size_bytes

FROM_SITE, OWN_PYTHON, BROKEN = "from the site", "hpcbench Python", "bad recipe"


@dataclass(frozen=True)
class Row:
    """One environment of the list."""

    name: str
    recipe: str | None  # origin of the recipe: shipped or workspace
    state: str
    description: str = ""
    folder: str | None = None
    size_bytes: int | None = None
    python: str | None = None  # version
    versions: dict[str, str] | None = None  # versions of the packages that the recipe names
    problem: str | None = None


def rows(workspace: Workspace, site: Site | None) -> list[Row]:
    """Return all environments of the site, of recipes and of folders, sorted by name."""
    files = recipe_files(workspace)
    built = {each.name: each for each in environment_dirs(workspace)}
    named = {name: each for name, each in site.environments.items() if _says_where(each)} if site else {}
    found = []
    for name in sorted({*files, *built, *named}):
        if name in named:
            found.append(Row(name, None, FROM_SITE, _described_by_site(named[name])))
        else:
            found.append(_row(workspace, name, files.get(name)))
    return found


def _row(workspace: Workspace, name: str, file: RecipeFile | None) -> Row:
    source = None if file is None else "shipped" if file.shipped else "workspace"
    try:
        there = environment_dir(workspace, name)
        recipe = file.read() if file else None
    except UserError as error:
        return Row(name, source, BROKEN, problem=str(error))
    state, marker = state_of(there, recipe), read_marker(there)
    if state == NOT_BUILT:
        state = OWN_PYTHON if recipe and is_beside_hpcbench(recipe) else state
        return Row(there.name, source, state, recipe.description if recipe else "")
    named = recipe.packages if recipe else []
    return Row(
        there.name,
        source,
        state,
        recipe.description if recipe else "",
        str(there.folder),
        marker.size_bytes if marker else size_bytes(there.folder),
        marker.python if marker else None,
        {name: marker.packages[name] for name in named if name in marker.packages} if marker else None,
    )


def _says_where(environment: Environment) -> bool:
    return environment.python is not None or brings_python(environment)


def _described_by_site(environment: Environment) -> str:
    """Return a short description of an environment of the site file."""
    parts = [f"module {name}" for name in environment.modules]
    parts += [environment.python] if environment.python else []
    parts += ["a container"] if environment.container else []
    parts += ["set up by shell lines"] if environment.setup else []
    return ", ".join(parts)


def as_data(found: list[Row]) -> str:
    """Return the rows as JSON."""
    return json.dumps([asdict(row) for row in found], indent=1)


def as_table(found: list[Row]) -> Table:
    """Return the rows as a table for a terminal."""
    table = Table(box=None, pad_edge=False)
    for column in ("environment", "recipe", "state", "size", "Python", "versions"):
        table.add_column(column, justify="right" if column == "size" else "left", no_wrap=column != "versions")
    for row in found:
        versions = ", ".join(f"{name} {version}" for name, version in (row.versions or {}).items())
        details = row.problem or versions or row.description
        shown = size(row.size_bytes) if row.size_bytes is not None else "-"
        table.add_row(escape(row.name), row.recipe or "-", row.state, shown, row.python or "-", escape(details))
    return table


def size(count: int) -> str:
    """Return a size in bytes as `1.5 GB` or `20 MB`."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
