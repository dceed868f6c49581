"""How ranks and their launcher may have ended, for the tests of what follows from that."""

from __future__ import annotations

from typing import Any

from hpcbench.core.status import FAILED
from hpcbench.node.results.outcome import Ending

RAISED = {"type": "ValueError", "message": "the weights are wrong", "last_lines": ["ValueError: the weights are wrong"]}
TERMINATED = {"exit_code": None, "signal": "SIGTERM", "stopped_by": "SIGTERM", "facts": None}


def failed(status: str = FAILED, **error: Any) -> dict[str, Any]:
    return {"warnings": [], "status": status, "error": {**RAISED, **error}}


def ending(**changes: Any) -> Ending:
    usual = {"exit_status": 1, "stopped": False, "elapsed_s": 10.0, "limit_s": 600.0, "log": ""}
    return Ending(**{**usual, **changes})
