"""Submitting through submitit, with our own script and without its pickles."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.slurm.slurm import SlurmExecutor, SlurmJob

from hpcbench.errors import UserError
from hpcbench.submit.journal import Journal, Submission, compact_elements
from hpcbench.submit.queue import client_environment, find_by_name
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import SweepPaths

Job = tuple[str, tuple[int, ...]]  # a job's name and the elements of it to submit


class ScriptExecutor(SlurmExecutor):
    """submitit's executor for a script that is already written: no function, no pickle, no parameters."""

    def __init__(
        self, script: Path, folder: Path, job_name: str, elements: tuple[int, ...], max_running: int | None
    ) -> None:
        super().__init__(folder)
        self._max_running = max_running
        self._script = script
        self._job_name = job_name
        self._elements = elements

    def submit_script(self) -> str:
        """Run sbatch; return the array's id. Raises submitit's errors where sbatch says no."""
        try:
            return str(self._submit_command("").job_id)
        finally:
            for link in Path(self.folder).glob(".submission_file_*.sh"):
                link.unlink()  # submitit's temporary name for the script that it keeps beside the logs

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        return self._script.read_text()

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        unset = [word for name in os.environ.keys() - client_environment().keys() for word in ("-u", name)]
        array = f"--array={compact_elements(self._elements)}"
        if self._max_running is not None:  # giving --array drops what the script says
            array += f"%{self._max_running}"
        return ["env", *unset, "sbatch", "--parsable", f"--job-name={self._job_name}", array, str(self._script)]

    @staticmethod
    def _get_job_id_from_submission_command(string: bytes | str) -> str:
        """`123` or `123;cluster`, on the last line: sites print greetings before it."""
        text = string.decode() if isinstance(string, bytes) else string
        job_id = (text.strip().splitlines() or [""])[-1].partition(";")[0]
        if not job_id.isdigit():
            raise FailedSubmissionError(f"sbatch answered {text!r}, which has no job id")
        return job_id


def check_available() -> None:
    """Raises UserError where there is no Slurm to submit to."""
    for command in ("sbatch", "srun", "squeue", "scancel"):
        if shutil.which(command) is None:
            raise UserError(
                f"{command} was not found, so nothing can be submitted",
                hint="run this on a login node, or on this machine alone with --local",
            )


def submit(sweep: Sweep, jobs: list[Job], journal: Journal, progress: Callable[[str], None] = lambda job: None) -> None:
    """Submit the given elements of each job, in order. Raises UserError, with sbatch's own words, at the first no."""
    check_available()
    paths = sweep.paths
    for name, elements in jobs:
        submission = Submission(secrets.token_hex(4), name, elements)
        folder = paths.logs(name)
        folder.mkdir(parents=True, exist_ok=True)
        executor = ScriptExecutor(
            paths.script(name), folder, slurm_name(paths, submission), elements, sweep.max_running(name)
        )
        journal.submitting(submission)
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # submitit prints what the error says again
                slurm_id = executor.submit_script()
        except (FailedJobError, FailedSubmissionError) as error:
            # After a time-out it may be queued all the same: the intent stays open, and resume looks for it.
            raise UserError(
                f"sbatch refused {name}: {_words(str(error))}",
                where=str(paths.script(name)),
                hint="if the experiment or the site file is wrong, mend it and start a new sweep; "
                f"else go on with: hpcbench resume {paths.name}",
            ) from error
        journal.submitted(submission.token, slurm_id)
        progress(name)


def adopt_orphans(paths: SweepPaths, journal: Journal) -> None:
    """Find the ids of submissions that died between sbatch and the journal, by their unique names in Slurm."""
    for submission in [s for s in journal.submissions if s.slurm_id is None and not s.rejected]:
        slurm_id = find_by_name(slurm_name(paths, submission))
        if slurm_id is None:
            journal.rejected(submission.token, "hpcbench died before Slurm had it")
        else:
            journal.submitted(submission.token, slurm_id)


def cancel(paths: SweepPaths, arrays: Mapping[str, str], journal: Journal) -> None:
    """Cancel whole arrays, given by their id with the job they are of. Raises UserError where scancel fails."""
    for slurm_id, job in arrays.items():
        try:
            SlurmJob(paths.logs(job), slurm_id).cancel()
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            raise UserError(f"scancel {slurm_id} failed: {error}") from error
        journal.cancelled(slurm_id)


def slurm_name(paths: SweepPaths, submission: Submission) -> str:
    """The job's name in Slurm, unique to one submission so that it can be found again."""
    return f"{paths.name}.{submission.job}.{submission.token}"


def _words(stderr: str) -> str:
    """sbatch's own words on one line."""
    return " ".join(line.removeprefix("sbatch: error: ").strip() for line in stderr.splitlines()) or "no reason given"
