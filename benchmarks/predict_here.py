"""Predictions for this machine compared with measurements: `make bench-predict-here`, about 35 minutes.

Run nothing else at the same time: on a busy machine, both the models and what they are compared with are wrong.

hpcbench measures the peaks of this machine, profiles the six networks of configs/experiments/profile.yaml, and measures
twenty operators with one thread and with two. Models that are fitted on these data alone predict the cases of
predict_here.yaml, which are then measured: networks that were not profiled, and the profiled ones with other batch
sizes, sequence lengths, and one thread. Each of these cases runs twice, which shows how much the speed of the machine
varies. Two more tables show the sum of the measured operators of each profiled network relative to its whole step, and
its error if it is left out of the fit.

The exit status is 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import HPCBENCH, ROOT
from predict_here_data import Measured, measured, without_one_network

from hpcbench.predict.results.table import TIME, limits_of

PROFILE, OTHERS = ROOT / "configs/experiments/profile.yaml", ROOT / "benchmarks/predict_here.yaml"
TWENTY = ROOT / "configs/experiments/twenty-operators.yaml"
ONE_THREAD = ("--set", "parameters.cpus_per_task=1")
# Names of the sweeps, and what each runs. The last one is predicted before it is measured.
FITTED_ON: dict[str, tuple[Path, tuple[str, ...]]] = {
    "train": (PROFILE, ()),
    "twenty2": (TWENTY, ()),
    "twenty1": (TWENTY, ONE_THREAD),
}
PREDICTED = "others"
ANY_DEVICE = "a100-pcie-40"
MOST_MAPE, MOST_SUM = 12.0, 10.0  # percent
LOWEST_COVERAGE = 0.85
GROUPS = {
    "network": "networks that were not profiled",
    "size": "other batch sizes and lengths",
    "threads": "one thread",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--workspace", type=Path, metavar="DIR", help="measure in DIR, and skip runs that it already has"
    )
    options = parser.parse_args()
    if options.workspace:
        raise SystemExit(compared(options.workspace.resolve()))
    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(compared(Path(folder)))


def compared(workspace: Path) -> int:
    """Measure what the workspace lacks, print the tables, and return the exit status."""
    workspace.mkdir(parents=True, exist_ok=True)
    run(workspace, "predict", str(OTHERS), "--device", ANY_DEVICE)  # this fails early if an environment is not built
    if not (workspace / "results" / ".machines").exists():
        run(workspace, "doctor", good=(0, 1))
    for name, (experiment, options) in FITTED_ON.items():
        sweep(workspace, name, experiment, *options)
    run(workspace, "predictor", "fit", *FITTED_ON, "-o", "own.json")
    own = measured(workspace, [*FITTED_ON])
    device = own.device
    predictions = ("--device", device, "--model", "own.json", "--csv", "predicted.csv")
    run(workspace, "predict", str(OTHERS), *predictions)
    sweep(workspace, PREDICTED, OTHERS)
    cases = with_predictions(measured(workspace, [PREDICTED]).cases, pd.read_csv(workspace / "predicted.csv"))
    good = [sums_of_operators(own.profile), predicted(cases)]
    left_out(own)
    return 0 if all(good) else 1


def sweep(workspace: Path, name: str, experiment: Path, *options: str) -> None:
    """Run an experiment as a sweep, and runs with interference once more; of one in the workspace, what it lacks."""
    if (workspace / "results" / name).exists():
        run(workspace, "resume", name, "--missing")  # of an interrupted call
        return
    run(workspace, "sweep", str(experiment), "--local", "--name", name, *options)
    if measured(workspace, [name]).has_interference:
        run(workspace, "resume", name, "--interference", good=(0, 1))


def run(workspace: Path, *arguments: str, good: tuple[int, ...] = (0,)) -> None:
    """Run hpcbench in the workspace. Exit if it fails."""
    print(f"$ hpcbench {' '.join(arguments)}", flush=True)
    status = subprocess.run([HPCBENCH, *arguments], cwd=workspace, check=False).returncode
    if status not in good:
        raise SystemExit(f"hpcbench {arguments[0]} ended with status {status}")


def with_predictions(cases: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Return measured cases with `predicted`, `lower`, `upper` in seconds, and the `error` in percent."""
    names = dict(zip((TIME, *limits_of(TIME)), ("predicted", "lower", "upper"), strict=True))
    found = cases.merge(predictions[["case", *names]].rename(columns=names), on="case", how="left")
    return found.assign(error=100 * (found["predicted"] / found["time_s"] - 1))


def predicted(cases: pd.DataFrame) -> bool:
    """Print each case, and the errors of each group and of all; return whether those of all are within the limits."""
    print(f"\n{'case':62} {'measured':>10} {'predicted':>10} {'90 % PI':>19} {'error':>7}")
    for group, title in GROUPS.items():
        rows = cases[cases["group"] == group]
        if rows.empty:
            continue
        print(title)
        for row in rows.sort_values("shown").to_dict("records"):
            inside = row["lower"] <= row["time_s"] <= row["upper"]
            note = ("" if inside else "  outside") + ("  interference" if row["interference"] else "")
            limits = f"{1e3 * row['lower']:.2f} to {1e3 * row['upper']:.2f}"
            times = f"{1e3 * row['time_s']:7.2f} ms {1e3 * row['predicted']:7.2f} ms"
            print(f"  {row['shown'][:60]:60} {times} {limits:>19} {row['error']:+6.1f} %{note}")
        summary(title, rows)
    mape, coverage = summary("all cases", cases)
    if cases["difference"].notna().any():
        print(f"the two runs of a case differ by {100 * cases['difference'].mean():.1f} % (mean)")
    missing = int(cases["predicted"].isna().sum())
    if missing:
        print(f"{missing} of {len(cases)} cases without a prediction")
    is_good = mape <= MOST_MAPE and coverage >= LOWEST_COVERAGE and not missing
    print(f"limits: MAPE {MOST_MAPE:g} %, coverage {LOWEST_COVERAGE}{'' if is_good else '   MISSED'}\n")
    return is_good


def summary(title: str, rows: pd.DataFrame) -> tuple[float, float]:
    """Print the errors of a group; return their MAPE in percent and the coverage of the intervals."""
    error = rows["error"].dropna()
    mape = float(error.abs().mean())
    coverage = float(((rows["lower"] <= rows["time_s"]) & (rows["time_s"] <= rows["upper"])).mean())
    middle, bias = error.abs().median(), error.mean()
    print(
        f"{title}: MAPE {mape:.1f} %, median {middle:.1f} %, bias {bias:+.1f} %, coverage {coverage:.2f}, "
        f"n = {len(error)}\n"
    )
    return mape, coverage


def sums_of_operators(profile: pd.DataFrame) -> bool:
    """Print the sum of the operators of each profiled network over its step; return whether the limit is met."""
    print("\nsum of the measured operators over the whole step")
    found = []
    for _, rows in profile.groupby("case", sort=False):
        whole = rows[rows["kind"] == "network"].iloc[0]
        parts = rows[~rows["kind"].isin(("network", "idle"))]
        total = float((parts["stream_s"].astype("float64") * parts["calls_per_step"].astype("float64")).sum())
        found.append(abs(total / whole["stream_s"] - 1))
        again = f"that step over the measured one: {whole['stream_s'] / whole['hot_s']:.3f}"
        print(f"  {whole['model']:12} {whole['task']:10} {total / whole['stream_s']:.3f}   {again}")
    mean = 100 * float(np.mean(found)) if found else math.nan
    is_good = mean <= MOST_SUM
    print(f"mean error {mean:.1f} % (limit: {MOST_SUM:g} %){'' if is_good else '   MISSED'}")
    return is_good


def left_out(own: Measured) -> None:
    """Print the errors for each profiled network with models that were fitted on the others."""
    print("profiled networks, each with models of the others")
    errors = []
    for row in without_one_network(own):
        errors.append(100 * (row["predicted"] / row["time_s"] - 1))
        times = f"{1e3 * row['time_s']:7.2f} ms {1e3 * row['predicted']:7.2f} ms"
        print(f"  {row['network'][:40]:40} {row['phase']:10} {times} {errors[-1]:+6.1f} %")
    print(f"MAPE {np.mean(np.abs(errors)):.1f} %, median {np.median(np.abs(errors)):.1f} %")


if __name__ == "__main__":
    main()
