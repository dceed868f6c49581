"""Run one case once on this machine, with the script of a sweep, and leave no files."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.record import Record
from hpcbench.plan.plan import make_plan
from hpcbench.status.query import query
from hpcbench.status.run_local import run_repetition
from hpcbench.store.workspace import SweepPaths, Workspace, check_root
from hpcbench.submit.create_sweep import create
from hpcbench.submit.local_executor import LocalExecutor
from hpcbench.util.signals import ended_like_ctrl_c


def trial(workspace: Workspace, site: Site, experiment: dict[str, Any]) -> tuple[Record, str]:
    """Run an experiment that has one run; return its record and its output.

    It runs in a hidden folder of the workspace, which containers mount. Raise UserError if it cannot be planned.
    """
    check_root(workspace.root, "local")
    with hidden_folder(workspace) as folder, ended_like_ctrl_c():
        document = parse_yaml(json.dumps(experiment), "trial.yaml")
        plan = make_plan(load_experiment(document), document, site)
        paths = SweepPaths("trial", folder / "jobs" / "trial", folder / "results" / "trial")
        sweep = create(workspace, paths, plan, document)
        (run,) = query(sweep).runs
        with LocalExecutor(paths) as executor:
            record, _ = run_repetition(sweep, run, executor)
        return record, paths.log(run.job, run.element, None).read_text(encoding="utf-8", errors="replace")


@contextmanager
def hidden_folder(workspace: Workspace) -> Iterator[Path]:
    """Create a folder under jobs/, which nodes of a cluster see, and remove it at the end of the `with` block."""
    jobs = workspace.root / "jobs"
    jobs.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".trial-", dir=jobs))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # it was there before
            jobs.rmdir()
