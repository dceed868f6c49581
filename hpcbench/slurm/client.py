"""Run a Slurm command and return the lines that it prints."""

from __future__ import annotations

import os
import subprocess

from hpcbench.errors import UserError

TIMEOUT_S = 60
QUERY_TIMEOUT_S = 10  # for facts that hpcbench can do without


class NoAnswerError(UserError):
    """A Slurm command failed or timed out. It may work later."""


def fields_of(command: str, line: str, count: int) -> list[str]:
    """Return the fields of a line that a Slurm command has printed, separated by `|`.

    Raise NoAnswerError if there are not `count` fields: a wrapper of the command may print other lines.
    """
    fields = line.split("|", count - 1)
    if len(fields) != count:
        raise unexpected_line(command, line)
    return fields


def unexpected_line(command: str, line: str) -> NoAnswerError:
    """Return the error for a line that a Slurm command, or a wrapper of it, should not have printed."""
    return NoAnswerError(f"{command} printed an unexpected line: {line.strip()[:200]!r}")


def sacct(arguments: list[str]) -> list[str]:
    """Return the lines that sacct prints, or none if the cluster has no accounting.

    Raise UserError if sacct fails for another reason.
    """
    try:
        return output_of(["sacct", "--noheader", "--parsable2", *arguments])
    except UserError as error:
        if "accounting storage is disabled" in error.what or error.what == "sacct not found":
            return []
        raise


def client_environment() -> dict[str, str]:
    """Return the environment for Slurm commands, without variables that change what they do.

    Variables such as SBATCH_PARTITION or SQUEUE_ACCOUNT of a login shell override options and hide jobs; the SLURM_
    variables of an enclosing job would be passed to the new one. SLURM_CONF and SLURM_JWT stay.
    """
    dropped = ("SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SLURM_")
    kept = ("SLURM_CONF", "SLURM_JWT")
    passed = {name: value for name, value in os.environ.items() if name in kept or not name.startswith(dropped)}
    return {**passed, "SLURM_BITSTR_LEN": "0"}  # otherwise long lists of array indices are cut off


def output_of(command: list[str], timeout_s: float | None = None) -> list[str]:
    """Return the lines that a Slurm command prints, without empty ones.

    Raise UserError if the command is not found or cannot be started. Raise NoAnswerError, with the message of Slurm,
    if it fails or takes more than `timeout_s` seconds, by default TIMEOUT_S.
    """
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=True, env=client_environment()
        )
    except FileNotFoundError as error:
        raise UserError(
            f"{command[0]} not found", hint="run hpcbench on a machine that has the Slurm commands, e.g. a login node"
        ) from error
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(
            f"{command[0]} did not respond within {timeout_s} s", hint="check `scontrol ping`, then try again"
        ) from error
    except subprocess.CalledProcessError as error:
        raise NoAnswerError(f"{command[0]} failed: {error.stderr.strip()}") from error
    return [line for line in done.stdout.splitlines() if line.strip()]


def output_or_none(command: list[str]) -> list[str] | None:
    """Return the lines that a Slurm command prints, or None if it fails, is not found or exceeds QUERY_TIMEOUT_S."""
    try:
        return output_of(command, QUERY_TIMEOUT_S)
    except UserError:
        return None


def rows_or_none(command: list[str], count: int) -> list[list[str]] | None:
    """Return the `count` fields of each line that a Slurm command prints, or None as `output_or_none` does.

    Lines with another number of fields are left out: some sites print a greeting.
    """
    lines = output_or_none(command)
    return None if lines is None else [row for row in (line.split("|") for line in lines) if len(row) == count]
