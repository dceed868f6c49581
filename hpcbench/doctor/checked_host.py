"""A place that doctor has looked at: the cluster, this machine, or a node of a partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hpcbench.core.check_result import LEVELS, Finding
from hpcbench.core.machine_peaks import MachinePeaks


@dataclass
class Place:
    """Findings by group, in the order in which they came."""

    name: str  # as short as places must be told apart
    title: str
    facts: str = ""  # what the machine is, in a few words
    groups: dict[str, list[Finding]] = field(default_factory=dict)
    peaks: MachinePeaks | None = None  # what was measured, to be kept

    def add(self, group: str, findings: Iterable[Finding]) -> None:
        self.groups.setdefault(group, []).extend(findings)

    @property
    def findings(self) -> list[Finding]:
        return [finding for group in self.groups.values() for finding in group]

    def as_data(self) -> dict[str, Any]:
        return {
            "place": self.name,
            "machine": self.facts or None,
            "findings": [
                {"group": group, **finding._asdict()} for group, found in self.groups.items() for finding in found
            ],
        }


def counts(places: list[Place]) -> dict[str, int]:
    """How many findings of each level there are, the worst level first."""
    levels = [finding.level for place in places for finding in place.findings]
    return {level: levels.count(level) for level in reversed(LEVELS) if level in levels}


def machine_in_words(node: dict[str, Any]) -> str:
    """`n1: AMD EPYC, 2 CPUs, 25 GB, Linux 6.18.44`; `node` is what hpcbench.node.host.hardware describes."""
    memory = f", {node['memory_bytes'] / 1e9:.0f} GB" if node["memory_bytes"] else ""
    return f"{node['hostname']}: {node['cpu_model']}, {node['cpu_count']} CPUs{memory}, Linux {node['kernel']}"
