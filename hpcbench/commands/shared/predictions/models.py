"""The models of a prediction: those in a file, or those that need no measurements."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hpcbench.commands.options.extras import require
from hpcbench.commands.shared.predictions.model_file import DEFAULT_FILE, text_of
from hpcbench.predict.no_model_file import FIT
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import print_warning
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.fleet import Fleet

_WITHOUT_MEASUREMENTS = "Models from data sheets, without measurements"
_MEASURE = (
    "comparisons are often inconclusive; next: measure 20 operators (hpcbench sweep twenty-operators) and fit them "
    f"({FIT} latest)"
)


@dataclass(frozen=True)
class Models:
    """Models, what they are based on in words, the SHA-256 of their file, and the command that shows their data.

    Models without a file have no hash and no command. `advice` is how to improve the models; it may be empty.
    """

    fleet: Fleet
    words: str
    sha256: str | None = None
    show: str = ""
    advice: str = ""

    def warn_of_flaws(self) -> None:
        """Print a warning if the data of the models have flaws, with the command that lists them."""
        flaws = self.fleet.basis.flaws
        if flaws and self.show:
            print_warning(f"{plural(len(flaws), 'flaw')} in the data that the models were fitted on; next: {self.show}")


def models_of(workspace: Workspace, file: str | None) -> Models:
    """Return the models in a file, by default fleet.json of the workspace.

    Without a file, they are those of the data sheets. Raise UserError if the file is missing or no model file, or
    if LightGBM is not installed, which fitted models require.
    """
    from hpcbench.predict.fleet import fit
    from hpcbench.predict.fleet_file import from_text
    from hpcbench.predict.sets.data_set import DataSet

    path = Path(file) if file else workspace.root / DEFAULT_FILE
    if file is None and not path.exists():
        return Models(fit(DataSet()), _WITHOUT_MEASUREMENTS, advice=_MEASURE)
    text = text_of(path)
    require("predictor", f"'{path.name}'")
    fleet = from_text(text, str(path))
    rows, devices = plural(fleet.basis.total, "row"), plural(len(fleet.basis.devices), "device")
    words = f"Models of {path.name}, fitted on {rows} of {devices} (data {fleet.basis.data_hash[:12]})"
    show = shlex.join(["hpcbench", "predictor", "show", *([file] if file else [])])
    return Models(fleet, words, hashlib.sha256(text.encode()).hexdigest(), show)
