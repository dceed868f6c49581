from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

import pytest

from hpcbench.errors import NotFoundError, UserError
from hpcbench.store.workspace import Workspace, check_root
from hpcbench.util.package_data import shipped


def workspace(root: Path, *sweeps: str) -> Workspace:
    """A workspace with these sweeps, the last one the latest."""
    for age, name in enumerate(reversed(sweeps)):
        description = Workspace(root).paths(name).description
        description.parent.mkdir(parents=True)
        description.write_text("{}")
        os.utime(description, (1_000_000 - age, 1_000_000 - age))
    return Workspace(root)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("lstm-2", "lstm-2"),
        ("lstm-20", "lstm-20"),  # whole, though lstm-200 starts so, too
        ("lstm-200", "lstm-200"),
        ("m", "mlp-1"),
        ("mlp-1", "mlp-1"),
        ("latest", "lstm-2"),
    ],
)
def test_a_sweep_is_found_by_name_prefix_or_latest(name: str, found: str, tmp_path: Path) -> None:
    assert workspace(tmp_path, "mlp-1", "lstm-200", "lstm-20", "lstm-2").find(name).name == found


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("l", UserError, "'l' matches several sweeps: lstm-1, lstm-2"),
        ("lstm-3", NotFoundError, "sweep 'lstm-3' not found"),
        ("ltsm-1", NotFoundError, "did you mean 'lstm-1'"),
        ("../jobs/lstm-1", NotFoundError, "not found"),
        ("", UserError, "matches several sweeps"),
    ],
)
def test_a_name_that_is_no_or_several_sweeps_is_refused(
    name: str, kind: type[UserError], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        workspace(tmp_path, "lstm-1", "lstm-2").find(name)
    assert type(caught.value) is kind
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["latest", "lstm"])
def test_a_workspace_without_sweeps_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no sweep found in this workspace"):
        workspace(tmp_path).find(name)


def test_a_folder_without_a_description_is_no_sweep(tmp_path: Path) -> None:
    made = workspace(tmp_path, "lstm-1")
    (tmp_path / "jobs" / "other").mkdir()
    (tmp_path / "jobs" / "README.md").touch()
    assert made.sweeps() == ["lstm-1"]


def test_a_sweep_that_is_being_written_is_none_yet(tmp_path: Path) -> None:
    assert workspace(tmp_path, "lstm-1", ".lstm-2.part").find("latest").name == "lstm-1"


def test_sweeps_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    now = datetime.datetime(2026, 11, 1, 12, 30, 5)
    names = []
    for _ in range(3):
        names.append(Workspace(tmp_path).new_name("lstm", now))
        (tmp_path / "jobs" / names[-1]).mkdir(parents=True)
    assert names == ["lstm-20261101-123005", "lstm-20261101-123005-2", "lstm-20261101-123005-3"]


@pytest.mark.parametrize("root", ["/home/me/a.b-c_d", "/lustre/p+1/user@site/x=1,y"])
def test_a_plain_path_can_stand_in_an_sbatch_line(root: str) -> None:
    check_root(Path(root), "slurm")


@pytest.mark.parametrize("char", [*" \t\n\"'`$;\\%&|*?#()<>[]{}!", "é"])
def test_a_path_that_an_sbatch_line_cannot_carry_is_refused(char: str) -> None:
    with pytest.raises(UserError, match="the path of the workspace contains"):
        check_root(Path(f"/home/a{char}b"), "slurm")


def with_experiments(root: Path, **sweeps: str) -> Workspace:
    """A workspace with these sweeps of experiments, the last one the latest."""
    made = workspace(root, *sweeps)
    for sweep, experiment in sweeps.items():
        file = made.paths(sweep).description
        before = file.stat()
        file.write_text(json.dumps({"experiment": {"name": experiment}}))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    return made


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("lstm", "b"),  # the latest sweep of the experiment, not the only sweep that begins so
        ("nightly", "nightly"),  # a sweep of this name comes before an experiment of this name
        ("lst", "lstm_first"),
        ("latest", "d"),
    ],
)
def test_the_name_of_an_experiment_is_its_latest_sweep(name: str, found: str, tmp_path: Path) -> None:
    made = with_experiments(tmp_path, lstm_first="lstm", nightly="lstm", b="lstm", d="nightly")
    assert made.find(name).name == found


def test_a_sweep_that_cannot_be_read_has_no_experiment(tmp_path: Path) -> None:
    made = with_experiments(tmp_path, a="lstm", b="lstm")
    made.paths("b").description.write_text("[]")
    assert made.experiments() == {"a": "lstm"}
    assert made.find("lstm").name == "a"


def test_of_many_sweeps_that_begin_so_a_few_are_named(tmp_path: Path) -> None:
    made = workspace(tmp_path, *(f"s-{number}" for number in range(9)))
    with pytest.raises(UserError, match=r"s-0, s-1, s-2, s-3, s-4, \.\.\.\n"):
        made.find("s")
    with pytest.raises(UserError) as caught:
        made.find("nothing like it")
    assert caught.value.hint == "to list all: hpcbench list sweeps"


def test_a_file_of_an_experiment_is_that_of_the_workspace_or_a_shipped_one(tmp_path: Path) -> None:
    found = Workspace(tmp_path)
    shape, digits = "configs/data/shapes.csv", "configs/data/digits.npz"
    assert found.input_file(shape) == tmp_path / shape
    assert found.input_file("data.csv") == tmp_path / "data.csv"
    assert found.input_file("/data.csv") == Path("/data.csv")
    assert found.input_file(digits) == shipped("configs") / "data" / "digits.npz"
    (tmp_path / digits).parent.mkdir(parents=True)
    (tmp_path / digits).touch()
    assert found.input_file(digits) == tmp_path / digits
