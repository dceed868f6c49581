"""Run a Slurm command and return what it prints."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hpcbench.errors import UserError

TIMEOUT_S = 60
QUERY_TIMEOUT_S = 10  # for facts that hpcbench can do without
MAX_QUOTED = 300  # characters of a message
_KEPT = ("SLURM_CONF", "SLURM_JWT")  # select the controller, and authenticate the user
# scontrol ping prints these lines if slurmctld is down.
_NOISE = re.compile(r"\*+( RESTORE SLURMCTLD DAEMON TO SERVICE \*+)?")
_NO_SLURM_CONF = "DNS SRV lookup failed"  # after no slurm.conf was found, the commands look for a controller in the DNS
_DROPPED = ("SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SCONTROL_", "SINFO_", "SLURM_")


class NoAnswerError(UserError):
    """A Slurm command failed or timed out. It may work later."""


class Reply(NamedTuple):
    """The lines that a Slurm command printed on both streams, without empty ones, and its exit status."""

    lines: list[str]
    errors: list[str]
    status: int


def client_environment() -> dict[str, str]:
    """Return the environment for Slurm commands, without variables that change what they do.

    Variables such as SINFO_PARTITION or SQUEUE_ACCOUNT of a login shell override options and hide jobs; the SLURM_
    variables of an enclosing job would be passed to the new one. SLURM_CONF and SLURM_JWT stay.
    """
    passed = {name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith(_DROPPED)}
    return {**passed, "SLURM_BITSTR_LEN": "0"}  # otherwise long lists of array indices are cut off


@contextmanager
def using(slurm_conf: str | None) -> Iterator[None]:
    """Let the Slurm commands within the block use this slurm.conf; None: the one of the shell.

    The variable SLURM_CONF of this process changes, so that the programs that it starts use the file, too.
    """
    before = os.environ.get("SLURM_CONF")
    # Slurm sets the variable in its jobs: on a node without the file, it names a copy.
    is_missing_on_node = "SLURM_JOB_ID" in os.environ and not Path(slurm_conf or "/").is_file()
    if slurm_conf is not None and not (before and is_missing_on_node):
        os.environ["SLURM_CONF"] = slurm_conf
    try:
        yield
    finally:
        os.environ.pop("SLURM_CONF", None)
        if before is not None:
            os.environ["SLURM_CONF"] = before


def run(command: list[str], cluster: str | None = None, timeout_s: float | None = None) -> Reply:
    """Run a Slurm command, for `cluster` if it is given, otherwise for the cluster of this machine.

    Bytes that are not UTF-8, e.g. in job names or greetings of a site, are replaced. Raise UserError if the command is
    not found or cannot be started, and NoAnswerError if it takes more than `timeout_s` seconds, by default TIMEOUT_S.
    """
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    program = command[0]
    try:
        done = subprocess.run(
            [program, *([f"--clusters={cluster}"] if cluster else []), *command[1:]],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            env=client_environment(),
        )
    except FileNotFoundError as error:
        raise UserError(
            f"{program} not found", hint="run hpcbench on a machine that has the Slurm commands, e.g. a login node"
        ) from error
    except OSError as error:
        raise UserError(f"{program} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(
            f"{program} did not respond within {timeout_s} s", hint="check `scontrol ping`, then try again"
        ) from error
    return Reply(_lines(done.stdout), _lines(done.stderr), done.returncode)


def output_of(command: list[str], cluster: str | None = None, timeout_s: float | None = None) -> list[str]:
    """Return the lines that a Slurm command prints, without empty ones.

    Raise NoAnswerError, with the message of Slurm, if it fails; otherwise raise as `run` does.
    """
    reply = run(command, cluster, timeout_s)
    if reply.status:
        raise failure(command[0], reply)
    return reply.lines


def failure(program: str, reply: Reply) -> NoAnswerError:
    """Return the error for a command that failed, with its message. scontrol prints some to standard output."""
    said = quoted(reply.errors) or quoted(reply.lines) or f"exit status {reply.status}"
    if _NO_SLURM_CONF in said:
        hint = "write the path of the cluster's slurm.conf as `slurm_conf:` in the site file, or set SLURM_CONF to it"
        return NoAnswerError(f"{program} found no slurm.conf: {said}", hint=hint)
    return NoAnswerError(f"{program} failed: {said}")


def output_or_none(command: list[str], cluster: str | None = None) -> list[str] | None:
    """Return the lines that a Slurm command prints, or None if it fails, is not found or exceeds QUERY_TIMEOUT_S."""
    try:
        return output_of(command, cluster, QUERY_TIMEOUT_S)
    except UserError:
        return None


def rows_of(command: list[str], count: int, cluster: str | None = None) -> list[list[str]]:
    """Return the `count` fields of each line that a Slurm command prints. Its time limit is QUERY_TIMEOUT_S.

    Lines with another number of fields are left out: some sites print a greeting. Raise UserError as `output_of` does.
    """
    lines = output_of(command, cluster, QUERY_TIMEOUT_S)
    return [row for row in (line.split("|") for line in lines) if len(row) == count]


def rows_or_none(command: list[str], count: int, cluster: str | None = None) -> list[list[str]] | None:
    """Return the rows of `rows_of`, or None as `output_or_none` does."""
    try:
        return rows_of(command, count, cluster)
    except UserError:
        return None


def quoted(lines: list[str]) -> str:
    """Return what a Slurm command printed as one line of at most MAX_QUOTED characters, without lines of asterisks."""
    said = [line for line in lines if not _NOISE.fullmatch(line.strip())]
    return " ".join(" ".join(said).split())[:MAX_QUOTED]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
