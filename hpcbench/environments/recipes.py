"""Find recipes: in configs/environments of the workspace, then among the shipped ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.recipe import Recipe, load_recipe
from hpcbench.config.yaml_document import load_yaml
from hpcbench.errors import UserError, nearest
from hpcbench.store.workspace import Workspace
from hpcbench.util.package_data import shipped


@dataclass(frozen=True)
class RecipeFile:
    """A recipe and the path of its file."""

    name: str
    file: Path
    shipped: bool

    def read(self) -> Recipe:
        """Return the checked recipe. Raise UserError if it is not valid."""
        return load_recipe(load_yaml(self.file))


def recipe_files(workspace: Workspace) -> dict[str, RecipeFile]:
    """Return all recipes by name; a recipe of the workspace overrides a shipped one of the same name."""
    ours = shipped("configs") / "environments"
    folders = (ours, workspace.root / "configs" / "environments")
    found = {
        path.stem: RecipeFile(path.stem, path, folder.absolute() == ours.absolute())
        for folder in folders
        for path in folder.glob("[!.]*.yaml")
    }
    return dict(sorted(found.items()))


def recipe_file(workspace: Workspace, name: str) -> RecipeFile:
    """Return the recipe `name`. Raise UserError if it is not found."""
    known = recipe_files(workspace)
    if name not in known:
        hint = nearest(name, known)
        raise UserError(f"recipe '{name}' not found", where="configs/environments", hint=hint)
    return known[name]
