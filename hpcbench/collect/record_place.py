"""The file that a record was written to: what belongs to it lies in files of the same name in other folders."""

from __future__ import annotations

from pathlib import Path

from hpcbench.core.record import Record
from hpcbench.core.run_spec import JOB_NAME
from hpcbench.store.records import RECONCILED
from hpcbench.store.workspace import SweepPaths


def possible_files(paths: SweepPaths, record: Record) -> list[Path]:
    """Return the files that a record may be in, with the names of templates/job.sh.j2, the likeliest first.

    A record with the variables of a Slurm job may be of a local run within another job.
    """
    slurm, batch = record.slurm, record.batch
    if record.attempt is None:
        return [paths.records / batch / RECONCILED]
    folder = ".".join(filter(None, (batch, slurm.get("restart_count"))))
    name = f"{slurm.get('array_job_id') or slurm.get('job_id')}_{slurm.get('array_task_id', 0)}"
    is_safe = JOB_NAME.match(folder) and JOB_NAME.match(name)  # records are untrusted: no path outside
    return [*([paths.records / folder / f"{name}.jsonl"] if is_safe else []), paths.local_records(record.job)]
