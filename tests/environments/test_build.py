"""Building environments with the real pip, from tiny packages in a folder."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from hpcbench.environments.build import remove
from hpcbench.environments.build_commands import ProgramError
from hpcbench.environments.build_state import BUILT, INCOMPLETE, NOT_BUILT, OUTDATED, read_marker, state_of
from hpcbench.environments.locations import environment_dirs
from hpcbench.errors import UserError

TINY = {"install": ["tiny==1.0"]}
OTHER = {"install": ["other==1.0"]}


def state(bench, name):
    return state_of(bench.place(name), bench.read(name))


def test_a_build_ends_in_an_environment_that_has_what_its_recipe_says(bench, build, reported):
    bench.recipe("demo", TINY, OTHER)
    assert state(bench, "demo") == NOT_BUILT
    built = build("demo", python=None)
    assert state(bench, "demo") == BUILT
    assert read_marker(bench.place("demo")) == built
    assert (built.packages["tiny"], built.packages["other"]) == ("1.0", "1.0")
    assert built.python == platform.python_version()
    assert built.size_bytes > 1_000_000
    printed = subprocess.check_output([bench.place("demo").python, "-c", "import tiny; print(tiny.VERSION)"], text=True)
    assert printed == "1.0\n"
    assert [step[:2] for step in reported] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert reported[1][2] == "installing tiny==1.0"


def test_what_is_built_is_not_built_again_unless_asked(bench, build, reported):
    bench.recipe("demo", TINY)
    first = build("demo")
    reported.clear()
    assert build("demo") == first
    assert reported == []
    build("demo", fresh=True)
    assert bench.built == ["tiny ", "tiny "]


def test_a_build_that_failed_goes_on_where_it_was(bench, build, reported):
    bench.recipe("demo", TINY, {"install": ["late==1.0"]})
    with pytest.raises(ProgramError, match=r"installing late==1.0 failed: pip finds no late==1.0 for this Python"):
        build("demo")
    assert state(bench, "demo") == INCOMPLETE
    bench.package("late")
    reported.clear()
    build("demo")
    assert state(bench, "demo") == BUILT
    assert bench.built == ["tiny ", "late "]
    assert [step[0] for step in reported] == [3, 4]


def test_a_build_does_not_go_on_by_another_recipe(bench, build):
    bench.recipe("demo", TINY, {"install": ["late==1.0"]})
    with pytest.raises(ProgramError):
        build("demo")
    bench.recipe("demo", {**TINY, "env": {"FLAVOUR": "new"}}, OTHER)
    build("demo")
    assert bench.built == ["tiny ", "tiny new", "other "]


def test_what_pip_says_is_in_the_log_and_its_last_lines_in_the_error(bench, build, monkeypatch, tmp_path):
    (tmp_path / "fail").touch()
    bench.recipe("demo", {**TINY, "env": {"FAIL_IF": str(tmp_path / "fail")}})
    with pytest.raises(ProgramError, match=r"installing tiny==1.0 failed: exit status 1") as caught:
        build("demo")
    assert caught.value.where == str(bench.place("demo").log)
    assert "the backend was told to fail" in bench.place("demo").log.read_text()
    assert any("the backend was told to fail" in line for line in caught.value.lines)


def test_an_environment_that_cannot_import_what_it_should_is_not_whole(bench, build):
    bench.recipe("demo", TINY, imports=("tiny", "missing"))
    with pytest.raises(ProgramError, match="importing tiny, missing failed") as caught:
        build("demo")
    assert "--force" in caught.value.hint
    assert state(bench, "demo") == INCOMPLETE


def test_an_index_that_cannot_be_reached_is_called_so(bench, build, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    bench.recipe("demo", {"install": ["elsewhere==1.0"]})
    with pytest.raises(ProgramError, match="no package index can be reached") as caught:
        build("demo")
    assert "login node" in caught.value.hint


def test_the_index_of_a_step_is_asked_where_the_usual_one_lacks_a_package(bench, build, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    for index in ("usual", "more"):
        (tmp_path / index).mkdir()
    monkeypatch.setenv("PIP_INDEX_URL", f"file://{tmp_path}/usual")
    bench.package("late")
    source = bench.packages / "late-1.0.tar.gz"
    (tmp_path / "more" / "late").mkdir()
    source.rename(tmp_path / "more" / "late" / source.name)
    (tmp_path / "more" / "late" / "index.html").write_text(f'<a href="{source.name}">{source.name}</a>')
    step = {"install": ["late==1.0", "tiny==1.0"], "index": f"file://{tmp_path}/more"}
    bench.recipe("demo", step)
    build("demo")
    assert sorted(bench.built) == ["late ", "tiny "]


def test_a_full_disk_is_called_so(bench, build):
    bench.recipe("demo", TINY, {"install": ["late==1.0"]})
    with pytest.raises(ProgramError):
        build("demo")
    log = bench.place("demo").log
    log.unlink()
    log.symlink_to("/dev/full")
    with pytest.raises(UserError, match="the disk is full") as caught:
        build("demo")
    assert "HPCBENCH_ENVS" in caught.value.hint


def test_settings_of_the_user_do_not_lead_packages_elsewhere(bench, build, monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "tiny.py").write_text("raise SystemExit('not this one')")
    bench.recipe("demo", TINY)
    assert build("demo").packages["tiny"] == "1.0"
    assert not (tmp_path / "elsewhere").exists()


def test_a_pip_conf_of_the_user_does_not_either(bench, build, monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    conf = tmp_path / "pip.conf"
    conf.write_text(f"[global]\ntarget = {elsewhere}\n[install]\nprefix = {elsewhere}\nuser = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(conf))
    compiled = {"install": ["other==1.0"], "compile": {"needs": ["sh"], "tools": ["tiny==1.0"]}}
    bench.recipe("demo", TINY, compiled)
    assert {"tiny", "other"} <= build("demo").packages.keys()
    assert not elsewhere.exists()


def test_a_recipe_that_changed_makes_what_is_built_outdated(bench, build):
    bench.recipe("demo", TINY)
    before = build("demo")
    bench.recipe("demo", TINY, description="in other words")
    assert state(bench, "demo") == BUILT
    bench.recipe("demo", TINY, OTHER)
    assert state(bench, "demo") == OUTDATED
    after = build("demo")
    assert "other" in after.packages.keys() - before.packages.keys()
    assert state(bench, "demo") == BUILT


def test_an_environment_whose_python_is_gone_is_not_whole(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    python = bench.place("demo").python
    python.unlink()
    python.symlink_to("/no/such/python")
    assert state(bench, "demo") == INCOMPLETE
    build("demo")
    assert state(bench, "demo") == BUILT


def test_removing_frees_what_was_built(bench, build):
    bench.recipe("demo", TINY)
    built = build("demo")
    assert [each.name for each in environment_dirs(bench.workspace)] == ["demo"]
    assert remove(bench.place("demo")) >= built.size_bytes
    assert not bench.place("demo").folder.exists()
    assert environment_dirs(bench.workspace) == []
    with pytest.raises(UserError, match="is not built"):
        remove(bench.place("demo"))


def test_what_is_only_begun_can_be_removed(bench, build):
    bench.recipe("demo", {"install": ["late==1.0"]})
    with pytest.raises(ProgramError):
        build("demo")
    remove(bench.place("demo"))
    assert state(bench, "demo") == NOT_BUILT


def test_a_folder_that_hpcbench_did_not_make_is_left_alone(bench, build):
    bench.recipe("demo", TINY)
    precious = bench.place("demo").folder / "thesis.tex"
    precious.parent.mkdir(parents=True)
    precious.write_text("years of work")
    with pytest.raises(UserError, match="the directory exists, but hpcbench did not create it"):
        build("demo", fresh=True)
    with pytest.raises(UserError, match="was not created by hpcbench"):
        remove(bench.place("demo"))
    assert precious.read_text() == "years of work"


def test_a_second_build_of_the_same_name_is_refused_while_one_runs(bench, build):
    bench.recipe("demo", TINY)
    with bench.place("demo").locked(), pytest.raises(UserError, match="is being built or removed by another hpcbench"):
        build("demo")
    build("demo")


def test_environments_can_lie_in_a_folder_of_their_own(bench, build, monkeypatch, tmp_path):
    monkeypatch.setenv("HPCBENCH_ENVS", str(tmp_path / "shared by all"))
    bench.recipe("demo", TINY)
    build("demo")
    assert Path(tmp_path / "shared by all" / "demo" / "bin" / "python").exists()
    assert not (bench.workspace.root / "envs").exists()


@pytest.mark.parametrize("name", ["../demo", "", "a b", "-x"])
def test_a_name_cannot_leave_the_folder_of_environments(bench, name):
    with pytest.raises(UserError, match="a name has at most 80 letters"):
        bench.place(name)


def test_a_damaged_marker_is_no_marker(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    marker = bench.place("demo").marker
    for text in ("", "[]", '{"schema": 99}', '{"schema": 1, "name": "demo"}'):
        marker.write_text(text)
        assert state(bench, "demo") == INCOMPLETE
    os.truncate(marker, 0)
    build("demo")
    assert state(bench, "demo") == BUILT


def test_a_build_does_not_go_on_with_what_is_half_removed(bench, build, monkeypatch):
    bench.recipe("demo", TINY, {"install": ["late==1.0"]})
    with pytest.raises(ProgramError):
        build("demo")

    def interrupted(folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hpcbench.environments.build.shutil.rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            remove(bench.place("demo"))
    assert state(bench, "demo") == INCOMPLETE
    bench.package("late")
    build("demo")
    assert bench.built == ["tiny ", "tiny ", "late "]


def test_an_environment_may_be_a_link_to_another_disk(bench, build, tmp_path):
    bench.recipe("demo", TINY)
    (tmp_path / "disk").mkdir()
    bench.place("demo").folder.parent.mkdir()
    bench.place("demo").folder.symlink_to(tmp_path / "disk")
    build("demo")
    build("demo", fresh=True)
    assert state(bench, "demo") == BUILT
    remove(bench.place("demo"))
    assert list((tmp_path / "disk").iterdir()) == []


def test_removing_what_was_never_built_leaves_nothing_behind(bench):
    with pytest.raises(UserError, match="is not built"):
        remove(bench.place("demo"))
    assert not bench.place("demo").folder.parent.exists()
