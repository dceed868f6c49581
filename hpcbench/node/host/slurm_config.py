"""Slurm's configuration and its description of this node, from scontrol on the node."""

import re
import shutil
import subprocess
from typing import Mapping, NamedTuple, Optional, Tuple

from ...core.redaction import without_secrets

TIMEOUT_S = 3.0  # for each command: the job waits for it, but only once per node
# Lines that change without a change of the configuration.
_CHANGING = re.compile(r"^(Configuration data as of|NEXT_JOB_ID|Slurmctld\().*\n?", re.MULTILINE)


class ScontrolReply(NamedTuple):
    """The output of `scontrol show config` and `scontrol show node`."""

    config: Optional[str] = None
    node: Optional[str] = None
    reason: Optional[str] = None  # why something is missing


def query(name: str, environment: Mapping[str, str]) -> ScontrolReply:
    """Return Slurm's configuration and its description of the node `name`, without secrets, within twice TIMEOUT_S."""
    if "SLURM_JOB_ID" not in environment:
        return ScontrolReply(reason="not a Slurm job")
    if shutil.which("scontrol") is None:
        return ScontrolReply(reason="scontrol not found on this node")
    config, reason = _query("config", environment=environment)
    if config is None:
        return ScontrolReply(reason=reason)
    node, reason = _query("node", name, environment=environment)
    return ScontrolReply(_CHANGING.sub("", config), node, reason)


def _query(*what: str, environment: Mapping[str, str]) -> Tuple[Optional[str], Optional[str]]:
    """Return the output of `scontrol show`, or why it failed."""
    try:
        done = subprocess.run(
            ["scontrol", "show", *what],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return None, "scontrol show %s did not respond within %g s" % (what[0], TIMEOUT_S)
    except OSError as error:
        return None, "scontrol cannot be started: %s" % error
    text, _ = without_secrets(done.stdout.decode("utf-8", "replace"), environment)
    if done.returncode:
        return None, "scontrol show %s: %s" % (what[0], " ".join(text.split())[:200])
    return text, None
