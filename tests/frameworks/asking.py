"""Ask one process of a framework, or its ranks, the questions of many tests: to start a framework takes seconds."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

TIMEOUT_S = 300
# Strategies whose ranks a process cannot join again. DeepSpeed keeps the process group of the first time.
JOINED_ONCE = ("multi_worker_mirrored", "data_parallel", "deepspeed")
MOST = 2  # frameworks that run at the same time: the one that is tested, and one that it is compared with
Start = Callable[..., list["subprocess.Popen[str]"]]


class Asked:
    """The processes that answer. `start` starts a script as the ranks of a case, with `settings`."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._answering: dict[str, Answering] = {}

    def answers(self, script: str, *words: object, timeout_s: float = TIMEOUT_S, **settings: Any) -> list[Any]:
        """Return what `main` of a script returns for these words, on each rank.

        Only a question with new settings starts processes, or one with a strategy of JOINED_ONCE. Raise AssertionError
        if a rank ends or takes longer than `timeout_s`, with what the ranks have printed.
        """
        environment = settings.get("environment") or settings["framework"]
        settings = {"ranks": 1, **settings, "environment": environment}
        key = json.dumps(settings, sort_keys=True)
        once = any(strategy in str(word) for strategy in JOINED_ONCE for word in words)
        answering = None if once else self._answering.pop(key, None)
        for oldest in list(self._answering)[: 1 - MOST]:
            self._answering.pop(oldest).close()
        answering = answering or Answering(self._start, settings)
        try:
            found = answering.answers([script, *map(str, words)], time.monotonic() + timeout_s)
        except BaseException:
            answering.close()
            raise
        if once:
            answering.close()
        else:
            self._answering[key] = answering
        return found

    def close(self) -> None:
        """End all processes."""
        while self._answering:
            self._answering.popitem()[1].close()


class Answering:
    """The ranks of one framework under the same settings."""

    def __init__(self, start: Start, settings: dict[str, Any]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the processes
        self._ranks = start("answering.py", stdin=subprocess.PIPE, stderr=self._errors, **settings)

    def answers(self, question: list[str], deadline: float) -> list[Any]:
        """Return the answer of each rank. Raise AssertionError if one ends, or does not answer before `deadline`."""
        for rank in self._ranks:
            assert rank.stdin
            rank.stdin.write(json.dumps(question) + "\n")
            rank.stdin.flush()
        found: dict[Any, Any] = {}
        while waiting := [rank.stdout for rank in self._ranks if rank.stdout not in found]:
            ready, _, _ = select.select(waiting, [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{question} was not answered in time\n{self._printed()}"
            for pipe in ready:
                line = pipe.readline()
                assert line, f"{question} ended a rank\n{self._printed()}"
                found[pipe] = json.loads(line)
        return [found[rank.stdout] for rank in self._ranks]

    def _printed(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-12000:]

    def close(self) -> None:
        """End the processes."""
        for rank in self._ranks:
            rank.kill()
            rank.wait()
            for pipe in (rank.stdin, rank.stdout):
                assert pipe
                pipe.close()
        self._errors.close()
