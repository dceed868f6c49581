"""Which sweeps `hpcbench report` reports together."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hpcbench.commands.shared.context import is_archive, open_sweep
from hpcbench.errors import UserError
from hpcbench.report.load.records import surveyed
from hpcbench.status.progress import Progress
from hpcbench.store.workspace import Workspace


def sweeps_to_report(
    context: click.Context, workspace: Workspace, sweeps: Sequence[str], *, exports_operators: bool = False
) -> list[Progress]:
    """Return the state of the sweeps, otherwise of the latest one.

    Raise UserError if two sweeps have the same name, e.g. one in an archive: tables identify them by name.
    """
    asked = list(dict.fromkeys(sweeps or ("latest",)))
    found = [open_sweep(context, workspace, name) for name in asked]
    names = [paths.name for paths in found]
    _check_distinct(asked, names, workspace)
    if twice := [name for name in names if names.count(name) > 1]:
        hint = "report each separately, or compare them: hpcbench compare BASE NEW"
        if exports_operators:
            hint = "export each separately, or measure one again with another name: hpcbench profile --name NAME"
        raise UserError(f"two sweeps have the name '{twice[0]}'", hint=hint)
    return [surveyed(paths) for paths in found]


def _check_distinct(asked: Sequence[str], names: Sequence[str], workspace: Workspace) -> None:
    """Raise UserError if one of the asked names only stands for a sweep that is also asked for by its own name."""
    for name, stands_for in zip(asked, names, strict=True):
        is_alone = name == stands_for or stands_for not in asked or is_archive(workspace, name)
        if not is_alone and name not in ("latest", *workspace.experiments().values()):
            what = f"'{name}' and '{stands_for}' are the same sweep: '{name}' is a prefix of its name"
            raise UserError(what, hint="remove one of them; to list all sweeps: hpcbench list sweeps")
