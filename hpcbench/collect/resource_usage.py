"""Resources and costs of the runs of a sweep, from their records only."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hpcbench.collect.energy import MEASURED, SCOPE, energy_columns
from hpcbench.config.pricing import Allocation, Price, has_prices, price_per_hour, total
from hpcbench.core.energy import J_PER_KWH
from hpcbench.core.record import Record
from hpcbench.plan.allocation import allocation_of
from hpcbench.plan.packing import Resources
from hpcbench.status.progress import Progress
from hpcbench.store.records import has_log
from hpcbench.store.sweep import Sweep

CURRENCY, PRICE, PRICE_REASON, CARBON = "currency", "price_per_hour", "price_reason", "co2e_g_per_kwh"
COLUMNS = (CURRENCY, PRICE, PRICE_REASON, CARBON)
_RESOURCES = ("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task")


class Charge(NamedTuple):
    """The allocation of a run, and its price per hour."""

    allocation: Allocation
    price: Price


class Charges:
    """The allocations and hourly prices of the jobs of a sweep, by the site file stored with the sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._site = sweep.site
        self._known: dict[tuple[str, int | None], Charge] = {}
        self.currency = self._site.cost.currency if has_prices(self._site.cost) else None
        self.g_per_kwh = self._site.carbon.g_per_measured_kwh

    def of(self, job: str, record: Record) -> Charge:
        """Return the charge of a run: an equal share of the job for each of its concurrent runs."""
        cpus = _cpus(record)
        if (job, cpus) not in self._known:  # equal for all runs of a job
            width = self._sweep.width(job)
            each = allocation_of(self._resources(job, record.parameters), self._site, width, cpus).divided(width)
            self._known[job, cpus] = Charge(each, price_per_hour(self._site.cost, each))
        return self._known[job, cpus]

    def columns(self, job: str, record: Record) -> dict[str, Any]:
        """Return currency, price per hour, its reason if unknown, and gCO2e per kWh, by column."""
        price = self.of(job, record).price
        return dict(zip(COLUMNS, (self.currency, *price, self.g_per_kwh), strict=True))

    def _resources(self, job: str, parameters: Mapping[str, Any]) -> Resources:
        nodes, tasks, cpus, gpus = (parameters[name] for name in _RESOURCES)
        return Resources(nodes, tasks, cpus, gpus, environment="", slurm=self._sweep.slurm(job))


def _cpus(record: Record) -> int | None:
    """Return the number of CPUs of all nodes; None if that of a node is unknown."""
    counts = [node.cpu_count for node in record.nodes if node.cpu_count is not None]
    return sum(counts) if len(counts) == len(record.nodes) == record.parameters["nodes"] else None


@dataclass(frozen=True)
class Used:
    """The resources that a sweep has used so far: all attempts of all runs, also failed ones.

    The time of an attempt is from the start of its first task to its record. Queueing, and the time of a job before,
    between and after its runs, are excluded. `unknown` is a reason why the hours may be more.
    """

    sweep: str
    attempts: int
    untimed: int  # further attempts of unknown duration
    node_hours: float
    core_hours: float
    gpu_hours: float
    unknown: str | None
    currency: str | None  # None if the site has no prices
    price: Price
    energy_kwh: float | None  # metered energy only; None without any
    energy_scopes: tuple[str, ...]  # metered kinds of parts, e.g. cpu+memory
    measured_node_hours: float  # node-hours with metered energy
    co2e_g: float | None

    @property
    def measured_part(self) -> float:
        """Return the fraction of the node-hours with metered energy, from 0 to 1."""
        return self.measured_node_hours / self.node_hours if self.node_hours else 0.0


class _Attempt(NamedTuple):
    charge: Charge
    hours: float
    energy_j: float | None
    scope: str | None
    measured_hours: float


def used(progress: Progress) -> Used:
    """Return the resources that a sweep has used."""
    charges = Charges(progress.sweep)
    tried = [_attempt(charges, run.job, record) for run in progress.runs for record in run.attempts]
    attempts = [each for each in tried if each is not None]
    known = [(each.charge.allocation, each.hours) for each in attempts]
    metered = [each for each in attempts if each.energy_j is not None]
    energy_kwh = sum(each.energy_j or 0.0 for each in metered) / J_PER_KWH if metered else None
    return Used(
        sweep=progress.sweep.paths.name,
        attempts=len(attempts),
        untimed=len(tried) - len(attempts),
        node_hours=sum(each.nodes * hours for each, hours in known),
        core_hours=sum(each.cores * hours for each, hours in known),
        gpu_hours=sum(each.gpus * hours for each, hours in known),
        unknown=next((each.unknown for each, hours in known if each.unknown and hours), None),
        currency=charges.currency,
        price=total(each.charge.price.times(each.hours) for each in attempts if each.hours),
        energy_kwh=energy_kwh,
        energy_scopes=tuple(dict.fromkeys(each.scope for each in metered if each.scope)),
        measured_node_hours=sum(each.charge.allocation.nodes * each.measured_hours for each in metered),
        co2e_g=None if charges.g_per_kwh is None or energy_kwh is None else charges.g_per_kwh * energy_kwh,
    )


def _attempt(charges: Charges, job: str, record: Record) -> _Attempt | None:
    """Return charge, hours and energy of an attempt; None if its duration is unknown."""
    hours, watched = _hours(record), record.monitors
    if hours is None:
        return None
    energy = energy_columns(record) if watched else {}
    seconds = max((node.duration_s for node in watched), default=0.0)
    return _Attempt(charges.of(job, record), hours, energy.get(MEASURED), energy.get(SCOPE), seconds / 3600)


def _hours(record: Record) -> float | None:
    """Return the duration of an attempt in hours; None if unknown, e.g. for a record that was synthesized later."""
    if record.attempt is not None:
        end = record.ended_at
    elif record.ranks:
        end = max(rank.ended_at for rank in record.ranks)
    else:
        return None if has_log(record) else 0.0
    seconds = datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(record.started_at)
    return max(0.0, seconds.total_seconds()) / 3600
