"""What a search has found as a file that programs read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.store.workspace import Workspace
from hpcbench.tuning.how_to_apply import Usage
from hpcbench.tuning.result import (
    ConfigurationResult,
    Failure,
    GridResult,
    HeldOutResult,
    Recommendation,
    ScheduleResult,
    TuningResult,
)
from hpcbench.tuning.result_file import as_json, read_results, save_results

SETTING = ConfigurationResult("c1", {"intra_op_threads": 2}, Interval(150.0, 149.0, 151.0))
ANSWER = Recommendation(
    best=SETTING,
    default=replace(SETTING, case="c0", value=None),
    winner=SETTING,
    gain=Interval(1.5, 1.4, 1.6),
    certain=True,
    pairs=3,
    beats=2,
    of=2,
    usage=Usage({"OMP_NUM_THREADS": "2"}, ((0, 1),), ("torch.set_num_threads(2)",), {"dtype": "bfloat16"}),
)
FINDING = TuningResult(
    "lstm inference",
    3,
    ANSWER,
    (Failure("c2", {"intra_op_threads": 9}, "timeout"),),
    seconds=75.0,
    measurements=40,
    with_interference=0,
    grid_seconds=3700.0,
    grid=GridResult(SETTING, Interval(1.0, 0.9, 1.1), 2, 2),
    by_section=ScheduleResult(
        "s.json", None, 9.0, Interval(1.1, 1.0, 1.2), True, (HeldOutResult({"batch_size": 4}, None, False, "timeout"),)
    ),
)


def test_every_part_of_a_finding_has_its_name() -> None:
    (found,) = json.loads(as_json([FINDING]))
    assert found["answer"]["gain"] == {"estimate": 1.5, "low": 1.4, "high": 1.6}
    assert found["answer"]["best"]["value"] == {"estimate": 150.0, "low": 149.0, "high": 151.0}
    assert found["answer"]["usage"] == {
        "variables": {"OMP_NUM_THREADS": "2"},
        "cpus": [[0, 1]],
        "lines": ["torch.set_num_threads(2)"],
        "others": {"dtype": "bfloat16"},
        "command": None,
    }
    assert found["grid"]["slower"]["high"] == 1.1
    assert found["by_section"]["held_out"] == [
        {"shape": {"batch_size": 4}, "gain": None, "certain": False, "why": "timeout"}
    ]


def test_what_is_kept_is_read_as_it_was(tmp_path: Path) -> None:
    paths = Workspace(tmp_path).paths("found")
    assert read_results(paths) is None
    save_results(paths, [FINDING])
    assert read_results(paths) == [FINDING]


def test_an_infinite_limit_is_null() -> None:
    wide = replace(FINDING, answer=replace(ANSWER, gain=Interval(1.5, 0.0, math.inf)))
    (found,) = json.loads(as_json([wide]))
    assert found["answer"]["gain"] == {"estimate": 1.5, "low": 0.0, "high": None}
