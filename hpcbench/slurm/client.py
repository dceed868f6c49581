"""Slurm's commands: run one, and return the lines that it prints."""

from __future__ import annotations

import os
import subprocess

from hpcbench.errors import UserError

TIMEOUT_S = 60


class NoAnswerError(UserError):
    """Slurm was asked and gave no answer: it may give one later."""


def sacct(arguments: list[str]) -> list[str]:
    """The lines that sacct prints. Many sites have no accounting: the records on disk must do there."""
    try:
        return answer(["sacct", "--noheader", "--parsable2", *arguments])
    except UserError as error:
        if "accounting storage is disabled" in error.what or "was not found" in error.what:
            return []
        raise


def client_environment() -> dict[str, str]:
    """The environment for Slurm's commands, without what would change what they do.

    Variables like SBATCH_PARTITION or SQUEUE_ACCOUNT in a login shell override options and hide jobs; the SLURM_ ones
    of an enclosing job leak into the new one. Where Slurm is, and who we are to it, stays.
    """
    dropped = ("SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SLURM_")
    kept = ("SLURM_CONF", "SLURM_JWT")
    told = {name: value for name, value in os.environ.items() if name in kept or not name.startswith(dropped)}
    return {**told, "SLURM_BITSTR_LEN": "0"}  # else long lists of array indices are cut off


def answer(command: list[str], timeout_s: float | None = None) -> list[str]:
    """Return the lines that a Slurm command prints, without empty ones.

    Raises UserError with Slurm's message if the command is not there, and NoAnswerError if it fails or takes more than
    `timeout_s` seconds, by default TIMEOUT_S.
    """
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=True, env=client_environment()
        )
    except FileNotFoundError as error:
        raise UserError(f"{command[0]} was not found", hint="run this where the Slurm commands are") from error
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(
            f"{command[0]} gave no answer in {timeout_s} s", hint="is slurmctld up? try again"
        ) from error
    except subprocess.CalledProcessError as error:
        raise NoAnswerError(f"{command[0]} failed: {error.stderr.strip()}") from error
    return [line for line in done.stdout.splitlines() if line.strip()]
