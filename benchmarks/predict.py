"""Accuracy of the predictor on devices, networks and shapes that a fit did not see: `make bench-predict DATA=DIR`.

DIR has measurements in the formats of docs/reference/predictor-data.md. Each device is left out once, and each of five
groups of shapes and network families; rows are never divided at random. Next to hpcbench: a roofline, a log-linear
regression, a random forest on seconds, and gradient boosting on raw features. About an hour on two cores.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from pathlib import Path

import pandas as pd
from predict_acceptance import acceptance
from predict_baselines import BASELINES, baselines
from predict_splits import (
    Split,
    devices_of,
    leave_groups_out,
    leave_one_device_out,
    of_devices,
    with_few_devices,
    with_few_operators,
)
from predict_table import mape_of_test, validation_table

from hpcbench.commands.shared.predictor_data import folder_tables
from hpcbench.errors import nearest
from hpcbench.predict.evaluation.answers import answers, relative_energies
from hpcbench.predict.evaluation.choices import choices
from hpcbench.predict.evaluation.evaluate import KEY, without_targets
from hpcbench.predict.evaluation.measurements import measurements
from hpcbench.predict.evaluation.scores import ALL, Score, scores
from hpcbench.predict.fleet import fit
from hpcbench.predict.sets.data_set import DataSet, rows_to_train_on

MEASURED = (20, 200, 2000)  # operators of the predicted device in a learning curve
LEARNING_CURVES = "also print errors by number of measured devices and operators (takes about two more hours)"
SPLITS = ("devices", "few", "groups")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, metavar="DIR", help="folder of measurements")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=SPLITS, help="[default: all]")
    parser.add_argument("--seeds", type=int, default=1, help="random samples of few operators per device [default: 1]")
    parser.add_argument("--devices", nargs="+", metavar="NAME", help="leave out only these devices [default: all]")
    parser.add_argument("--no-baselines", action="store_true", help="skip the baselines")
    parser.add_argument("--learning-curves", action="store_true", help=LEARNING_CURVES)
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # otherwise, idle threads of LightGBM spin
    data = rows_to_train_on(folder_tables(options.data))
    print(f"{len(data.operators):,} rows of operators, {len(data.networks):,} of networks")
    for flaw in data.flaws:
        print(f"flaw: {flaw}")
    known = devices_of(data)
    for name in options.devices or ():
        if name not in known:
            parser.error(f"--devices: device '{name}' not found; {nearest(name, known)}")
    makers = {
        "devices": lambda: leave_one_device_out(data),
        "few": lambda: with_few_operators(data, options.seeds),
        "groups": lambda: leave_groups_out(data),
    }
    chosen = chain.from_iterable(makers[name]() for name in options.splits)
    scored = scored_splits(of_devices(chosen, options.devices), with_baselines=not options.no_baselines)
    print_scores(scored)
    print_choices(scored)
    print("\n".join(acceptance(scores(scored), choices(_unseen(scored)), choices(_seen(scored)))))
    print("\n" + "\n".join(validation_table(scores(scored), simple_scores(scored))))
    if options.learning_curves:
        print_learning_curves(data, options.seeds, options.devices)


def scored_splits(splits: Iterable[Split], with_baselines: bool) -> pd.DataFrame:
    """Return the measurements of all splits with the predictions of hpcbench and of the baselines.

    Exit if no split has rows to predict.
    """
    found = []
    for each in splits:
        if each.test.operators.empty and each.test.networks.empty:
            continue
        began = time.monotonic()
        fleet = fit(each.train)
        fitted = time.monotonic()
        blind = without_targets(each.test)
        measured = measurements(each.test, fleet.basis).merge(relative_energies(fleet, blind), on=KEY, how="left")
        scored = measured.merge(answers(fleet, blind), on=KEY, how="left", validate="one_to_one")
        predicted = time.monotonic()
        if with_baselines:
            scored = scored.merge(baselines(each.train, each.test, measured), on=KEY, how="left")
        found.append(scored.assign(split=each.name))
        print(
            f"{each.name}: fit {fitted - began:.0f} s, {len(scored):,} predictions {predicted - fitted:.0f} s",
            flush=True,
        )
    if not found:
        raise SystemExit("no split of the data has rows to predict")
    return pd.concat(found, ignore_index=True)


def print_scores(scored: pd.DataFrame) -> None:
    """Print a line per test: errors and intervals of hpcbench, and the MAPE of each baseline."""
    simple = simple_scores(scored)
    header = (
        f"{'test':66} {'n':>7} {'MAPE':>6} {'median':>6} {'bias':>6} {'cover':>5} {'worst':>5} {'width':>5} {'ref':>5}"
    )
    print("\n" + header + "".join(f" {name:>17}" for name in simple))
    for each in scores(scored):
        name = f"{each.file} {each.quantity}, {each.devices}" if each.part == ALL else f"  {each.part}, {each.devices}"
        errors = f"{each.mape:6.1f} {each.median_ape:6.1f} {each.bias:+6.1f}"
        intervals = f"{each.coverage:5.2f} {each.worst_coverage:5.2f} {each.width:5.2f}"
        beaten = "".join(f" {mape_of_test(others, each):17.1f}" for others in simple.values())
        print(f"{name:66} {each.rows:7,} {errors} {intervals} {each.refused:5}{beaten}")


def simple_scores(scored: pd.DataFrame) -> dict[str, list[Score]]:
    """Return the scores of each simple model that was fitted, by its name."""
    no_intervals = scored.assign(lower=math.nan, upper=math.nan)
    return {name: scores(no_intervals.assign(predicted=scored[name])) for name in BASELINES if name in scored}


def print_choices(scored: pd.DataFrame) -> None:
    """Print how often choices by predictions are right: among unseen devices, and for unseen networks."""
    for title, rows in (("unseen devices", _unseen(scored)), ("unseen networks", _seen(scored))):
        print(f"\nchoices, {title}")
        for each in choices(rows):
            regret = "" if math.isnan(each.regret) else f", regret {each.regret:.1f} % (worst {each.worst_regret:.1f})"
            print(f"  {each.file} {each.quantity}: {each.question}: {each.right:.1%} of {each.choices:,}{regret}")


def print_learning_curves(data: DataSet, seeds: int, devices: Collection[str] | None) -> None:
    """Print the errors for operators by the number of measured devices, and of measured operators of the device."""
    fewer_devices = with_few_devices(data, seeds)
    fewer_rows = ((few, each) for few in MEASURED for each in with_few_operators(data, seeds, few))
    for title, splits in (("measured devices", fewer_devices), ("measured operators of the device", fewer_rows)):
        scored = [
            scored_splits([split], with_baselines=False).assign(number=number)
            for number, split in splits
            if devices is None or split.device in devices
        ]
        if scored:
            print_curve(title, scored)
        else:
            print(
                f"\nno learning curve by number of {title}: too few devices or operators in the data, or of --devices"
            )


def print_curve(title: str, scored: Sequence[pd.DataFrame]) -> None:
    """Print a line per number, file and quantity."""
    print(f"\nlearning curve, by number of {title}")
    for number, rows in pd.concat(scored, ignore_index=True).groupby("number"):
        for each in scores(rows):
            if each.part == ALL:
                figures = (
                    f"{each.mape:6.1f} ({each.median_ape:.1f}) %, coverage {each.coverage:.2f}, width {each.width:.2f}"
                )
                print(f"{number:6,} {each.file} {each.quantity}, {each.devices}: {figures}")


def _unseen(scored: pd.DataFrame) -> pd.DataFrame:
    return scored[scored["split"].str.startswith("without")]


def _seen(scored: pd.DataFrame) -> pd.DataFrame:
    return scored[scored["split"].str.startswith("fold")]


if __name__ == "__main__":
    main()
