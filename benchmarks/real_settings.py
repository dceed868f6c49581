"""Real networks on this machine, each searched by `hpcbench tune`, and then measured as a full grid to hold it against.

What the grid chooses is the luckiest of many, and so may be what the search has found: so the two are measured anew, in
pairs, and only these pairs tell what one costs over the other.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import HPCBENCH, FailedError, clean_environment

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.paired_effects import interval_of_ratios

PAIRS = 12

# Two cores have no more threads to choose from.
SETTINGS = {
    "intra_op_threads": [1, 2],
    "instances": [1, 2],
    "wait_policy": ["active", "passive"],
    "onednn": [True, False],
    "flush_denormals": [True, False],
}
EXCLUDE = ["{{ instances * intra_op_threads > cpus_per_task }}"]
MEASURE = {"max_time_s": 4, "max_warmup_s": 4}
LSTM = {"input_size": 64, "hidden_size": 128, "layers": 1, "sequence_length": 32}
STUDY = {"sequence_length": 16}  # as in configs/experiments/lstm-study.yaml
NETWORKS: dict[str, dict[str, Any]] = {
    "lstm-b1": {"model": "lstm", "model_options": LSTM, "batch_size": 1},
    "lstm-b16": {"model": "lstm", "model_options": LSTM, "batch_size": 16},
    "lstm-training": {"model": "lstm", "model_options": LSTM, "batch_size": 8, "task": "training"},
    "study-stacked": {"model": "lstm_stack", "model_options": STUDY, "batch_size": 16},
    "study-bidirectional": {
        "model": "lstm_stack",
        "model_options": {**STUDY, "hidden_size": 256, "bidirectional": True},
        "batch_size": 1,
    },
    "mlp-b1": {"model": "mlp", "batch_size": 1},
    "mlp-b128": {"model": "mlp", "batch_size": 128},
    "mlp-training": {"model": "mlp", "batch_size": 32, "task": "training"},
    "transformer": {
        "model": "transformer",
        "model_options": {"hidden_size": 128, "layers": 2, "heads": 4, "feed_forward_size": 256, "vocabulary": 1000},
        "batch_size": 4,
    },
    "alexnet": {"model": "alexnet", "model_options": {"image_size": 64, "classes": 10}, "batch_size": 4},
}


@dataclass(frozen=True)
class Tuned:
    """What a search has found: its `cost` over what the grid chooses, its time as a part of the grid's, the share of
    the grid's settings that it beats, and its gain over the default, None where that was found, or failed."""

    settings: int
    cost: Interval
    part: float
    grid_s: float
    beats: float
    gain: Interval | None


def tuned(name: str, folder: Path, cpus: int) -> Tuned:
    """Search a network and measure its grid, in a workspace of its own. Raises FailedError where that fails."""
    parameters = {"framework": "pytorch", "task": "inference", "cpus_per_task": cpus, **NETWORKS[name]}
    experiment = {"name": name, "parameters": parameters, "measure": MEASURE, "slurm": {"time": "00:10:00"}}
    _hpcbench(folder, {**experiment, "matrix": SETTINGS, "exclude": EXCLUDE}, "tune", "--exhaustive")
    (finding,) = json.loads((folder / "results" / name / "tuning.json").read_text())
    grid, answer = finding["grid"], finding["answer"]
    if answer is None or grid is None or grid["failed"]:
        raise FailedError(f"{name}: a setting failed; see {finding['failed']}")
    found, chosen = answer["best"]["parameters"], grid["best"]["parameters"]
    gain = None if answer["best"] == answer["default"] or answer["gain"] is None else Interval(**answer["gain"])
    return Tuned(
        settings=finding["settings"],
        cost=Interval(1.0, 1.0, 1.0) if found == chosen else _in_pairs(folder, experiment, found, chosen),
        part=finding["seconds"] / finding["grid_seconds"],
        grid_s=finding["grid_seconds"],
        beats=grid["beats"] / grid["of"],
        gain=gain,
    )


def _in_pairs(
    folder: Path, experiment: Mapping[str, Any], found: Mapping[str, Any], chosen: Mapping[str, Any]
) -> Interval:
    """What the one costs for an item over the other, by pairs of repetitions measured one after the other."""
    measure = {**experiment["measure"], "repetitions": PAIRS}
    settings = [{name: value for name, value in each.items() if value is not None} for each in (found, chosen)]
    _hpcbench(folder, {**experiment, "name": "pairs", "measure": measure, "include": settings}, "sweep")
    costs: dict[tuple[int, int], float] = {}
    for file in (folder / "results" / "pairs" / "records").rglob("*.jsonl"):
        for record in map(json.loads, file.read_text().splitlines()):
            if record["measurements"]:
                time_s = float(np.median(record["measurements"]["times_s"]))
                costs[record["case_index"], record["run"]] = time_s / record["work"]["items_per_step"]
    both = [number for number in range(1, PAIRS + 1) if (0, number) in costs and (1, number) in costs]
    return interval_of_ratios(np.log([costs[0, number] / costs[1, number] for number in both]))


def _hpcbench(folder: Path, experiment: Mapping[str, Any], command: str, *options: str) -> None:
    file = folder / f"{experiment['name']}.yaml"
    file.write_text(json.dumps(experiment))
    words = [HPCBENCH, command, file.name, "--local", "--name", experiment["name"], *options]
    done = subprocess.run(words, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{' '.join(words)} failed:\n{done.stderr}")
