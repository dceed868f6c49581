"""The wheels that `tools/gpu-proof wheels` collects, with a fake pip."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gpu_proof import wheels

MIB = {"click": 1, "numpy": 15, "pytest": 1, "pandas": 12, "altair": 1, "vl-convert-python": 33}


@pytest.fixture(autouse=True)
def pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pip that "downloads" files of the sizes in MIB, in bytes instead of MiB."""

    def downloaded(scratch: Path, requirements: list[str], *_: object) -> dict[Path, int]:
        found = {}
        for name in map(wheels.name_of, requirements):
            if name in MIB:
                file = scratch / f"{name}-1-py3-none-any.whl"
                file.write_bytes(b"x")
                found[file] = MIB[name] * wheels.MIB
        return found

    monkeypatch.setattr(wheels, "_downloaded", downloaded)


def names_in(folder: Path) -> set[str]:
    return {wheels.name_of(file.name.split("-")[0]) for file in folder.iterdir()}


def test_what_exceeds_the_limit_is_named_and_what_sweeps_need_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wheels.collect(tmp_path / "w", "3.12", frozenset(), 20) == 0
    assert names_in(tmp_path / "w") == {"click", "numpy", "pytest"}
    shown = capsys.readouterr().out
    assert "not collected, for tables: pandas>=2.1 (above 20 MiB" in shown
    assert "not collected, for figures" in shown, "they need tables"
    assert "must be installed on the machine: torch, pandas, altair, vl-convert-python" in shown


def test_what_the_machine_has_is_left_out_so_that_more_fits(tmp_path: Path) -> None:
    listing = "Package    Version\n---------- -------\nnumpy      2.5.2\nVL_Convert_Python    1.9\n"
    installed = wheels.installed_in(listing)
    assert installed == {"numpy", "vl-convert-python"}
    assert wheels.collect(tmp_path / "w", "3.12", installed, 20) == 0
    assert names_in(tmp_path / "w") == {"click", "pytest", "pandas", "altair"}


def test_every_dependency_of_hpcbench_is_in_one_group() -> None:
    dependencies = wheels._dependencies()
    grouped = [each for group in wheels.groups(dependencies) if group.purpose != "tests" for each in group.requirements]
    assert sorted(grouped) == sorted(dependencies)


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.whl").touch()
    assert wheels.collect(tmp_path, "3.12", frozenset(), 60) == 2
    assert "is not empty" in capsys.readouterr().err


def test_pip_is_asked_for_the_python_of_the_other_machine() -> None:
    options = wheels.download_options("3.12", "x86_64")
    assert options[options.index("--python-version") + 1] == "3.12"
    assert {"manylinux_2_17_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64"} <= set(options)
