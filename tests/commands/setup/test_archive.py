"""A sweep as one file: made, reported and compared on another machine, which is another workspace."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.integration


@pytest.fixture
def elsewhere(command_line, tmp_path_factory):
    """The command line on another machine: it has nothing but what is brought there, and a TMPDIR of its own."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "tmp").mkdir()
    return type(command_line)(folder, {"TMPDIR": str(folder / "tmp")})


def run(command_line, name: str = "one", **sections: Any) -> None:
    experiment = {
        "name": "trial",
        "parameters": {"framework": "command", "command": "sleep 0.0{{ batch_size }}"},
        "matrix": {"batch_size": [1, 2]},
        "measure": {"repetitions": 2, "retries": 0},
        **sections,
    }
    (command_line.workspace / "trial.yaml").write_text(json.dumps(experiment))
    command_line("sweep", "trial.yaml", "--local", "--name", name, expect=None)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A workspace with the sweep `one`, which has ended, and its archive: run once, and changed by no test."""
    command_line = CommandLine(tmp_path_factory.mktemp("ended"))
    run(command_line)
    command_line("archive", "latest")
    return command_line


@pytest.fixture
def swept(command_line: CommandLine, ended: CommandLine) -> CommandLine:
    """The command line in a copy of that workspace."""
    shutil.copytree(ended.workspace, command_line.workspace, dirs_exist_ok=True, symlinks=True)
    return command_line


def bring(there, file: Path) -> str:
    (there.workspace / file.name).write_bytes(file.read_bytes())
    return file.name


def test_a_sweep_is_reported_on_another_machine_as_at_home(swept, elsewhere):
    file = swept.workspace / "one.tar.gz"
    file.unlink()
    told = swept("archive", "latest").stderr
    with tarfile.open(file) as tar:
        files = sum(member.isreg() for member in tar)
    assert f"wrote one.tar.gz: {files} files, " in told
    assert "has not ended" not in told
    name = bring(elsewhere, file)
    here, there = swept.report(), elsewhere.report(name)
    assert there == here
    assert elsewhere("report", name).stdout.splitlines()[0].endswith(f", from the archive {name}")
    assert "archive" not in swept("report").stdout.splitlines()[0]
    assert list((elsewhere.workspace / "tmp").iterdir()) == [], "what was unpacked is gone"
    assert not (elsewhere.workspace / "jobs").exists()


def test_a_sweep_is_compared_with_one_of_another_machine(swept, elsewhere):
    run(swept, "two")
    swept("archive", "two")
    for name in ("one", "two"):
        bring(elsewhere, swept.workspace / f"{name}.tar.gz")
    done = elsewhere("compare", "one.tar.gz", "two.tar.gz", expect=3)
    assert "two (NEW) compared to one (BASE)" in done.stdout
    for folder in ("jobs", "results"):  # another one of that name, which was run there
        shutil.copytree(swept.workspace / folder / "one", elsewhere.workspace / folder / "one", symlinks=True)
    elsewhere("compare", "one.tar.gz", "one", expect=3)
    assert "BASE and NEW are the same sweep, one" in elsewhere("compare", "one.tar.gz", "one.tar.gz", expect=2).stderr
    said = elsewhere("report", "one", "one.tar.gz", expect=2).stderr
    assert "two sweeps have the name 'one'\nhint: report each separately, or compare them" in said
    said = elsewhere("report", "one", "one.tar.gz", "--operators", "operators.csv", expect=2).stderr
    assert "hpcbench profile --name NAME" in said
    assert "compare" not in said
    assert list((elsewhere.workspace / "tmp").iterdir()) == []


def test_a_file_is_never_replaced(swept):
    before = (swept.workspace / "one.tar.gz").read_bytes()
    said = swept("archive", "one", expect=2).stderr
    assert "one.tar.gz' already exists\nhint: choose another file: -o FILE" in said
    assert (swept.workspace / "one.tar.gz").read_bytes() == before
    swept("archive", "one", "-o", "again.tar.gz")
    assert (swept.workspace / "again.tar.gz").read_bytes() == before, "the same files give the same bytes"


def test_of_a_sweep_that_has_not_ended_it_says_what_is_left(command_line, elsewhere):
    (command_line.workspace / "trial.yaml").write_text(
        json.dumps({"name": "t", "parameters": {"framework": "command", "command": "true"}})
    )
    command_line("sweep", "trial.yaml", "--site", "laptop", "--render-only", "--name", "planned")
    said = command_line("archive", "planned").stderr
    assert "warning: the sweep has not ended (6 planned): later results will not be in the file" in said
    name = bring(elsewhere, command_line.workspace / "planned.tar.gz")
    assert "6 of 6 runs have not ended yet" in elsewhere("report", name, expect=1).stderr


def test_what_runs_just_now_is_not_in_it(swept):
    scratch = swept.workspace / "results" / "one" / "running" / "job-001-0-7-1"
    scratch.mkdir(parents=True)
    (scratch / "rank-0.json").write_text("{}")
    swept("archive", "one", "-o", "running.tar.gz")
    with tarfile.open(swept.workspace / "running.tar.gz") as tar:
        assert not [name for name in tar.getnames() if "running" in name]


def test_slurm_is_not_asked_of_what_is_in_an_archive_with_a_made_up_slurm(command_line, tmp_path):
    site = command_line.site(scheduler="slurm", environments={})
    (command_line.workspace / "trial.yaml").write_text(
        json.dumps({"name": "t", "parameters": {"framework": "command", "command": "true"}})
    )
    command_line("sweep", "trial.yaml", "--site", site, "--render-only", "--name", "one")
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    for program in ("squeue", "sacct", "scontrol", "sinfo", "sbatch"):
        (fakes / program).write_text(f"#!/bin/sh\ntouch {fakes}/asked\nexit 1\n")
        (fakes / program).chmod(0o755)
    path = {"PATH": f"{fakes}:/usr/bin:/bin"}
    command_line("archive", "one", env=path)
    assert (fakes / "asked").exists(), "of a sweep of this workspace it is"
    (fakes / "asked").unlink()
    said = command_line("report", "one.tar.gz", env=path, expect=1).stderr
    assert "6 of 6 runs have not ended yet" in said
    assert not (fakes / "asked").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone.tar.gz", "'gone.tar.gz' not found"),
        ("some/gone", "'some/gone' not found"),
        ("./jobs/one", "'jobs/one' is a directory"),
        ("gone", "sweep 'gone' not found"),
        ("text", "error: the file is not an archive of a sweep, or is damaged"),
    ],
)
def test_what_is_no_sweep_is_told(swept, name: str, words: str):
    (swept.workspace / "text").write_text("nothing")
    for command in (("report", name), ("compare", "one", name), ("sweep", "--from", name)):
        assert words in swept(*command, expect=2).stderr


def changed(file: Path, **contents: bytes | None) -> None:
    """The same archive with other contents of some files, by the end of their names with _ for a dot."""
    buffer = io.BytesIO()
    with tarfile.open(file) as old, tarfile.open(fileobj=buffer, mode="w") as new:
        for member in old:
            content = (old.extractfile(member) or io.BytesIO()).read() if member.isreg() else b""
            key = member.name.rpartition("/")[2].replace(".", "_").replace("-", "_")
            content = contents.get(key, content) or b""
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    file.write_bytes(gzip.compress(buffer.getvalue()))


ODD: list[dict[str, bytes]] = [
    {"sweep_json": b"[]"},
    {"sweep_json": b"{"},
    {"sweep_json": b'{"schema": 2}'},
    {"sweep_json": b'{"schema": 2, "jobs": 7, "site": null}'},
    {"job_001_jsonl": b"[]\n"},
    {"job_001_jsonl": b'{"case_id": "x"}\n'},
    {"job_001_jsonl": b"\xff\xfe"},
    {"0_jsonl": b'{"schema": 2, "status": 7}\n'},
    {"site_yaml": b"name: 7"},
    {"provenance_json": b"7"},
    {"provenance_json": b"{"},
]


def test_odd_contents_are_no_traceback(command_line, elsewhere):
    run(command_line, matrix={"batch_size": [1]}, measure={"repetitions": 1, "retries": 0})
    command_line("archive", "one")
    for number, contents in enumerate(ODD):
        file = command_line.workspace / f"{number}.tar.gz"
        file.write_bytes((command_line.workspace / "one.tar.gz").read_bytes())
        changed(file, **contents)
        name = bring(elsewhere, file)
        elsewhere("report", name, expect=None)
        elsewhere("sweep", "--from", name, "--dry-run", expect=None)
    assert list((elsewhere.workspace / "tmp").iterdir()) == []


def test_a_damaged_archive_is_refused_by_each_command(swept, elsewhere):
    file = swept.workspace / "one.tar.gz"
    file.write_bytes(file.read_bytes()[:-100])
    name = bring(elsewhere, file)
    for command in (("report", name), ("sweep", "--from", name)):
        assert "error: the file is not an archive of a sweep, or is damaged" in elsewhere(*command, expect=2).stderr
    assert list((elsewhere.workspace / "tmp").iterdir()) == []
