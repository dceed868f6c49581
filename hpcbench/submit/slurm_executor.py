"""Submitting through submitit, with our own script and without its pickles."""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.slurm.slurm import SlurmExecutor

from hpcbench.errors import UserError
from hpcbench.plan.packing import Pack
from hpcbench.slurm.client import answer, client_environment
from hpcbench.slurm.queue import find_by_name
from hpcbench.slurm.submit_limits import is_full
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from hpcbench.submit.script import LOG
from hpcbench.util.locking.flock import as_standard_input
from hpcbench.util.locking.lease import Lease

SBATCH_LIMIT_S = 60
KILL_AFTER_S = 5
_OUT_OF_TIME = (124, 128 + 9, -9)  # of timeout(1), which ends itself too where it had to kill
# After words like these the job may be queued all the same: the intent stays open, and resume looks for it.
_UNCERTAIN = re.compile(r"contact|timed? ?out|connect|communicat|zero bytes|no answer|no job id|killed", re.IGNORECASE)


@dataclass(frozen=True)
class Array:
    """What one sbatch submits: packs of one job, and the wall time of each where it is not that of the script."""

    job: str
    packs: tuple[Pack, ...]
    time: str | None = None


class ScriptExecutor(SlurmExecutor):
    """submitit's executor for a script that is already written: no function, no pickle, no parameters."""

    def __init__(self, script: Path, folder: Path, options: list[str], arguments: list[str]) -> None:
        super().__init__(folder)
        self._script = script
        self._options = options
        self._arguments = arguments

    def submit_script(self, lease: Lease) -> str:
        """Run sbatch; return the array's id. Raises submitit's errors where sbatch says no.

        An sbatch that outlives this process holds the sweep's lock until it has its answer: whoever looks for its job
        before that would find none, and submit it again. submitit lets a program inherit no descriptor but these three.
        """
        try:
            with as_standard_input(lease.fileno()):
                return str(self._submit_command("").job_id)
        finally:
            for link in Path(self.folder).glob(".submission_file_*.sh"):
                link.unlink()  # submitit's temporary name for the script that it keeps beside the logs

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        return self._script.read_text()

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        unset = [word for name in os.environ.keys() - client_environment().keys() for word in ("-u", name)]
        return [*_limited(), "env", *unset, "sbatch", "--parsable", *self._options, str(self._script), *self._arguments]

    @staticmethod
    def _get_job_id_from_submission_command(string: bytes | str) -> str:
        """`123` or `123;cluster`, on the last line: sites print greetings before it."""
        text = string.decode() if isinstance(string, bytes) else string
        job_id = (text.strip().splitlines() or [""])[-1].partition(";")[0]
        if not job_id.isdigit():
            raise FailedSubmissionError(f"sbatch answered {text!r}, which has no job id")
        return job_id


def check_available() -> None:
    """Raises UserError where there is no Slurm to submit to, or another one than this machine's is asked for."""
    for command in ("sbatch", "srun", "squeue", "scancel"):
        if shutil.which(command) is None:
            raise UserError(
                f"{command} was not found, so nothing can be submitted",
                hint="run this on a login node, or on this machine alone with --local",
            )
    for variable in ("SLURM_CLUSTERS", "SBATCH_CLUSTERS"):
        if os.environ.get(variable):
            raise UserError(
                f"is set to {os.environ[variable]}, and hpcbench submits to the cluster of this machine alone",
                where=variable,
                hint=f"unset {variable}, on a login node of that cluster",
            )


class QueueFullError(UserError):
    """Slurm has no room for an array now: it may have later."""


def submit(sweep: Sweep, array: Array, journal: Journal, lease: Lease) -> str:
    """Submit an array; return its id. Raises UserError, with sbatch's own words, where it says no."""
    paths = sweep.paths
    batch = Batch(paths, f"{array.job}.{secrets.token_hex(4)}")
    packs.write(paths.packs(batch.name), array.packs)
    folder = paths.logs(batch.name)
    folder.mkdir(parents=True)
    executor = ScriptExecutor(paths.script(array.job), folder, _options(sweep, batch, array), [batch.name])
    lease.check()
    journal.submitting(batch)
    try:
        with without_submitits_words():
            slurm_id = executor.submit_script(lease)
    except (FailedJobError, FailedSubmissionError) as error:
        words = words_of(error)
        if is_full(words):
            journal.rejected(batch, words)
            raise QueueFullError(words) from error
        if getattr(error.__cause__, "returncode", None) in _OUT_OF_TIME:
            raise UserError(
                f"sbatch gave no answer for {array.job} in {SBATCH_LIMIT_S} s",
                where=str(paths.script(array.job)),
                hint=f"is slurmctld up? Go on with: hpcbench resume {paths.name}, which looks for the job before it "
                "submits it again",
            ) from error
        if not _UNCERTAIN.search(words):
            journal.rejected(batch, words)
        raise UserError(
            f"sbatch refused {array.job}: {words}",
            where=str(paths.script(array.job)),
            hint="if the experiment or the site file is wrong, mend it and start a new sweep; "
            f"else go on with: hpcbench resume {paths.name}",
        ) from error
    journal.submitted(batch, slurm_id)
    return slurm_id


def _limited() -> list[str]:
    """The words before a command that end it in time, even where hpcbench is gone by then."""
    if shutil.which("timeout") is None:
        return []
    return ["timeout", "-k", str(KILL_AFTER_S), str(SBATCH_LIMIT_S)]


def _options(sweep: Sweep, batch: Batch, array: Array) -> list[str]:
    """What wins over the #SBATCH lines of the script."""
    throttle = sweep.slurm(array.job).max_running if len(array.packs) > 1 else None
    options = [
        f"--job-name={batch.slurm_name}",
        f"--array=0-{len(array.packs) - 1}" + (f"%{throttle}" if throttle else ""),
        f"--output={sweep.paths.logs(batch.name) / LOG}",
    ]
    return options + ([f"--time={array.time}"] if array.time else [])


def adopt_orphans(journal: Journal) -> None:
    """Find the ids of batches with which hpcbench died between sbatch and the journal, by their names in Slurm.

    Raises UserError where it cannot be known: Slurm may hide the jobs of somebody else.
    """
    for batch in [batch for batch in journal.accepted if batch.slurm_id is None]:
        slurm_id = find_by_name(batch.slurm_name, batch.uid)
        if slurm_id is None and not batch.ours:
            raise UserError(
                f"the user with number {batch.uid} was submitting {batch.name} when their hpcbench died, and only they "
                "can tell whether Slurm has it",
                where=str(batch.paths.journal),
                hint=f"let them run: hpcbench resume {batch.paths.name}",
            )
        if slurm_id is None:
            journal.rejected(batch, "hpcbench died before Slurm had it")
        else:
            journal.submitted(batch, slurm_id)


def cancel(arrays: Iterable[str], journal: Journal) -> None:
    """Cancel whole arrays, given by their ids. Raises UserError where scancel fails."""
    for slurm_id in arrays:
        answer(["scancel", slurm_id])
        journal.cancelled(slurm_id)


def words_of(error: FailedJobError | FailedSubmissionError) -> str:
    """sbatch's own words on one line."""
    lines = str(error).splitlines()
    return " ".join(line.removeprefix("sbatch: error: ").strip() for line in lines) or "no reason given"


def without_submitits_words() -> AbstractContextManager[object]:
    """submitit prints on stderr what its error says again."""
    return contextlib.redirect_stderr(io.StringIO())
