"""Slurm's configuration and this node's part in it, as scontrol tells them on the node."""

import re
import shutil
import subprocess
from typing import Mapping, NamedTuple, Optional, Tuple

from ...core.redaction import without_secrets

ANSWER_S = 3.0  # a job waits for it, though but once on each node
# What changes by itself would make the same configuration look like many.
_CHANGING = re.compile(r"^(Configuration data as of|NEXT_JOB_ID|Slurmctld\().*\n?", re.MULTILINE)


class Told(NamedTuple):
    config: Optional[str] = None
    node: Optional[str] = None
    reason: Optional[str] = None  # why something is missing


def ask(name: str, environment: Mapping[str, str]) -> Told:
    """What Slurm says, without secrets. Waits no longer than twice ANSWER_S."""
    if "SLURM_JOB_ID" not in environment:
        return Told(reason="it was no job of Slurm")
    if shutil.which("scontrol") is None:
        return Told(reason="there is no scontrol on this node")
    config, reason = _answer("config", environment=environment)
    if config is None:
        return Told(reason=reason)
    node, reason = _answer("node", name, environment=environment)
    return Told(_CHANGING.sub("", config), node, reason)


def _answer(*what: str, environment: Mapping[str, str]) -> Tuple[Optional[str], Optional[str]]:
    """The answer to `scontrol show`, or why there is none."""
    try:
        done = subprocess.run(
            ["scontrol", "show", *what],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=ANSWER_S,
        )
    except subprocess.TimeoutExpired:
        return None, "scontrol show %s did not answer within %g s" % (what[0], ANSWER_S)
    except OSError as error:
        return None, "scontrol cannot be started: %s" % error
    text, _ = without_secrets(done.stdout.decode("utf-8", "replace"), environment)
    if done.returncode:
        return None, "scontrol show %s: %s" % (what[0], " ".join(text.split())[:200])
    return text, None
