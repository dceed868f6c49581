"""The record of a run, with facts from sources other than the node."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields

from hpcbench.core.record import Record
from hpcbench.core.record_field import described


@dataclass(frozen=True)
class RunRecord(Record):
    """A record with data that only the login node has: the attempts, Slurm options, Slurm's energy counter, prices."""

    attempts: int | None = described("attempts at the run by all jobs", "attempts", default=None)
    placement: str | None = described(
        "Slurm options of the job that may select or configure its nodes, such as `partition=gpu`",
        "placement",
        default=None,
    )
    energy_slurm_j: float | None = described(
        "energy of whole runs, with import and warm-up, by Slurm's own counter; only with `exclusive: true`, and if "
        "the job made only one attempt",
        "energy_slurm_j",
        "J",
        default=None,
    )
    energy_slurm_reason: str | None = described("why the energy by Slurm's counter is unknown", default=None)
    currency: str | None = described("currency of the site", "currency", default=None)
    price_per_hour: float | None = described("price per hour of the allocation", "price_per_hour", default=None)
    price_reason: str | None = described("why the price is unknown", "price_reason", default=None)
    co2e_g_per_kwh: float | None = described(
        "the site's `g_per_kwh` times its `pue`", "co2e_g_per_kwh", "g", default=None
    )


_DEFAULTS = {field.name: field.default for field in fields(RunRecord) if field.default is not MISSING}


def run_record(record: Record, **changes: object) -> RunRecord:
    """Return a record as a RunRecord, with these fields changed."""
    made = object.__new__(RunRecord)  # __init__ of a frozen dataclass takes ten times as long
    vars(made).update({**_DEFAULTS, **vars(record), **changes})
    return made
