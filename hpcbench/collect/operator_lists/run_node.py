"""Run the node code that lists operators, in the environment of a framework on this machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hpcbench.collect.operator_lists.node_command import node_command
from hpcbench.core.files import write_whole
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import from_json
from hpcbench.environments.resolve import Resolved
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp
from hpcbench.util.fast_json import decoded

TIMEOUT_S = 600.0
_LAST_CHARACTERS = 300  # of the output in a reason


def run_node(
    resolved: Resolved, planned: Sequence[PlannedRun], workspace: Workspace, digest: str
) -> Sequence[OperatorList]:
    """Return the operators of these cases in their order; a case that the node code does not reach has a reason.

    `digest` identifies the node code, whose file is kept in the workspace. Raise UserError if it cannot be started, and
    OSError if the workspace cannot be written.
    """
    folder = workspace.operator_lists
    zipapp = folder / f"node-{digest[:16]}.pyz"
    if not zipapp.exists():
        write_whole(str(zipapp), node_zipapp())
    with tempfile.TemporaryDirectory(prefix=".list-", dir=folder) as scratch:
        job, result = Path(scratch, "job.jsonl"), Path(scratch, "result.jsonl")
        job.write_text("".join(each.as_line() + "\n" for each in planned), encoding="utf-8")
        reached = [str(workspace.root), *{os.path.realpath(folder)} - {str(folder)}]
        command = node_command(resolved, zipapp, ["list-operators", str(job), str(result)], reached)
        failure = _failure(command.words, dict(command.variables), workspace.root)
        found = _results(result)
    missing = [OperatorList(each.case_id, reason=failure or "the node code ended early") for each in planned]
    return [*found, *missing[len(found) :]]


def _failure(words: Sequence[str], variables: dict[str, str], folder: Path) -> str:
    """Run a command in a folder, and return why it failed; an empty text if it did not."""
    try:
        ended = subprocess.run(
            words, env=variables, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S
        )
    except OSError as error:
        raise UserError(f"the Python of the environment cannot be started: {error}", where=str(words[0])) from error
    except subprocess.TimeoutExpired:
        return f"its operators were not listed within {TIMEOUT_S:.0f} s"
    if ended.returncode == 0:
        return ""
    lines = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines()
    said = lines[-1][-_LAST_CHARACTERS:] if lines else "it printed nothing"
    return f"the node code ended with status {ended.returncode}: {said}"


def _results(file: Path) -> list[OperatorList]:
    """Return the lists in a file, up to the first line that is not whole."""
    found: list[OperatorList] = []
    try:
        lines = file.read_bytes().splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            found.append(from_json(OperatorList, decoded(line)))
        except ValueError:
            break
    return found
