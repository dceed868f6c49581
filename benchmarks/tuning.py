"""How good `hpcbench tune` is: `make bench-tuning`.

On made-up machines, where the truth is known: how often its answer is within 2 % of the best, what part of the full
grid's measuring time it takes, what it beats, and whether it ever recommends what is slower than the default. With
--real, on this machine: ten experiments, each searched and then measured as a full grid (four hours; nothing else
should run).
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from measuring import HPCBENCH, clean_environment
from simulated_settings import Trial, made_up, searched

from hpcbench.node import hardware

TRIALS = 100
NOISE = (0.005, 0.02, 0.05)  # of a full measurement, from process to process
SIZES = ((4, 3, 2), (4, 3, 3), (6, 4, 2), (8, 4, 4, 3, 2))
NEAR, QUARTER, MOST = 0.02, 0.25, 0.95

# Of the real experiments: two cores have no more threads to choose from.
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
NETWORKS: dict[str, dict[str, Any]] = {
    "lstm-b1": {"model": "lstm", "model_options": LSTM, "batch_size": 1},
    "lstm-b16": {"model": "lstm", "model_options": LSTM, "batch_size": 16},
    "lstm-b64": {"model": "lstm", "model_options": {**LSTM, "hidden_size": 256}, "batch_size": 64},
    "lstm-bidirectional": {"model": "lstm", "model_options": {**LSTM, "bidirectional": True}, "batch_size": 8},
    "lstm-training": {"model": "lstm", "model_options": LSTM, "batch_size": 8, "task": "training"},
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


def simulated() -> None:
    print(
        f"{TRIALS} made-up machines a line. Goals: within {NEAR:.0%} of the best in 90 %, in 25 % of the grid's time,"
    )
    print("beats 95 % of all settings, and is never slower than the default\n")
    titles = ("settings", "noise", "within 2 %", "in a quarter", "both", "beats 95 %", "median time", "slower")
    print("".join(f"{title:>14}" for title in titles))
    for sizes in SIZES:
        for noise in NOISE:
            trials = [searched(made_up(seed, sizes, noise), seed) for seed in range(TRIALS)]
            print(
                "".join(f"{cell:>14}" for cell in (f"{math.prod(sizes):,}", f"{noise:.1%}", *_cells(trials))),
                flush=True,
            )


def _cells(trials: Sequence[Trial]) -> list[str]:
    near = [trial.regret < NEAR for trial in trials]
    quick = [trial.part <= QUARTER for trial in trials]
    both = [one and other for one, other in zip(near, quick, strict=True)]
    most = [trial.beats >= MOST for trial in trials]
    return [
        *(f"{sum(reached) / len(trials):.0%}" for reached in (near, quick, both, most)),
        f"{median(trial.part for trial in trials):.0%}",
        str(sum(trial.gain < -1e-9 for trial in trials)),
    ]


def real(only: Sequence[str]) -> None:
    cpus = len(hardware.usable_cpus())
    print(f"\nReal networks with PyTorch, {hardware.cpu_model()}, {cpus} CPUs, Python {platform.python_version()}\n")
    titles = ("experiment", "settings", "over the grid's choice", "time", "beats", "gain")
    findings = []
    print(f"{titles[0]:<20}" + "".join(f"{title:>24}" for title in titles[1:]))
    for name in only or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            findings.append(_tuned(name, Path(folder), cpus))
        print(f"{name:<20}" + "".join(f"{cell:>24}" for cell in _told(findings[-1])), flush=True)
    print(f"\n{_reached(findings)}")


def _tuned(name: str, folder: Path, cpus: int) -> dict[str, Any]:
    parameters = {"framework": "pytorch", "task": "inference", "cpus_per_task": cpus, **NETWORKS[name]}
    experiment = {"name": name, "parameters": parameters, "matrix": SETTINGS, "exclude": EXCLUDE, "measure": MEASURE}
    (folder / "experiment.yaml").write_text(json.dumps({**experiment, "slurm": {"time": "00:10:00"}}))
    words = [HPCBENCH, "tune", "experiment.yaml", "--local", "--exhaustive", "--name", "tuned"]
    subprocess.run(words, cwd=folder, env=clean_environment(), check=True, capture_output=True)
    (finding,) = json.loads((folder / "results" / "tuned" / "tuning.json").read_text())
    found: dict[str, Any] = finding
    return found


def _reached(findings: Sequence[dict[str, Any]]) -> str:
    grids = [finding["grid"] for finding in findings]
    near = sum(grid["slower"][0] < 1 + NEAR for grid in grids)
    quick = sum(finding["seconds"] <= QUARTER * finding["grid_seconds"] for finding in findings)
    most = sum(grid["beats"] >= MOST * grid["of"] for grid in grids)
    reached = {f"within {NEAR:.0%} of the grid's choice": near, f"in {QUARTER:.0%} of its time": quick}
    reached[f"beats {MOST:.0%} of the settings"] = most
    return "; ".join(f"{goal}: {count} of {len(findings)}" for goal, count in reached.items())


def _told(finding: dict[str, Any]) -> list[str]:
    grid, answer = finding["grid"], finding["answer"]
    ratio, low, high = grid["slower"]
    gain = answer["gain"]
    return [
        str(finding["settings"]),
        f"{ratio:.3f} [{low:.3f}, {high:.3f}]",
        f"{finding['seconds'] / finding['grid_seconds']:.0%} of {finding['grid_seconds'] / 60:.0f} min",
        f"{grid['beats'] / grid['of']:.0%}",
        "default" if gain is None else f"{gain[0]:.2f}x{'' if answer['certain'] else ' (not certain)'}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", nargs="*", metavar="NETWORK", help="also on this machine; of these networks only")
    arguments = parser.parse_args()
    simulated()
    if arguments.real is not None:
        real(arguments.real)


if __name__ == "__main__":
    main()
