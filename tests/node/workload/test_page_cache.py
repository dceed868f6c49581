"""Data files in the page cache of this machine: dropped, read, and counted page by page."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hpcbench.node.workload import page_cache
from hpcbench.node.workload.data import Items
from hpcbench.node.workload.page_cache import DataFiles, drop, resident_fraction

PAGES = 8


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Four files of eight pages each, on disk and in the page cache."""
    made = []
    for number in range(4):
        path = tmp_path / f"{number}.png"
        with path.open("wb") as file:
            file.write(os.urandom(PAGES * 4096))
            file.flush()
            os.fsync(file.fileno())  # dirty pages cannot be dropped
        made.append(str(path))
    drop(made[0])
    if resident_fraction(made[:1]) == 1:
        pytest.fail("the file system of the temporary folder (a tmpfs?) keeps all files in memory; set --basetemp")
    Path(made[0]).read_bytes()
    return made


def items(files: list[str]) -> Items:
    return Items(files, np.zeros(len(files), np.int32))


def test_the_fraction_counts_pages(files: list[str]) -> None:
    assert resident_fraction(files) == 1
    drop(files[0])
    assert resident_fraction(files) == 3 / 4
    assert resident_fraction(files[:1]) == 0


def test_cold_files_are_dropped_before_each_window_and_the_largest_fraction_counts(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = DataFiles(items(files), "cold", steps_per_epoch=2)
    Path(files[0]).read_bytes()
    cold.prepare()
    assert resident_fraction(files) == 0
    assert (cold.summary().resident_fraction, cold.summary().evictions) == (0, 2)
    monkeypatch.setattr(page_cache, "drop", lambda file: None)  # as if another process held the pages
    Path(files[0]).read_bytes()
    cold.prepare()
    assert cold.summary().resident_fraction == 1 / 4


def test_warm_files_are_read_first_and_others_are_left_as_they_are(files: list[str]) -> None:
    for file in files[1:]:
        drop(file)
    assert DataFiles(items(files), None, 2).summary().resident_fraction == 1 / 4
    warm = DataFiles(items(files), "warm", 2)
    assert (warm.summary().resident_fraction, warm.summary().evictions) == (1, 0)
    assert resident_fraction(files) == 1


def test_a_window_longer_than_an_epoch_is_a_warning_if_cold(files: list[str]) -> None:
    for state, steps, warnings in (("cold", 3, 1), ("cold", 2, 0), ("warm", 3, 0)):
        pipeline = DataFiles(items(files), state, steps_per_epoch=2)
        step = pipeline.counted(lambda: None)
        for _ in range(steps):
            step()
        pipeline.prepare()
        assert len(pipeline.warnings()) == warnings


def test_files_whose_pages_the_kernel_hides_have_no_fraction(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_is_shown", lambda file: False)
    found = DataFiles(items(files), "cold", 2).summary()
    assert found.resident_fraction is None
    assert found.evictions == 1
    assert found.reason == "the kernel shows the pages of a file only to those who may write it"


def test_an_npz_file_is_not_read_during_the_measurement() -> None:
    found = DataFiles(Items(np.zeros((4, 2), np.float32), np.zeros(4, np.int32)), None, 2).summary()
    assert found.resident_fraction is None
    assert "memory of the process" in str(found.reason)
