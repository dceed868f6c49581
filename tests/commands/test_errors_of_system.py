"""What the system says no to is one line, and a full disk one more; see also tests/test_errors.py."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpcbench import cli


@pytest.mark.parametrize(
    ("number", "name", "said"),
    [
        (errno.ENOSPC, None, "error: reading or writing failed: No space left on device\nhint: free space"),
        (
            errno.EDQUOT,
            "jobs/study/journal.jsonl",
            "error: Disk quota exceeded\n  --> jobs/study/journal.jsonl\nhint: free space",
        ),
        (errno.EACCES, "configs/x.yaml", "error: Permission denied\n  --> configs/x.yaml\n"),
    ],
)
def test_what_and_where_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, name: str | None, said: str
) -> None:
    def fail(**settings: object) -> None:
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr(cli.group, "main", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(said)
    assert ("free space" in told) == (number != errno.EACCES)


@pytest.mark.integration
@pytest.mark.parametrize(
    "arguments", [["list", "models"], ["schema", "experiment"], ["completion", "bash"], ["--help"]]
)
def test_a_reader_that_closes_the_pipe_ends_the_command_quietly(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "hpcbench", *arguments]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
