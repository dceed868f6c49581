"""The provenance files of a sweep: site, templates, packages, and changes of the checkout."""

from __future__ import annotations

import json
import platform
import shutil
from pathlib import Path
from typing import Any

from hpcbench.config.site import Site
from hpcbench.config.yaml_writer import yaml_text
from hpcbench.core import packages
from hpcbench.errors import UserError
from hpcbench.store.provenance import git
from hpcbench.store.provenance.secret_check import refuse_secrets
from hpcbench.util.bounded_read import content
from hpcbench.util.fast_json import decoded
from hpcbench.util.package_data import shipped

SITE, PROVENANCE, DIFF, TEMPLATES = "site.yaml", "provenance.json", "workspace.diff", "templates"
_HEADING = "# The site of this sweep, with --local and the facts queried from Slurm applied.\n"


def write(folder: Path, workspace: Path, site: Site, template: Path, follow_on: Path | None = None) -> None:
    """Write the provenance files into the folder of a new sweep.

    `template` is the template of its scripts, `follow_on` that of the continuation job, if any. Raise OSError if the
    disk is full, and UserError if a template contains a secret.
    """
    (folder / SITE).write_text(_HEADING + yaml_text(site.model_dump(mode="json", exclude_unset=True)), encoding="utf-8")
    (folder / TEMPLATES).mkdir()
    for name, file in sorted(_templates(template, *([follow_on] if follow_on else [])).items()):
        refuse_secrets(file.read_text(encoding="utf-8", errors="replace"), str(file))
        shutil.copyfile(file, folder / TEMPLATES / name)
    changes = git.changes(workspace)
    if changes is not None and changes.diff:
        (folder / DIFF).write_text(changes.diff, encoding="utf-8", errors="surrogateescape")
    fields = {
        "host": platform.node(),
        "platform": platform.platform(),
        **packages.installed(),
        "own_template": _is_own(template),
        "git": None if changes is None else changes.as_json(),
    }
    (folder / PROVENANCE).write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def _templates(*used: Path) -> dict[str, Path]:
    """Return the templates by file name, with all templates next to a custom one, since it may include them."""
    kept: dict[str, Path] = {}
    for template in used:
        beside = {file.name: file for file in template.parent.glob("*.j2")} if _is_own(template) else {}
        kept = {**beside, **kept, template.name: template}
    return kept


def _is_own(template: Path) -> bool:
    return template.parent != shipped(TEMPLATES)


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return the provenance that `write` stored in the folder of a sweep. Raise UserError if it cannot be read."""
    file = folder / PROVENANCE
    try:
        document = decoded(content(file))
    except (OSError, ValueError) as error:
        raise UserError(f"the file cannot be read: {error}", where=str(file), hint="check its permissions") from error
    return document if isinstance(document, dict) else {}
