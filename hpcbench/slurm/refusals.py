"""Messages with which sbatch refuses a job because of what it requests, so that it would refuse the same job again."""

from __future__ import annotations

import re

# After other messages, e.g. "Unspecified error" or "Invalid authentication credential", the same job may be accepted.
_OF_REQUEST = re.compile(
    r"\binvalid\b(?!.*\b(?:credential|authentication|user id|job id)\b)"
    r"|violates accounting/QOS policy"
    r"|more processors requested than permitted"
    r"|node configuration is not available"
    r"|can ?not be satisfied"
    r"|access denied to requested reservation"
    r"|unrecognized option",
    re.IGNORECASE,
)


def is_of_request(message: str) -> bool:
    """Return whether sbatch refused a job because of its request, by the message (slurm_errno.c in Slurm)."""
    return "Minutes" not in message and _OF_REQUEST.search(message) is not None  # a spent budget may be refilled
