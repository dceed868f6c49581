"""Threads that compute tasks concurrently, each with an equal share of the cores."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Callable, List, Sequence

import torch

from . import cpus

Task = Callable[[], Any]
Run = Callable[[Sequence[Task]], List[Any]]


class ThreadPools:
    """A pool of `number` threads, each with a team of `threads` threads on its own CPUs. They wait without spinning."""

    def __init__(self, number: int, threads: int) -> None:
        self._threads, self._cpus, self._process = threads, iter(cpus.parts(number, threads)), os.getpid()
        self._everyone = threading.Barrier(number)
        self._pool = ThreadPoolExecutor(number, "branch")
        before = torch.get_num_threads()
        try:
            settled = [self._pool.submit(self._settle) for _ in range(number)]
            for each in settled:
                each.result()
        except BaseException:  # if a thread cannot start, the others wait for it
            self._everyone.abort()
            self.close()
            raise
        finally:
            torch.set_num_threads(before)  # the last count set by any thread also applies to new threads

    def _settle(self) -> None:
        self._everyone.wait()  # so that each thread gets one of these tasks
        with suppress(AttributeError, OSError):  # not Linux, or not permitted: the system places the threads
            os.sched_setaffinity(0, next(self._cpus))  # only this thread; its team will inherit it
        torch.get_num_threads()  # a thread's first call adopts the count of the process, and would undo its own
        torch.set_num_threads(self._threads)

    def run(self, tasks: Sequence[Task]) -> List[Any]:
        """Return the results of all tasks. An exception of a task is raised when all tasks have ended."""
        if os.getpid() != self._process:  # a forked child has none of the threads
            return [task() for task in tasks]
        mode = torch.is_inference_mode_enabled()
        started = []
        with suppress(RuntimeError):  # another thread has just removed the schedule: the rest runs sequentially
            for task in tasks:
                started.append(self._pool.submit(_without_gradients, mode, task))
        wait(started)
        return [each.result() for each in started] + [task() for task in tasks[len(started) :]]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def _without_gradients(inference_mode: bool, task: Task) -> Any:
    """Run a task in the mode of the caller, which threads do not inherit."""
    with torch.inference_mode() if inference_mode else torch.no_grad():
        return task()
