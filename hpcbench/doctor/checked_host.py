"""The check results of one host: the cluster, this machine, or a node of a partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hpcbench.core.check_result import LEVELS, CheckResult
from hpcbench.core.machine_peaks import MachinePeaks


@dataclass
class CheckedHost:
    """Check results by group, in the order of the checks."""

    name: str  # a short name, unique in one report
    title: str
    facts: str = ""  # a short description of the machine
    groups: dict[str, list[CheckResult]] = field(default_factory=dict)
    peaks: MachinePeaks | None = None  # measured peak performance, not saved yet

    def add(self, group: str, results: Iterable[CheckResult]) -> None:
        """Append results, if there are any, to a group."""
        added = list(results)
        if added:
            self.groups.setdefault(group, []).extend(added)

    @property
    def results(self) -> list[CheckResult]:
        """Return the results of all groups."""
        return [result for group in self.groups.values() for result in group]

    def as_data(self) -> dict[str, Any]:
        """Return the host as `hpcbench doctor --json` prints it."""
        results = [{"group": group, **result._asdict()} for group, found in self.groups.items() for result in found]
        return {"place": self.name, "machine": self.facts or None, "findings": results}


def partition_host(name: str) -> CheckedHost:
    """Return a host without results for a node of a partition."""
    return CheckedHost(name, f"partition {name}")


def counts(hosts: list[CheckedHost]) -> dict[str, int]:
    """Return the number of results of each level that occurs, the worst level first."""
    levels = [result.level for host in hosts for result in host.results]
    return {level: levels.count(level) for level in reversed(LEVELS) if level in levels}


def describe_machine(node: dict[str, Any]) -> str:
    """Return `n1: AMD EPYC, 2 CPUs, 25 GB, Linux 6.18.44`, given what hpcbench.node.host.hardware describes."""
    memory = f", {node['memory_bytes'] / 1e9:.0f} GB" if node["memory_bytes"] else ""
    return f"{node['hostname']}: {node['cpu_model']}, {node['cpu_count']} CPUs{memory}, Linux {node['kernel']}"
