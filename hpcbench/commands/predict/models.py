"""The models of a prediction: those in a file, or those that need no measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hpcbench.commands.predict.model_file import DEFAULT_FILE, FIT, text_of
from hpcbench.store.workspace import Workspace
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.fleet import Fleet


def models_of(workspace: Workspace, file: str | None) -> tuple[Fleet, str]:
    """Return the models in a file, by default fleet.json of the workspace, and what they rest on in words.

    Without a file, they are those of the data sheets. Raise UserError if the file is missing or no model file.
    """
    from hpcbench.predict.fleet import fit
    from hpcbench.predict.fleet_file import from_text
    from hpcbench.predict.sets.data_set import DataSet

    path = Path(file) if file else workspace.root / DEFAULT_FILE
    if file is None and not path.exists():
        return fit(DataSet()), f"Models without measurements, from data sheets alone; to fit them: {FIT}"
    fleet = from_text(text_of(path), str(path))
    count = sum(sum(counts.values()) for counts in fleet.basis.rows.values())
    devices = plural(len(fleet.basis.devices), "device")
    return fleet, f"Models of {path.name}, fitted on {count:,} rows of {devices} (data {fleet.basis.data_hash[:12]})"
