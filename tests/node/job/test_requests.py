"""The elements of a local job come through a socket, until the other end is gone."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from hpcbench.node.job.requests import Requests


class Always:
    """A stop that no signal reaches."""

    requested = False

    def wait_for(self, descriptor: int) -> bool:
        return True


def test_an_hpcbench_that_dies_with_an_answer_unread_ends_the_elements(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(Requests, "_log_to", lambda self, path: None)
    ours, theirs = socket.socketpair()
    requests: Any = Requests(theirs.fileno(), None, Always())  # type: ignore[arg-type]
    elements = iter(requests)
    for element in (3, 4):
        ours.sendall(json.dumps({"element": element, "log": str(tmp_path / "log")}).encode() + b"\n")
    assert [next(elements), next(elements)] == [3, 4]
    ours.close()  # the answer for element 3 is lost
    assert list(elements) == []
    theirs.close()
