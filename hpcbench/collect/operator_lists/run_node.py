"""Run the node code that lists operators, in the environment of a framework on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from hpcbench.collect.operator_lists.node_command import node_command
from hpcbench.collect.operator_lists.node_process import failure, lines_of, started
from hpcbench.core.files import write_whole
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import from_json
from hpcbench.environments.resolve import Resolved
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp
from hpcbench.util.fast_json import decoded


def run_node(
    resolved: Resolved, planned: Sequence[PlannedRun], workspace: Workspace, digest: str
) -> Iterator[OperatorList]:
    """Yield the operators of these cases in their order, each as soon as it is listed.

    A case that the node code does not reach has a reason. `digest` identifies the node code, whose file is kept in the
    workspace. Its process ends with this generator. Raise UserError if it cannot be started, and OSError if the
    workspace cannot be written.
    """
    folder = workspace.operator_lists
    zipapp = folder / f"node-{digest[:16]}.pyz"
    if not zipapp.exists():
        write_whole(str(zipapp), node_zipapp())
    with tempfile.TemporaryDirectory(prefix=".list-", dir=folder) as name:
        scratch = Path(name)
        job, result = scratch / "job.jsonl", scratch / "result.jsonl"
        job.write_text("".join(each.as_line() + "\n" for each in planned), encoding="utf-8")
        reached = [str(workspace.root), *{os.path.realpath(folder)} - {str(folder)}]
        command = node_command(resolved, zipapp, ["list-operators", str(job), str(result)], reached)
        with started(command, workspace.root, scratch) as process:
            count = 0
            for found in islice(_lists(lines_of(result, process)), len(planned)):
                count += 1
                yield found
            reason = failure(process, scratch) if count < len(planned) else ""
    for each in planned[count:]:
        yield OperatorList(each.case_id, reason=reason or "the node code ended early")


def _lists(lines: Iterator[bytes]) -> Iterator[OperatorList]:
    """Yield the lists in lines, up to the first line that is damaged, and read the others."""
    for line in lines:
        try:
            found = from_json(OperatorList, decoded(line))
        except ValueError:
            break
        yield found
    for _ in lines:
        pass
