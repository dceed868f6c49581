"""The state of a built environment, by its marker file."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.recipe import Recipe
from hpcbench.core.files import write_whole
from hpcbench.environments.locations import EnvironmentDir

SCHEMA = 1
BUILT, OUTDATED, INCOMPLETE, NOT_BUILT = "built", "outdated", "incomplete", "not built"


@dataclass(frozen=True)
class Built:
    """The marker of a complete environment."""

    name: str
    recipe: str  # digest of the recipe
    python: str  # version
    packages: dict[str, str]  # canonical name to version of all installed packages
    built_at: str
    seconds: float  # duration of the last, possibly continued, build
    size_bytes: int
    hpcbench_version: str


def read_marker(place: EnvironmentDir) -> Built | None:
    """Return the marker of an environment; None if it is incomplete, or its marker has another schema."""
    try:
        content = json.loads(place.marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.pop("schema", None) != SCHEMA:
        return None
    try:
        return Built(**content)
    except TypeError:
        return None


def write_marker(place: EnvironmentDir, built: Built) -> None:
    """Write the marker that declares an environment complete, as the last step of a build."""
    write_json(place.marker, {"schema": SCHEMA, **dataclasses.asdict(built)})
    place.progress.unlink(missing_ok=True)


def write_json(file: Path, content: dict[str, object]) -> None:
    """Write JSON into an environment, which may be a link to another disk, atomically and durably."""
    write_whole(str(file.parent.resolve() / file.name), json.dumps(content, indent=1) + "\n", durable=True)


def state_of(place: EnvironmentDir, recipe: Recipe | None) -> str:
    """Return BUILT, OUTDATED (the recipe has changed; never without a recipe), INCOMPLETE or NOT_BUILT."""
    built = read_marker(place)
    if built is None or not place.python.exists():  # its base Python may have been removed
        return INCOMPLETE if place.exists else NOT_BUILT
    return OUTDATED if recipe is not None and recipe.digest != built.recipe else BUILT
