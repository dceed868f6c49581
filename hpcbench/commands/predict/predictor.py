"""hpcbench predictor: fit the models of time, power and energy, evaluate them, and show their data."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import click

from hpcbench.commands.options.completion import complete_sweep
from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import not_empty, workspace_of
from hpcbench.commands.shared.predictions.model_file import DEFAULT_FILE, text_of
from hpcbench.commands.shared.predictor_data import data_to_predict, training_data
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.errors import UserError
from hpcbench.report.export.atomic_files import check_target, write_text
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import SUCCESS, examples
from hpcbench.util.text import in_list, plural

EPILOG = """\b
Examples:
  hpcbench predictor fit data/ -o fleet.json
  hpcbench predictor evaluate --train data/ --test other-devices/
  hpcbench predictor show fleet.json
"""


@click.group("predictor", epilog=EPILOG)
def predictor_command() -> None:
    """Fit the models of time, power and energy, evaluate them, and show what they are based on.

    The data are measurements of operators and networks, in the formats of docs/reference/predictor-data.md.
    """


@predictor_command.command(
    "fit",
    short_help="Fit the models on measurements.",
    epilog=examples(
        "hpcbench predictor fit data/ -o fleet.json",
        "hpcbench predictor fit latest public-data/   the latest sweep, and public measurements",
        "hpcbench predictor fit operators.parquet     a table of hpcbench report --operators",
    ),
)
@click.argument("sources", nargs=-1, required=True, metavar="SWEEP|FILE|FOLDER...", shell_complete=complete_sweep)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=not_empty,
    help=f"Write the models to FILE.  [default: {DEFAULT_FILE} in the workspace]",
)
@click.pass_context
def fit_command(context: click.Context, sources: tuple[str, ...], output: str | None) -> int:
    """Fit the models on the runs and profiles of each SWEEP, and on the tables of each FILE and FOLDER.

    FILE is a table in a format of docs/reference/predictor-data.md, or of `hpcbench report --operators`. If the data
    have no usable row, the command fails. Each device of the data must be in `hpcbench list devices`, or in a table
    of devices in the data. The fit requires the extra `predict`.
    """
    from hpcbench.commands.options.extras import require
    from hpcbench.predict.fleet import fit
    from hpcbench.predict.fleet_file import to_text

    require("predictor", "hpcbench predictor fit")
    _let_idle_threads_sleep()
    target = output or str(workspace_of(context).root / DEFAULT_FILE)
    check_target(target)
    data = training_data(context, sources)
    with shown_after_a_while("fitting") as progress:
        fleet = fit(data, progress)
    print_warnings(fleet.basis.flaws)
    if not fleet.basis.total:
        _refuse(sources, fleet.basis.flaws)
    write_text(to_text(fleet), target)
    err.print(f"wrote models fitted on {plural(fleet.basis.total, 'row')} to {target}", markup=False, soft_wrap=True)
    err.print(f"next: hpcbench predictor show {target}", markup=False, soft_wrap=True)
    return SUCCESS


@predictor_command.command(
    "evaluate",
    short_help="Fit on one folder, predict another, and compare.",
    epilog=examples(
        "hpcbench predictor evaluate --train data/ --test other-devices/",
        "hpcbench predictor evaluate --train data/ --test new/ --predictions predictions.csv",
    ),
)
@click.option(
    "--train", "train", metavar="DIR", required=True, callback=not_empty, help="Fit on the measurements in DIR."
)
@click.option("--test", "test", metavar="DIR", required=True, callback=not_empty, help="Predict the rows of DIR.")
@click.option(
    "--predictions",
    metavar="FILE",
    callback=not_empty,
    help="Write the predictions as CSV, one line per row and target of --test, to FILE, or to stdout if FILE is -.",
)
@json_option("Print the scores as JSON.")
@click.pass_context
def evaluate_command(context: click.Context, train: str, test: str, predictions: str | None, as_json: bool) -> int:
    """Fit models on the folder --train, predict all targets of the folder --test, and compare them with measurements.

    If --test lacks targets, hpcbench predicts them, and does not compare them.
    """
    from hpcbench.commands.options.extras import require
    from hpcbench.predict.evaluation.evaluate import evaluate
    from hpcbench.report.predictor.scores_table import print_evaluation

    if as_json and predictions == "-":
        raise UserError("--json cannot be used with --predictions -", hint="use one of them, or write to files")
    require("predictor", "hpcbench predictor evaluate")
    _let_idle_threads_sleep()
    if predictions:
        check_target(predictions)
    with shown_after_a_while("evaluating") as progress:
        result = evaluate(training_data(context, [train]), data_to_predict(context, test), progress)
    print_warnings(result.flaws)
    if predictions:
        write_text(result.predictions.to_csv(index=False), predictions)
        if predictions != "-":
            err.print(f"wrote {len(result.predictions):,} predictions to {predictions}", markup=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps(result.to_json(), indent=1))
    elif predictions != "-":
        print_evaluation(result, out)
    return SUCCESS


@predictor_command.command(
    "show",
    short_help="Show what the models are based on.",
    epilog=examples(
        "hpcbench predictor show",
        "hpcbench predictor show fleet.json --data data/   check that the models were fitted on these data",
    ),
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "--data", metavar="DIR", callback=not_empty, help="Fail if the models were not fitted on the data in DIR."
)
@json_option()
@click.pass_context
def show_command(context: click.Context, file: str | None, data: str | None, as_json: bool) -> int:
    """Show the data, devices, typical errors and flaws of the models in FILE.

    FILE is fleet.json of the workspace by default.
    """
    from hpcbench.predict.basis import basis_of
    from hpcbench.predict.fleet_file import check_data, from_text
    from hpcbench.report.predictor.basis_text import print_basis

    path = Path(file) if file else workspace_of(context).root / DEFAULT_FILE
    fleet = from_text(text_of(path), str(path))
    if data:
        check_data(fleet, basis_of(training_data(context, [data])).data_hash, str(path))
        err.print(f"fitted on the data in {data}", markup=False, soft_wrap=True)
    if as_json:
        errors = [asdict(each) for each in fleet.typical_errors]
        shown = {"versions": dict(fleet.versions), **fleet.basis.to_json(), "typical_errors": errors}
        click.echo(json.dumps(shown, indent=1))
    else:
        print_basis(fleet, out)
    return SUCCESS


def _refuse(sources: Sequence[str], flaws: Sequence[str]) -> NoReturn:
    """Raise UserError for data without a usable row, with a hint for its flaws."""
    names = in_list([f"'{source}'" for source in sources])
    what = f"no usable measurements in {names}: models not written"
    complete = "name data with measurements, or complete the runs of the sweep first"
    hint = "correct the data that the warnings name" if flaws else complete
    if any("interference" in flaw for flaw in flaws):
        hint = "measure again on an idle machine; for a sweep: hpcbench resume SWEEP --interference"
    raise UserError(what, hint=f"{hint}\ndocs/reference/predictor-data.md lists what a fit requires")


def _let_idle_threads_sleep() -> None:
    """Let idle OpenMP threads of LightGBM sleep: on a busy login node, spinning takes most of the time.

    OpenMP reads the variable when LightGBM is imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
