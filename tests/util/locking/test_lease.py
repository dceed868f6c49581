"""One holder at a time, by real processes. What cannot be had here, other machines and file systems whose locks lie or
fail, is faked where the kernel is asked."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.submit import slurm_executor
from hpcbench.util.locking import lease as module
from hpcbench.util.locking.flock import as_standard_input
from hpcbench.util.locking.lease import TakenError, lease
from hpcbench.util.locking.owner import parse, this_process

pytestmark = pytest.mark.integration

HELD = "print('held', flush=True); input()"
REFUSING = """
import errno, fcntl
def flock(*_): raise OSError(errno.ENOLCK, 'No locks available')
fcntl.flock = flock
"""
ANOTHER_MACHINE = "from hpcbench.util.locking import owner; owner._machine = lambda: str(__import__('os').getpid())\n"
LYING = f"import fcntl; fcntl.flock = lambda *_: None\n{ANOTHER_MACHINE}"
IMPATIENT = (
    "from hpcbench.util.locking import lease\n"
    "lease.BEAT_S = 0.05; lease.WATCH_S = 1; lease.LOOK_S = 0.1; lease.SETTLE_S = 0.5\n"
)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "study-1" / ".lock"


@pytest.fixture(autouse=True)
def folder(lock: Path) -> Path:
    lock.parent.mkdir()
    return lock.parent


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BEAT_S", 0.05), ("WATCH_S", 1.0), ("LOOK_S", 0.1), ("SETTLE_S", 0.1)):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def patient(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks often, and long enough for a holder on a busy machine."""
    monkeypatch.setattr(module, "WATCH_S", 60.0)


def process(lock: Path, body: str, before: str = "") -> subprocess.Popen[str]:
    """A Python that runs `body` while it holds the lock as `held`."""
    program = f"""{before}
import pathlib, sys, subprocess
from hpcbench.util.locking.lease import TakenError, lease
from hpcbench.util.locking.flock import as_standard_input
with lease(pathlib.Path(sys.argv[1]), "this sweep") as held:
    {body}
"""
    return subprocess.Popen(
        [sys.executable, "-c", program, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def held_elsewhere(lock: Path, body: str = HELD, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock, or as its first line has it."""
    with process(lock, body, before) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n", holder.communicate()[1]
        yield holder
        holder.kill()


def refuse(number: int) -> Callable[[int, int], None]:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


@pytest.fixture
def elsewhere(lock: Path) -> Path:
    """The file of a holder on another machine."""
    file = lock.with_name(".lock.holder")
    file.write_text(replace(this_process(), machine="another", host="login2", user="ada").as_text())
    return file


@pytest.mark.usefixtures("patient")
def test_who_has_patience_gets_it_when_the_holder_lets_go(lock: Path) -> None:
    with held_elsewhere(lock) as holder:
        assert holder.stdin
        threading.Timer(0.5, holder.stdin.close).start()  # its input() ends
        with lease(lock, "this sweep", timeout_s=60.0) as held:
            held.check()
            assert holder.wait(60) is not None


@pytest.mark.usefixtures("patient")
def test_whose_patience_ends_is_told_who_holds_it(lock: Path) -> None:
    with (
        held_elsewhere(lock) as holder,
        pytest.raises(TakenError, match=f"process {holder.pid}"),
        lease(lock, "this sweep", timeout_s=0.3),
    ):
        pass


def test_who_holds_it_is_told_to_another_one(lock: Path) -> None:
    with held_elsewhere(lock) as holder, pytest.raises(UserError) as caught, lease(lock, "this sweep"):
        pass
    place = rf"\(process {holder.pid} on {os.uname().nodename}\)"
    words = rf"{this_process().user} has been working on this sweep since \d\d:\d\d, by `-c` {place}"
    assert re.fullmatch(words, caught.value.what)
    assert (caught.value.where, caught.value.hint) == ("study-1", "wait until it has finished")


def test_it_can_be_had_again_and_leaves_only_the_file_of_the_lock(lock: Path) -> None:
    for _ in range(2):
        with lease(lock, "this sweep") as held:
            held.check()
            holder = parse(lock.with_name(".lock.holder").read_text())
            assert holder.pid == os.getpid()
        assert [path.name for path in lock.parent.iterdir()] == [".lock"]


LOOP = """
import os, pathlib, sys, time
from hpcbench.errors import UserError
from hpcbench.util.locking.lease import TakenError, lease
lock, inside, had = pathlib.Path(sys.argv[1]), sys.argv[1] + ".inside", 0
while had < 40:
    try:
        with lease(lock, "this sweep") as held:
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # fails where another one is inside
            time.sleep(0.001)
            held.check()
            os.unlink(inside)
            had += 1
    except UserError as error:
        assert "has been working on" in str(error) or "another hpcbench" in str(error), error
print(had)
"""


@pytest.mark.parametrize("before", ["", REFUSING], ids=["locks", "no locks"])
def test_many_at_once_hold_it_one_after_another_with_a_file_system_without_locks_faked(lock: Path, before: str) -> None:
    takers = [
        subprocess.Popen([sys.executable, "-c", before + LOOP, str(lock)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [taker.communicate()[0] for taker in takers] == ["40\n"] * 4


def test_it_is_free_as_soon_as_its_holder_is_killed(lock: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        with held_elsewhere(lock) as holder:
            holder.kill()
            holder.wait()
            with lease(lock, "this sweep") as held:
                held.check()
    assert capfd.readouterr().err == ""


LEAVES_A_CHILD = """
    with as_standard_input(held.fileno()):
        subprocess.Popen(["sh", "-c", "sleep {}; touch {}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("held", flush=True)
    input()
"""


def test_what_a_killed_holder_left_running_keeps_it_until_it_ends(
    lock: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ended = tmp_path / "ended"
    with held_elsewhere(lock, LEAVES_A_CHILD.format(3, ended)) as holder:
        holder.kill()
        holder.wait()
        assert not ended.exists()
        with lease(lock, "this sweep"):
            assert ended.exists()
    assert "waiting for processes of an earlier hpcbench that still work on this sweep" in capfd.readouterr().err


def test_what_does_not_end_is_told(lock: Path, tmp_path: Path, impatient: None) -> None:
    with held_elsewhere(lock, LEAVES_A_CHILD.format(4, tmp_path / "ended")) as holder:
        holder.kill()
        holder.wait()
        with (
            pytest.raises(UserError, match="an earlier hpcbench has ended, but a process that it started"),
            lease(lock, "x"),
        ):
            pass


def test_a_watch_is_longer_than_an_sbatch_may_outlive_its_hpcbench() -> None:
    assert slurm_executor.SBATCH_LIMIT_S + slurm_executor.KILL_AFTER_S + module.BEAT_S < module.WATCH_S


def test_a_holder_that_is_stopped_keeps_it_and_it_is_told_how_to_end_it(lock: Path) -> None:
    with held_elsewhere(lock) as holder:
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        with pytest.raises(UserError) as caught, lease(lock, "this sweep"):
            pass
        assert f"(fg), or end it: kill -9 {holder.pid}" in caught.value.hint


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, 524])
def test_without_locks_a_living_holder_is_noticed_at_once_with_a_refusing_file_system_faked(
    lock: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_elsewhere(lock, before=REFUSING) as holder:
        monkeypatch.setattr(fcntl, "flock", refuse(number))
        with pytest.raises(UserError, match=f"process {holder.pid} on"), lease(lock, "this sweep"):
            pass


def test_without_locks_one_waits_after_a_death_for_what_may_still_run_with_a_refusing_file_system_faked(
    lock: Path, impatient: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with held_elsewhere(lock, before=REFUSING) as holder:
        holder.kill()
        holder.wait()
        monkeypatch.setattr(fcntl, "flock", refuse(errno.ENOLCK))
        began = time.monotonic()
        with lease(lock, "this sweep") as held:
            held.check()
            assert time.monotonic() - began > module.WATCH_S
    assert "waiting 1 s for a heartbeat" in capfd.readouterr().err


def test_the_sign_of_life_of_a_holder_on_another_machine_is_seen_with_that_machine_faked(
    lock: Path, elsewhere: Path, patient: None, capfd: pytest.CaptureFixture[str]
) -> None:
    beat = threading.Timer(0.3, os.utime, [elsewhere])
    beat.start()
    with pytest.raises(UserError) as caught, lease(lock, "this sweep"):
        pass
    beat.join()
    assert re.fullmatch(r"ada has been working on this sweep since .* on login2\)", caught.value.what)
    assert caught.value.hint == "wait until it has finished"
    assert f"{caught.value.what}; waiting 60 s for a heartbeat" in capfd.readouterr().err
    assert parse(elsewhere.read_text()).user == "ada"


def test_a_lock_that_a_dead_machine_may_have_left_on_a_server_can_be_removed_with_that_machine_faked(
    lock: Path, elsewhere: Path, impatient: None
) -> None:
    with lock.open("w") as kept_by_the_server:
        fcntl.flock(kept_by_the_server, fcntl.LOCK_EX)
        with pytest.raises(UserError) as caught, lease(lock, "this sweep"):
            pass
        assert f"if login2 is down permanently, remove {lock} and try again" in caught.value.hint
        lock.unlink()
        with lease(lock, "this sweep") as held:
            held.check()


def test_a_holder_keeps_giving_signs_of_life_with_two_machines_faked(
    lock: Path, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_elsewhere(lock, before=IMPATIENT + LYING):
        monkeypatch.setattr(fcntl, "flock", lambda *_: None)
        for _ in range(3):
            with pytest.raises(UserError, match="has been working"), lease(lock, "this sweep"):
                pass


def test_a_dead_holder_on_another_machine_is_followed_with_that_machine_faked(
    lock: Path, elsewhere: Path, impatient: None
) -> None:
    began = time.monotonic()
    with lease(lock, "this sweep") as held:
        assert time.monotonic() - began > module.WATCH_S + module.SETTLE_S
        held.check()
        assert parse(elsewhere.read_text()).pid == os.getpid()
    assert not elsewhere.exists()


def test_a_holder_on_another_machine_that_is_done_need_not_be_watched_to_the_end_with_that_machine_faked(
    lock: Path, elsewhere: Path, patient: None
) -> None:
    done = threading.Timer(0.3, elsewhere.unlink)
    done.start()
    with lease(lock, "this sweep") as held:
        held.check()
    done.join()


def test_of_many_that_find_the_same_holder_dead_one_follows_with_their_machines_faked(
    lock: Path, elsewhere: Path, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    body = f"while not pathlib.Path({str(done)!r}).exists(): held.check(); time.sleep(0.1)"
    takers = [process(lock, body, f"import time; {IMPATIENT}{LYING}") for _ in range(4)]
    while sum(taker.poll() is None for taker in takers) > 1:
        time.sleep(0.1)
    done.touch()
    said = [taker.communicate()[1] for taker in takers]
    assert sorted(taker.returncode for taker in takers) == [0, 1, 1, 1]
    assert sum("TakenError: study-1: " in err for err in said) == 3


def test_one_that_was_stopped_so_long_that_another_followed_notices_it_with_two_machines_faked(
    lock: Path, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    body = f"{HELD}; held.check()"
    with held_elsewhere(lock, body, IMPATIENT + LYING) as holder:
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        with lease(lock, "this sweep") as held:
            holder.send_signal(signal.SIGCONT)
            _, said = holder.communicate("go on\n")
            assert holder.returncode == 1
            assert f"lost the lock on this sweep to {this_process().user}, with" in said
            held.check()  # nor does the other one, as it ends, take away what is not its own


def test_a_file_that_a_dying_machine_cut_off_is_watched_as_any_other(lock: Path, impatient: None) -> None:
    lock.with_name(".lock.holder").write_text('{"token": "a')
    with lease(lock, "this sweep") as held:
        held.check()


def test_a_full_disk_leaves_the_lock_of_the_kernel_with_the_disk_faked(
    lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)
    with lease(lock, "this sweep") as held:
        held.check()
        with pytest.raises(BlockingIOError), lock.open() as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    monkeypatch.setattr(fcntl, "flock", refuse(errno.ENOLCK))
    with pytest.raises(UserError, match="cannot be locked: No space left on device"), lease(lock, "this sweep"):
        pass
    assert [path.name for path in lock.parent.iterdir()] == [".lock"]


def test_a_link_is_not_followed(lock: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("data")
    for link in (lock, lock.with_name(".lock.holder")):
        link.symlink_to(precious)
        with pytest.raises(UserError, match="cannot be locked: Too many levels"), lease(lock, "this sweep"):
            pass
        link.unlink()
    assert precious.read_text() == "data"


def test_a_folder_that_is_gone_is_told(lock: Path) -> None:
    lock.parent.rmdir()
    with pytest.raises(UserError, match="cannot be locked: No such file"), lease(lock, "this sweep"):
        pass


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o700, 0o600), (0o2770, 0o660), (0o755, 0o644)])
def test_who_may_write_in_the_folder_may_lock_it(lock: Path, folder_mode: int, file_mode: int) -> None:
    lock.parent.chmod(folder_mode)
    before = os.umask(0o077)
    try:
        with lease(lock, "this sweep"):
            assert {path.stat().st_mode & 0o777 for path in lock.parent.iterdir()} == {file_mode}
    finally:
        os.umask(before)


def test_the_standard_input_is_the_old_one_afterwards(lock: Path) -> None:
    before = os.fstat(0)
    with lease(lock, "this sweep") as held, as_standard_input(held.fileno()):
        assert os.path.samestat(os.fstat(0), lock.stat())
    assert os.path.samestat(os.fstat(0), before)
