"""The files of a sweep that say with what it was made."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

import pytest

from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import load_yaml, parse_yaml
from hpcbench.errors import UserError
from hpcbench.store.provenance.provenance_files import read_provenance, write
from hpcbench.util.package_data import shipped

SITE = load_site(parse_yaml("name: c\nscheduler: slurm\nslurm: {account: '1e5'}\n", "site.yaml"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sweep"
    made.mkdir()
    return made


def test_versions_and_the_site_are_written(folder: Path, tmp_path: Path) -> None:
    local = SITE.model_copy(update={"scheduler": "local"})
    write(folder, tmp_path, local, shipped("templates") / "job.sh.j2")
    told = read_provenance(folder)
    assert (told["python"], told["platform"]) == (platform.python_version(), platform.platform())
    for name in ("submitit", "click", "pandas", "hpcbench-dl"):
        assert told["packages"][name] == metadata.version(name)
    assert told["git"] is None
    assert load_site(load_yaml(folder / "site.yaml")).model_dump() == local.model_dump()
    assert not (folder / "workspace.diff").exists()


def test_the_shipped_template_is_kept_alone(folder: Path, tmp_path: Path) -> None:
    write(folder, tmp_path, SITE, shipped("templates") / "job.sh.j2")
    assert [file.name for file in (folder / "templates").iterdir()] == ["job.sh.j2"]
    assert read_provenance(folder)["own_template"] is False


def test_of_ones_own_template_those_that_it_may_include_are_kept_too(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "templates"
    own.mkdir()
    for name in ("job.sh.j2", "head.j2", "notes.txt"):
        (own / name).write_text(name)
    write(folder, tmp_path, SITE, own / "job.sh.j2")
    assert {file.name for file in (folder / "templates").iterdir()} == {"job.sh.j2", "head.j2"}
    assert read_provenance(folder)["own_template"] is True


def test_ones_own_follow_on_is_kept_beside_the_shipped_template(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "templates"
    own.mkdir()
    for name in ("follow-on.sh.j2", "head.j2"):
        (own / name).write_text(name)
    write(folder, tmp_path, SITE, shipped("templates") / "job.sh.j2", own / "follow-on.sh.j2")
    assert (folder / "templates" / "follow-on.sh.j2").read_text() == "follow-on.sh.j2"
    assert {file.name for file in (folder / "templates").iterdir()} == {"job.sh.j2", "follow-on.sh.j2", "head.j2"}
    assert read_provenance(folder)["own_template"] is False, "that of the scripts"


def test_a_follow_on_of_another_folder_replaces_no_template_of_the_scripts(folder: Path, tmp_path: Path) -> None:
    for kind in ("old", "new"):
        (tmp_path / kind).mkdir()
        for name in ("job.sh.j2", "follow-on.sh.j2"):
            (tmp_path / kind / name).write_text(kind)
    write(folder, tmp_path, SITE, tmp_path / "old" / "job.sh.j2", tmp_path / "new" / "follow-on.sh.j2")
    assert (folder / "templates" / "job.sh.j2").read_text() == "old"
    assert (folder / "templates" / "follow-on.sh.j2").read_text() == "new"


def test_a_template_with_a_secret_in_it_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-of-mine")
    (tmp_path / "job.sh.j2").write_text("{# nothing of the comment is rendered: s3cr3t-of-mine #}")
    with pytest.raises(UserError, match="MY_TOKEN") as caught:
        write(folder, tmp_path, SITE, tmp_path / "job.sh.j2")
    assert caught.value.where == str(tmp_path / "job.sh.j2")
    assert not list((folder / "templates").iterdir())


def test_what_is_not_committed_is_written(folder: Path, checkout: Path) -> None:
    (checkout / "code.py").write_text("second\n")
    (checkout / "other.py").write_text("")
    write(folder, checkout, SITE, shipped("templates") / "job.sh.j2")
    assert "+second" in (folder / "workspace.diff").read_text()
    assert read_provenance(folder)["git"] == {
        "cut": False,
        "redacted": 0,
        "untracked": ["other.py"],
        "more_untracked": 0,
    }


def test_what_cannot_be_read_says_so(folder: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_provenance(folder)
    (folder / "provenance.json").write_text(json.dumps([]))
    assert read_provenance(folder) == {}
