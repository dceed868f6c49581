"""What a sweep left behind: which of its cases have how many records, and how many files that took."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Tally(NamedTuple):
    """What went wrong with the repetitions of a sweep."""

    lost: int  # without a record
    double: int  # with more than one
    failed: int  # that did not complete


def tally(cases: int, records: list[tuple[int, str]]) -> Tally:
    """From the number and status in each record; the numbers begin at 1."""
    counted = Counter(number for number, _ in records)
    completed = {number for number, status in records if status == "completed"}
    lost = sum(number not in counted for number in range(1, cases + 1))
    return Tally(lost, sum(count - 1 for count in counted.values()), len(counted.keys() - completed))


def tally_of(cases: int, folder: Path) -> Tally:
    """Of the record files in a folder, as they are: hpcbench's own word is not asked for."""
    lines = [json.loads(line) for file in folder.rglob("*.jsonl") for line in file.read_text().splitlines()]
    return tally(cases, [(line["user_parameters"]["number"], line["status"]) for line in lines])


class Files(NamedTuple):
    """What is in some folders, all their folders included."""

    files: int
    folders: int
    largest: int  # most entries in one folder


def count_files(roots: Iterable[Path]) -> Files:
    each = [(len(files), len(folders)) for root in roots for _, folders, files in os.walk(root)]
    return Files(sum(files for files, _ in each), len(each), max(map(sum, each), default=0))
