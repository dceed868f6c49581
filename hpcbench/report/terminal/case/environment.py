"""The environment of a case: framework, packages, Python, variables, machine, git commit of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hpcbench.analysis.cases.labels import cell
from hpcbench.core import ranges
from hpcbench.core.record import Record
from hpcbench.report.terminal.case.facts import Fact, Facts
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.terminal.status_summary import from_workspace
from hpcbench.report.text.numbers import memory
from hpcbench.slurm import node_list


def environment(view: CaseView) -> Facts:
    """Return the environment of all runs, with all values that differ; no facts before the first run."""
    records = [record for record in view.ended if record.nodes or record.python]
    if not records:
        return Facts([])
    row = view.row
    facts: list[Fact] = [
        ("framework", f"{view.planned.parameters['framework']} {row['framework_version'] or ''}".rstrip()),
        ("packages", row["software"]),
        ("", _all_packages(view)),
        ("python", _each(records, lambda record: [record.executable])),
        ("variables", _each(records, _variables)),
        ("nodes", node_list.compact({node.hostname for record in records for node in record.nodes})),
        ("CPU", _each(records, _processors)),
        ("governor", "; turbo ".join(filter(None, [row["cpu_governor"], row["cpu_turbo"]]))),
        ("GPU", row["gpu_model"]),
        ("kernel", row["kernel"]),
        ("affinity", _each(records, _affinity)),
        ("git commit", _commit(row["git_commit"], row["git_dirty"])),
        ("hpcbench", row["hpcbench_version"]),
    ]
    return Facts(facts)


def _each(records: list[Record], values_of: Callable[[Record], Iterable[str | None]]) -> str:
    """Return the distinct values of all records as text."""
    return "; ".join(dict.fromkeys(each for record in records for each in values_of(record) if each))


def _all_packages(view: CaseView) -> str:
    """Return the files that list all packages, if they exist, as text."""
    names = dict.fromkeys(view.sweep.environment(run.job)[0] for run in view.runs)
    files = [view.sweep.paths.packages(name) for name in names]
    return "".join(f"all packages: {from_workspace(view.sweep, file)}" for file in files if file.is_file())


def _variables(record: Record) -> Iterable[str]:
    yield " ".join(f"{name}={value}" for name, value in record.environment.items())


def _processors(record: Record) -> Iterable[str]:
    for node in record.nodes:
        size = f", {memory(node.memory_bytes)}" if node.memory_bytes else ""
        yield f"{node.cpu_model or 'unknown'}, {cell(node.cpu_count)} CPUs{size}"


def _affinity(record: Record) -> Iterable[str]:
    """Return the CPUs of each rank, e.g. `0-3` and `4-7`."""
    return [ranges.compact(cpus) for cpus in record.affinity if cpus]


def _commit(commit: str | None, dirty: bool | None) -> str:
    return f"{commit}{', with uncommitted changes' if dirty else ''}" if commit else ""
