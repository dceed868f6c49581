"""Energy of repetitions by Slurm's own accounting, where a site has it measured (AcctGatherEnergyType).

One sacct for a whole sweep, after the jobs: nothing runs on the nodes for it, and no node asks the controller. It is
the energy of all of a repetition, from the start of its srun to its end, and of whole nodes: slurm.conf(5) says that
only for an exclusive allocation do the values reflect what the job consumed.
"""

from __future__ import annotations

from collections.abc import Collection

from hpcbench.slurm.client import sacct
from hpcbench.slurm.queue import Element

_MOST = 2**62  # Slurm's marks for a value that it does not have (NO_VAL64, INFINITE64) are larger


def energy_of(elements: Collection[Element]) -> dict[Element, int]:
    """Joules, for each of these elements for which Slurm has counted any.

    Raises UserError where sacct fails for another reason than that there is no accounting.
    """
    counted: dict[Element, int] = {}
    if not elements:
        return counted
    jobs = ",".join(sorted({array_id for array_id, _ in elements}))
    for line in sacct([f"--jobs={jobs}", "--format=JobID,ConsumedEnergyRaw"]):
        job_id, joules = line.split("|", 1)
        element, step = _parse(job_id)
        # A monitor's step runs beside the repetition's on the same nodes: the longer of the two has seen all of it.
        if element in elements and step.isdigit() and joules.isdigit() and 0 < int(joules) < _MOST:
            counted[element] = max(counted.get(element, 0), int(joules))
    return counted


def _parse(job_id: str) -> tuple[Element, str]:
    """`7_3.0` is step 0 of element 3 of array 7."""
    job, _, step = job_id.partition(".")
    array_id, _, index = job.partition("_")
    return (array_id, int(index) if index.isdigit() else -1), step
