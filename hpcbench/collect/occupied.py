"""What repetitions took of their site while they ran, and what that costs: by their records alone."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hpcbench.collect.energy import MEASURED, SCOPE, energy_columns
from hpcbench.collect.progress import Progress
from hpcbench.collect.records import Record, has_log
from hpcbench.config.prices import Price, Taken, has_prices, price_per_hour, total
from hpcbench.plan.packing import Resources
from hpcbench.plan.taking import taken
from hpcbench.submit.sweep import Sweep

CURRENCY, PRICE, PRICE_REASON, CARBON = "currency", "price_per_hour", "price_reason", "co2e_g_per_kwh"
COLUMNS = (CURRENCY, PRICE, PRICE_REASON, CARBON)
J_PER_KWH = 3.6e6


class Charges:
    """What each job of a sweep takes of its site, as that was when the sweep was made, and at what price."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._site = sweep.site
        self._taken: dict[tuple[str, int | None], Taken] = {}
        self.cost, self.carbon = self._site.cost, self._site.carbon
        self.currency = self.cost.currency if has_prices(self.cost) else None

    def taken(self, job: str, record: Record) -> Taken:
        """What a repetition took: of those that its job ran side by side, each has an equal part of it."""
        cpus = _cpus(record)
        if (job, cpus) not in self._taken:  # all repetitions of a job ask for the same
            width = self._sweep.width(job)
            whole = taken(self._resources(job, record["parameters"]), self._site, width, cpus)
            self._taken[job, cpus] = whole.divided(width)
        return self._taken[job, cpus]

    def price(self, each: Taken) -> Price:
        """For an hour."""
        return price_per_hour(self.cost, each)

    def columns(self, job: str, record: Record) -> dict[str, Any]:
        """What a table wants to know, by COLUMNS."""
        price = self.price(self.taken(job, record))
        return dict(zip(COLUMNS, (self.currency, *price, self.carbon.g_per_measured_kwh), strict=True))

    def _resources(self, job: str, parameters: dict[str, Any]) -> Resources:
        sizes = (parameters[name] for name in ("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task"))
        return Resources(*sizes, environment="", slurm=self._sweep.slurm(job))


def _cpus(record: Record) -> int | None:
    """Of all nodes together, as they have told; None unless each of them has."""
    counts = [node.get("cpu_count") for node in record["nodes"]]
    return sum(counts) if None not in counts and len(counts) == record["parameters"]["nodes"] else None


@dataclass(frozen=True)
class Used:
    """What a whole sweep has used so far: all attempts of all repetitions, also failed and disturbed ones.

    Only what records know: from the start of a repetition's first task to its record. Waiting, and what a job does
    before, between and after its repetitions, is not in it. `unknown` says why the hours may be more.
    """

    sweep: str
    attempts: int
    untimed: int  # further attempts, which have left no times
    node_hours: float
    core_hours: float
    gpu_hours: float
    unknown: str | None
    currency: str | None  # None where the site has no prices
    price: Price
    energy_kwh: float | None  # of what was metered, while it was; None where nothing was
    energy_scopes: tuple[str, ...]  # which parts of the nodes that is
    measured_node_hours: float  # in which that energy was used
    co2e_g: float | None

    @property
    def measured_part(self) -> float:
        """Of the node-hours, from 0 to 1."""
        return self.measured_node_hours / self.node_hours if self.node_hours else 0.0


@dataclass(frozen=True)
class _Attempt:
    taken: Taken
    price: Price
    hours: float
    energy_j: float | None
    scope: str | None
    measured_hours: float


def used(progress: Progress) -> Used:
    """What a sweep has used."""
    charges = Charges(progress.sweep)
    attempts, untimed = [], 0
    for run in progress.runs:
        for record in run.attempts:
            hours = _hours(record)
            if hours is None:
                untimed += 1
            else:
                attempts.append(_attempt(charges, run.job, record, hours))
    energies = [each for each in attempts if each.energy_j is not None]
    energy_kwh = sum(each.energy_j or 0.0 for each in energies) / J_PER_KWH if energies else None
    factor = charges.carbon.g_per_measured_kwh
    return Used(
        sweep=progress.sweep.paths.name,
        attempts=len(attempts),
        untimed=untimed,
        node_hours=sum(each.taken.nodes * each.hours for each in attempts),
        core_hours=sum(each.taken.cores * each.hours for each in attempts),
        gpu_hours=sum(each.taken.gpus * each.hours for each in attempts),
        unknown=next((each.taken.unknown for each in attempts if each.taken.unknown and each.hours), None),
        currency=charges.currency,
        price=total(each.price.times(each.hours) for each in attempts if each.hours),
        energy_kwh=energy_kwh,
        energy_scopes=_distinct(each.scope for each in energies),
        measured_node_hours=sum(each.taken.nodes * each.measured_hours for each in energies),
        co2e_g=None if factor is None or energy_kwh is None else factor * energy_kwh,
    )


def _attempt(charges: Charges, job: str, record: Record, hours: float) -> _Attempt:
    each = charges.taken(job, record)
    energy = energy_columns(record) if record["watched"] else {}
    seconds = max((node["seconds"] for node in record["watched"]), default=0.0)
    return _Attempt(each, charges.price(each), hours, energy.get(MEASURED), energy.get(SCOPE), seconds / 3600)


def _hours(record: Record) -> float | None:
    """How long it ran; None where that is not known. A record that was made up later was not made when it ended."""
    ends = [rank["ended_at"] for rank in record["ranks"]]
    if record["attempt"] is not None:
        end = record["ended_at"]
    elif ends:
        end = max(ends)
    else:
        return None if has_log(record) else 0.0
    seconds = datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(record["started_at"])
    return max(0.0, seconds.total_seconds()) / 3600


def _distinct(scopes: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(scope for scope in scopes if scope))
