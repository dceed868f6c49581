from __future__ import annotations

import contextlib
import resource
import signal
import threading
import time

import pytest

from hpcbench.util import limits


def work_for_ever() -> None:
    while True:
        pass


def test_what_takes_too_long_is_ended() -> None:
    began_s = time.monotonic()
    with pytest.raises(limits.OutOfTimeError, match=r"longer than 0\.1 s"), limits.deadline(0.1):
        work_for_ever()
    assert time.monotonic() - began_s < 30


def test_code_that_takes_the_exception_for_its_own_is_ended_all_the_same() -> None:
    def once_more() -> None:
        with contextlib.suppress(limits.OutOfTimeError):
            work_for_ever()
        work_for_ever()

    with pytest.raises(limits.OutOfTimeError), limits.deadline(0.1):
        once_more()


def test_what_is_done_in_time_is_left_alone_and_so_is_an_earlier_timer() -> None:
    rung = []
    handler = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    before = signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with limits.deadline(5):
            pass
        left_s, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 900 < left_s < 1000
        signal.raise_signal(signal.SIGALRM)
        assert rung == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_another_thread_than_the_main_one_has_no_deadline() -> None:
    done = []

    def work() -> None:
        with limits.deadline(0.01):
            time.sleep(0.1)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_what_takes_too_much_memory_is_ended_and_the_limit_is_as_before() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limits.memory(100 * 2**20):
        assert len(bytearray(10 * 2**20))
    with pytest.raises(MemoryError), limits.memory(100 * 2**20):
        bytearray(2**30)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
