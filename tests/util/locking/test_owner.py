"""Who holds a lock, and whether that process is there. Processes of another machine are made up."""

from __future__ import annotations

import datetime
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.util.locking.owner import Holder, parse, this_process


@pytest.fixture
def process() -> Iterator[tuple[subprocess.Popen[str], Holder]]:
    """Another process, and what it says of itself."""
    program = "from hpcbench.util.locking.owner import this_process\n"
    program += "print(this_process().as_text(), end='', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout
        yield started, parse(started.stdout.readline())
        started.kill()


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def test_a_process_describes_itself_and_is_found() -> None:
    found = parse(this_process().as_text())
    assert (found.pid, found.host, found.user) == (os.getpid(), socket.gethostname(), pwd.getpwuid(os.getuid()).pw_name)
    assert (found.is_here, found.lives, found.is_stopped) == (True, True, False)
    assert this_process().token != found.token


def test_a_process_lives_until_it_is_dead_also_while_it_is_stopped(
    process: tuple[subprocess.Popen[str], Holder],
) -> None:
    started, holder = process
    assert (holder.pid, holder.lives, holder.is_stopped) == (started.pid, True, False)
    started.send_signal(signal.SIGSTOP)
    until(lambda: holder.is_stopped)
    assert holder.lives
    started.kill()
    os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
    assert holder.lives is False  # a zombie still has its number
    started.wait()
    assert holder.lives is False


def test_a_later_process_of_the_same_number_is_another_one() -> None:
    assert replace(this_process(), started=1).lives is False


@pytest.mark.parametrize("machine", ["", "6c1f 4026531836"])
def test_a_process_of_another_machine_cannot_be_known(machine: str) -> None:
    other = replace(this_process(), machine=machine)
    assert (other.is_here, other.lives, other.is_stopped) == (False, None, False)


def test_the_command_is_the_one_that_was_called() -> None:
    @click.group()
    def hpcbench() -> None: ...

    @hpcbench.command()
    def resume() -> None:
        click.echo(this_process().command)

    assert CliRunner().invoke(hpcbench, ["resume"]).output == "hpcbench resume\n"


def test_the_time_has_its_date_where_it_is_not_today() -> None:
    now = datetime.datetime.now().astimezone()
    assert Holder(since=now.isoformat()).begun == f"{now:%H:%M}"
    assert Holder(since=(now - datetime.timedelta(days=400)).isoformat()).begun[:4] in (
        str(now.year - 1),
        str(now.year - 2),
    )
    assert Holder(since="soon").begun == "an unknown time"


TEXT = this_process().as_text()


@given(st.text() | st.integers(0, len(TEXT) - 2).map(lambda end: TEXT[:end]))
def test_of_a_damaged_file_nothing_is_known(text: str) -> None:
    assert parse(text).lives is None
    assert not parse(text).is_here


@given(
    st.dictionaries(
        st.sampled_from(list(asdict(Holder()))), st.none() | st.integers() | st.text() | st.lists(st.integers())
    )
)
def test_nothing_in_a_file_of_somebody_else_is_an_error_or_reaches_a_terminal(values: dict[str, object]) -> None:
    found = parse(json.dumps(values))
    assert f"{found.user}{found.command}{found.place}{found.begun}".isprintable()
    assert found.lives is None
