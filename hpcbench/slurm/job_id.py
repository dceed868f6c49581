"""The ID of a job in what sbatch prints."""

from __future__ import annotations

import re

# As --parsable prints it, or as sbatch does without, if a wrapper drops the option.
_JOB_ID = re.compile(r"\s*(?:Submitted batch job )?([0-9]+)(?:;\S+| on cluster \S+)?\s*\Z")


def job_id_in(output: str) -> str | None:
    """Return the ID that exactly one line of sbatch is, otherwise None.

    A site may print a greeting before it, and a balance after it.
    """
    found = {match[1] for match in map(_JOB_ID.match, output.splitlines()) if match}
    return found.pop() if len(found) == 1 else None
