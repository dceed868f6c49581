"""The energy of runs from Slurm's accounting, if the site measures it (AcctGatherEnergyType).

One sacct for a whole sweep, after the jobs: it adds no load to nodes. The energy is that of a complete run, from the
start of its srun to the end, and of whole nodes. By slurm.conf(5), the values show the consumption of a job only if
its allocation is exclusive.
"""

from __future__ import annotations

from collections.abc import Collection

from hpcbench.slurm.accounting import sacct
from hpcbench.slurm.job_entry import Element

_MOST = 2**62  # Slurm's values for unknown and infinite (NO_VAL64, INFINITE64) are larger


def energy_of(elements: Collection[Element], cluster: str | None) -> dict[Element, int]:
    """Return the energy in joules of each element for which Slurm has measured it.

    Raise UserError if sacct fails for another reason than missing accounting.
    """
    counted: dict[Element, int] = {}
    if not elements:
        return counted
    jobs = ",".join(sorted({array_id for array_id, _ in elements}))
    for job_id, joules in sacct([f"--jobs={jobs}", "--format=JobID,ConsumedEnergyRaw"], cluster):
        element, step = _parse(job_id)
        # The step of the monitor runs on the same nodes as that of the run: the larger value covers the complete run.
        if element in elements and step.isdigit() and joules.isdigit() and 0 < int(joules) < _MOST:
            counted[element] = max(counted.get(element, 0), int(joules))
    return counted


def _parse(job_id: str) -> tuple[Element, str]:
    """Return element and step of a job id: `7_3.0` is step 0 of element 3 of array 7."""
    job, _, step = job_id.partition(".")
    array_id, _, index = job.partition("_")
    return (array_id, int(index) if index.isdigit() else -1), step
