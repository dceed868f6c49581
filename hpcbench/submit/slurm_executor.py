"""Submit a sweep's arrays through submitit, with the scripts of the sweep instead of pickles."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from submitit.core.core import Job
from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.slurm.slurm import SlurmExecutor

from hpcbench.core.run_spec import Pack
from hpcbench.errors import UserError
from hpcbench.slurm.accounting import find_in_accounting
from hpcbench.slurm.client import client_environment, failure, quoted, run
from hpcbench.slurm.job_id import job_id_in
from hpcbench.slurm.queue import UNKNOWN_ID, find_by_name
from hpcbench.slurm.refusals import is_of_request
from hpcbench.slurm.submit_limits import exceeded_limit
from hpcbench.slurm.sweep_cluster import check_cluster
from hpcbench.store import packs
from hpcbench.store.journal import NOT_FOUND, Batch, Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths
from hpcbench.submit.script import LOG
from hpcbench.util.console import err
from hpcbench.util.locking.flock import as_standard_input
from hpcbench.util.locking.lease import Lease

SBATCH_LIMIT_S = 60
KILL_AFTER_S = 5
_OUT_OF_TIME = (124, 128 + 9, -9)  # exit status of timeout(1); it kills itself, too, if it had to kill the command
# After such a message the job may be in the queue: the intent stays open, and resume searches for the job.
_UNCERTAIN = re.compile(r"contact|timed? ?out|connect|communicat|zero bytes|no answer|no clear job ID|killed", re.I)


@dataclass(frozen=True)
class Array:
    """The job bundles of one sbatch, and the time limit of each if it differs from that of the script.

    They start after the jobs with the IDs in `after` have ended.
    """

    job: str
    packs: tuple[Pack, ...]
    time: str | None = None
    after: tuple[str, ...] = ()


class ScriptExecutor(SlurmExecutor):
    """submitit's executor for a script that exists already: without function, pickle and parameters."""

    def __init__(
        self, script: Path, folder: Path, options: list[str], arguments: list[str], cluster: str | None
    ) -> None:
        super().__init__(folder)
        self._script = script
        self._options = [*([f"--clusters={cluster}"] if cluster else []), *options]
        self._arguments = arguments

    def submit_script(self, lease: Lease) -> str:
        """Run sbatch; return the ID of the array. Raise FailedJobError or FailedSubmissionError if sbatch fails.

        An sbatch that outlives this process holds the sweep's lock until it ends. Otherwise another hpcbench would not
        find its job, and submit it again. The lock is its standard input.
        """
        with as_standard_input(lease.fileno()):
            return str(self._submit_command("").job_id)

    def _submit_command(self, command: str) -> Job[Any]:
        """Run sbatch. submitit itself kills an sbatch whose output is not UTF-8, though Slurm has accepted the job."""
        words = self._make_submission_command(self._script)
        done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace")
        if done.returncode:
            failed = subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
            raise FailedJobError(done.stderr.strip()) from failed
        job_id = self._get_job_id_from_submission_command(done.stdout)
        return self.job_class(folder=self.folder, job_id=job_id, tasks=[0])

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        unset = [word for name in os.environ.keys() - client_environment().keys() for word in ("-u", name)]
        script = [str(submission_file_path), *self._arguments]
        return [*_limited(), "env", *unset, "sbatch", "--parsable", *self._options, *script]

    @staticmethod
    def _get_job_id_from_submission_command(string: bytes | str) -> str:
        text = string.decode("utf-8", "replace") if isinstance(string, bytes) else string
        job_id = job_id_in(text)
        if job_id is None:
            raise FailedSubmissionError(f"no clear job ID in the output of sbatch: {quoted(text.splitlines())!r}")
        return job_id


def check_available(cluster: str | None, slurm_conf: str | None) -> None:
    """Raise UserError if a Slurm command or `slurm_conf` is missing, or if the shell selects another cluster.

    `cluster` and `slurm_conf` are those of the site file. Without a `cluster`, jobs are for the one of this machine.
    """
    for command in ("sbatch", "srun", "squeue", "scancel"):
        if shutil.which(command) is None:
            raise UserError(
                f"{command} not found, so hpcbench cannot submit jobs",
                hint="run hpcbench on a login node, or add --local to use only this machine",
            )
    if slurm_conf is not None and not Path(slurm_conf).is_file():
        hint = "correct `slurm_conf` in the site file; for the site local-slurm, first run: make cluster"
        raise UserError("slurm.conf not found", where=slurm_conf, hint=hint)
    for variable in ("SLURM_CLUSTERS", "SBATCH_CLUSTERS"):
        chosen = os.environ.get(variable)
        if chosen and chosen != cluster:
            target = f"cluster '{cluster}'" if cluster else "the cluster of this machine"
            raise UserError(
                f"{variable} is set to {chosen}, but hpcbench submits to {target}",
                hint=f"to submit to another cluster, set `cluster: NAME` in the site file; otherwise: unset {variable}",
            )


class QueueFullError(UserError):
    """sbatch refused a job because there are too many jobs. The same job can be submitted later.

    `limit` describes the limit.
    """

    def __init__(self, job: str, limit: str, paths: SweepPaths) -> None:
        hint = f"when other jobs have ended, run: hpcbench resume {paths.name} --missing"
        super().__init__(f"sbatch refused {job}: {limit}", hint=hint)
        self.limit = limit


def submit(sweep: Sweep, array: Array, journal: Journal, lease: Lease) -> str:
    """Submit an array; return its ID.

    If sbatch does not print a clear ID, look for the job by its name. Raise QueueFullError if there are too many jobs.
    Raise UserError, with the message of sbatch, if sbatch refuses the array for another reason, fails, or exceeds
    SBATCH_LIMIT_S; and if the Slurm commands reach another cluster than that of the sweep.
    """
    paths = sweep.paths
    cluster = journal.cluster or check_cluster(sweep, journal)["ClusterName"]
    batch = Batch(paths, f"{array.job}.{secrets.token_hex(4)}", cluster=cluster)
    packs.write(paths.packs(batch.name), array.packs)
    folder = paths.logs(batch.name)
    folder.mkdir(parents=True)
    executor = ScriptExecutor(
        paths.script(array.job), folder, _options(sweep, batch, array), [batch.name], sweep.other_cluster
    )
    lease.check()
    journal.submitting(batch)
    try:
        slurm_id = executor.submit_script(lease)
    except (FailedJobError, FailedSubmissionError) as error:
        limit = exceeded_limit(message_of(error))
        # An sbatch that timeout(1) ended while it was trying again may have succeeded.
        is_open = isinstance(error, FailedSubmissionError) or bool(limit and _timed_out(error))
        found = _find(sweep, batch) if is_open else None
        if found is None:
            raise _refusal(sweep, array, batch, journal, error) from error
        slurm_id = found
    journal.submitted(batch, slurm_id)
    return slurm_id


def _refusal(
    sweep: Sweep, array: Array, batch: Batch, journal: Journal, error: FailedJobError | FailedSubmissionError
) -> UserError:
    """Record in the journal that sbatch refused a batch, if that is certain; return the error for the user."""
    paths, message = batch.paths, message_of(error)
    script = str(paths.script(array.job))
    limit = exceeded_limit(message)
    if limit:
        journal.rejected(batch, message)
        if not _timed_out(error):
            paths.packs(batch.name).unlink()
            shutil.rmtree(paths.logs(batch.name), ignore_errors=True)
        return QueueFullError(array.job, limit, paths)
    if _timed_out(error):
        hint = f"check `scontrol ping`, then run: hpcbench resume {paths.name} (it submits no job a second time)"
        return UserError(f"sbatch did not respond for {array.job} within {SBATCH_LIMIT_S} s", where=script, hint=hint)
    if _UNCERTAIN.search(message):
        what = f"whether sbatch accepted {array.job} is unknown: {message}"
        return UserError(
            what, where=script, hint=f"hpcbench resume {paths.name} looks for the job before it submits again"
        )
    journal.rejected(batch, message)
    variables = sweep.shell_defaults(array.job)
    in_shell = f"unset or correct {', '.join(variables)} in the shell, or " if variables else ""
    correct = f"{in_shell}correct the experiment or the site file, and start a new sweep"
    again = f"hpcbench resume {paths.name}"
    hint = f"{correct}; " + (
        f"{again} would submit the same script" if is_of_request(message) else f"otherwise run: {again}"
    )
    return UserError(f"sbatch refused {array.job}: {message}", where=script, hint=hint)


def _timed_out(error: Exception) -> bool:
    return getattr(error.__cause__, "returncode", None) in _OUT_OF_TIME


def _limited() -> list[str]:
    """Return the words before a command that end it in time, even if hpcbench is gone by then."""
    if shutil.which("timeout") is None:
        return []
    return ["timeout", "-k", str(KILL_AFTER_S), str(SBATCH_LIMIT_S)]


def _options(sweep: Sweep, batch: Batch, array: Array) -> list[str]:
    """Return the options that override the #SBATCH lines of the script."""
    throttle = sweep.slurm(array.job).max_running if len(array.packs) > 1 else None
    options = [
        f"--job-name={batch.slurm_name}",
        f"--array=0-{len(array.packs) - 1}" + (f"%{throttle}" if throttle else ""),
        f"--output={sweep.paths.logs(batch.name) / LOG}",
    ]
    after = [f"--dependency={':'.join(['afterany', *array.after])}"] if array.after else []
    return options + after + ([f"--time={array.time}"] if array.time else [])


def _find(sweep: Sweep, batch: Batch) -> str | None:
    """Return the ID of the job of a batch by its logs or its name, or None. Raise NoAnswerError if Slurm fails.

    The queue is queried again at the end, because a late sbatch may arrive during the query of the accounting.
    """
    name, cluster = batch.slurm_name, sweep.other_cluster
    found = _logged_id(batch) or find_by_name(name, batch.uid, cluster)
    return found or find_in_accounting(name, batch.uid, cluster) or find_by_name(name, batch.uid, cluster)


def _logged_id(batch: Batch) -> str | None:
    """Return the ID of the array of a batch by the names of its logs, or None: a user may have renamed the job."""
    ids = {path.name.partition("_")[0] for path in batch.paths.logs(batch.name).glob("*_0_log.out")}
    return min(filter(str.isdecimal, ids), default=None)


def adopt_orphans(sweep: Sweep, journal: Journal) -> None:
    """Complete batches whose hpcbench died between sbatch and the journal: find their ids in Slurm by job name.

    A batch counts as refused if its job is still not found `limits.record_delay_s` after its sbatch has ended: an
    earlier answer of squeue may be older than the job. The caller holds the lock of the sweep, which sbatch holds while
    it runs. Raise UserError if this is impossible, because Slurm may hide the jobs of other users, if Slurm does not
    respond, or if its commands reach another cluster than that of the sweep.
    """
    if any(batch.slurm_id is None for batch in journal.accepted):
        check_cluster(sweep, journal)
        _adopt_found(sweep, journal)
    lost = [batch for batch in journal.accepted if batch.slurm_id is None]
    if not lost:
        return
    delay_s = sweep.site.limits.record_delay_s
    ended_at = max(batch.begun_at for batch in lost) + SBATCH_LIMIT_S + KILL_AFTER_S  # at the latest
    wait_s = min(delay_s, ended_at + delay_s - time.time())
    if wait_s > 0:
        names = ", ".join(batch.name for batch in lost)
        err.print(f"whether Slurm accepted {names} is unknown; waiting {wait_s:.0f} s", soft_wrap=True)
        time.sleep(wait_s)
        _adopt_found(sweep, journal)
    for batch in (batch for batch in journal.accepted if batch.slurm_id is None):
        journal.rejected(batch, NOT_FOUND)


def _adopt_found(sweep: Sweep, journal: Journal) -> None:
    """Record the IDs of the batches without one whose jobs are found. Raise UserError for one of another user."""
    for batch in (batch for batch in journal.accepted if batch.slurm_id is None):
        slurm_id = _find(sweep, batch)
        if slurm_id is not None:
            journal.submitted(batch, slurm_id)
        elif not batch.ours:
            raise UserError(
                f"hpcbench of the user with UID {batch.uid} died while it submitted {batch.name}; only this user "
                "can determine whether Slurm accepted it",
                where=str(batch.paths.journal),
                hint=f"ask this user to run: hpcbench resume {batch.paths.name}",
            )


def cancel(sweep: Sweep, arrays: Iterable[str], journal: Journal) -> None:
    """Cancel whole arrays by their IDs, ignoring those that have ended. Raise UserError if scancel fails."""
    for slurm_id in arrays:
        reply = run(["scancel", slurm_id], sweep.other_cluster)
        has_ended = bool(reply.errors) and all(UNKNOWN_ID in line for line in reply.errors)
        if reply.status and not has_ended:
            raise failure("scancel", reply)
        journal.cancelled(slurm_id)


def message_of(error: FailedJobError | FailedSubmissionError) -> str:
    """Return the message of sbatch on one line."""
    lines = str(error).splitlines()
    return " ".join(line.removeprefix("sbatch: error: ").strip() for line in lines) or "no reason given"
