"""Find the ID of a job in the output of sbatch."""

from __future__ import annotations

import re

# With --parsable, or without it, if a wrapper of sbatch drops the option.
_JOB_ID = re.compile(r"\s*(?:Submitted batch job )?([0-9]+)(?:;\S+| on cluster \S+)?\s*\Z")


def job_id_in(output: str) -> str | None:
    """Return the only job ID in the output of sbatch; None unless the output has exactly one.

    A site may print other lines before and after it, e.g. a greeting or the balance of the account.
    """
    found = {match[1] for match in map(_JOB_ID.match, output.splitlines()) if match}
    return found.pop() if len(found) == 1 else None
