"""hpcbench predict: time, power and energy of networks on devices where they have not run."""

from __future__ import annotations

import datetime
import os
from functools import partial
from typing import TYPE_CHECKING

import click

from hpcbench.commands.options.completion import complete_devices, complete_experiment
from hpcbench.commands.options.duration_option import seconds
from hpcbench.commands.options.extras import require_packages
from hpcbench.commands.options.figure_options import figure_options, formats_of, write_figures
from hpcbench.commands.options.names_option import names
from hpcbench.commands.options.outputs import file_option, json_option, output_option, requested, write_outputs
from hpcbench.commands.predict.asked_devices import AskedDevices, asked_devices, numbers
from hpcbench.commands.predict.networks import Networks, networks_of, sizes
from hpcbench.commands.shared.context import not_empty, set_option, site_option, workspace_of
from hpcbench.commands.shared.predictions.model_file import DEFAULT_FILE
from hpcbench.commands.shared.predictions.models import Models, models_of
from hpcbench.errors import UserError
from hpcbench.predict.choice.cost import price_of
from hpcbench.predict.results.predictions import Predictions, Question, predict
from hpcbench.predict.results.table import ENERGY, PRICE, TIME, for_files
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.csv_parquet import write_csv
from hpcbench.report.load.devices import known_devices
from hpcbench.report.predictor.predictions_json import predictions_json
from hpcbench.report.predictor.terminal import print_predictions
from hpcbench.report.predictor.text.summary import Wanted
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.util.console import err, out
from hpcbench.util.exit_status import FAILURE, SUCCESS, exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.report.charts.components import Figure

FORMATS = ("json", "csv", "html")
EPILOG = """\b
Examples:
  hpcbench predict quickstart --device a100-pcie-40,h100-sxm
  hpcbench predict torchvision/resnet50 --device l40s,t4 --batch-size 1,32
  hpcbench predict resnet50 --device l40s,t4 --batch-size 32 --set parameters.task=training
  hpcbench predict my.yaml --device a100-sxm-80,l40s --least-energy
  hpcbench predict my.yaml --device h100-sxm,l40s --within 500ms
  hpcbench predict my.yaml --device a100-sxm-80 --clock 960,1410
  hpcbench predict my.yaml --device h100-sxm --set 'matrix.batch_size=[1,8,64]' --html predictions.html
  hpcbench predict net.onnx --device l40s,t4 --batch-size 1,8,64

The networks do not run: PyTorch lists their operators. `hpcbench list devices` lists the devices.
Prices require `cost` in the site file: docs/guides/site.md.
""" + exit_statuses("a case could not be predicted on a device")


@click.command("predict", epilog=EPILOG)
@click.argument("experiment", metavar="EXPERIMENT|MODEL|FILE", shell_complete=complete_experiment)
@click.option(
    "--device",
    "devices",
    metavar="NAMES",
    shell_complete=complete_devices,
    callback=names,
    help="Predict on these devices, separated by commas: names of `hpcbench list devices`, or measured nodes.  "
    "[default: this node if it was measured, otherwise all measured nodes]",
)
@click.option(
    "--batch-size",
    "batch_sizes",
    metavar="N",
    callback=sizes,
    help="Predict a model, an ONNX file or an exported program at these batch sizes, separated by commas.  "
    "[default: 1, or the batch size of the export]",
)
@click.option(
    "--fastest",
    is_flag=True,
    help="Recommend the fastest device.  [default: also the device that needs least energy, and the cheapest one if "
    "prices are known]",
)
@click.option("--least-energy", is_flag=True, help="Recommend the device that needs least energy.")
@click.option(
    "--within",
    metavar="TIME",
    callback=seconds,
    help="Recommend the device that needs least energy among those with a step time of at most TIME, e.g. 500ms.",
)
@click.option(
    "--clock",
    "clocks",
    metavar="MHZ",
    callback=numbers("give clocks in MHz, for example 1400 or 960,1410"),
    help="Also predict at these clocks, separated by commas, from the lowest to the boost clock of each device; do not "
    "search for the clocks and power limits of least energy.  [default: search]",
)
@click.option(
    "--power-limit",
    "limits",
    metavar="W",
    callback=numbers("give limits in W, for example 300 or 200,300"),
    help="Also predict under these power limits, separated by commas, from the lowest limit to the board power of each "
    "device; do not search for the clocks and power limits of least energy.  [default: search]",
)
@click.option(
    "--model",
    metavar="FILE",
    callback=not_empty,
    help=f"Use the models of `hpcbench predictor fit` in FILE.  [default: {DEFAULT_FILE} of the workspace, otherwise "
    "the data sheets]",
)
@site_option()
@set_option()
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Predict only the first N cases.")
@json_option()
@file_option("csv", "CSV, one row per case, device and state,")
@file_option("html", "a self-contained page with recommendations, figures and tables")
@output_option(*FORMATS)
@figure_options
@click.pass_context
@without_garbage_collection()
def predict_command(
    context: click.Context,
    experiment: str,
    devices: tuple[str, ...],
    batch_sizes: tuple[int, ...],
    fastest: bool,
    least_energy: bool,
    within: float | None,
    clocks: tuple[float, ...],
    limits: tuple[float, ...],
    model: str | None,
    site: str | None,
    settings: tuple[str, ...],
    limit: int | None,
    as_json: bool,
    csv_file: str | None,
    html_file: str | None,
    outputs: tuple[tuple[str, str], ...],
    figures: str | None,
    formats: str,
    theme: str,
) -> int:
    """Predict time, power and energy of the cases of EXPERIMENT on devices, without running them.

    MODEL is a shipped model, or a model of a library, for inference by default. FILE is an ONNX file, or a file that
    torch.export.save wrote (.pt2). Each value, and each ratio of two devices, has a 90 % prediction interval.
    """
    wanted = _wanted(fastest, least_energy, within)
    asked = requested({"json": as_json}, {"csv": csv_file, "html": html_file}, outputs, figures)
    wanted_formats = formats_of(context, figures, formats)
    require_packages(asked, figures)
    workspace = workspace_of(context)
    models = models_of(workspace, model)
    networks = networks_of(workspace, experiment, batch_sizes, SweepOptions(settings, limit, True), site)
    known = known_devices(workspace, models.fleet.devices)
    chosen = asked_devices(
        devices, known, networks.kinds, os.uname().nodename, clocks, limits, search_states=ENERGY in wanted.quantities
    )
    made = _predicted(networks, chosen, models)
    if not any(output.is_stdout for output in asked):
        print_predictions(made, wanted, chosen.shown, out)
    models.warn_of_flaws()
    if figures:
        write_figures(_figures(made), figures, wanted_formats, theme, "no time and energy is predicted")
    writers = {
        "json": lambda file: write_text(predictions_json(made, wanted), file),
        "csv": lambda file: write_csv(for_files(made.results), file),
        "html": lambda file: _write_page(made, wanted, chosen.shown, file),
    }
    write_outputs(asked, writers, dict.fromkeys(writers, plural(len(made.results), "prediction")))
    if hint := networks.hint(made.refused["reason"]):
        err.print(f"hint: {hint}", soft_wrap=True, markup=False)
    return FAILURE if len(made.refused) else SUCCESS


def _wanted(fastest: bool, least_energy: bool, within: float | None) -> Wanted:
    """Return what to recommend. Raise UserError for options that exclude each other."""
    given = [name for name, is_given in _given(fastest, least_energy, within).items() if is_given]
    if len(given) > 1:
        raise UserError(f"{given[0]} cannot be used with {given[1]}", hint="use one of them")
    if fastest:
        return Wanted((TIME,))
    return Wanted((ENERGY,) if least_energy else (TIME, ENERGY, PRICE), within)


def _given(fastest: bool, least_energy: bool, within: float | None) -> dict[str, bool]:
    return {"--fastest": fastest, "--least-energy": least_energy, "--within": within is not None}


def _predicted(networks: Networks, chosen: AskedDevices, models: Models) -> Predictions:
    """Return the predictions of networks on devices. Raise UserError if no case is a network."""
    from hpcbench.predict.results.fleet_models import FleetModels, measured_devices, ratio_errors, state_errors

    found, site, fleet = networks.listed(), networks.site, models.fleet
    prices = {name: partial(price_of, device, site.cost) for name, device in chosen.devices.items()}
    question = Question(
        found.cases, found.lists, chosen.states, chosen.devices, prices, site.carbon, found.memory, chosen.only
    )
    results, shares = predict(question, FleetModels(fleet), measured_devices(fleet, chosen.devices))
    errors = ratio_errors(fleet, chosen.devices)
    currency, of_states = site.cost.currency, state_errors(fleet, chosen.devices)
    data_hash = fleet.basis.data_hash if fleet.basis.rows else ""
    return Predictions(
        networks.name,
        results,
        shares,
        models.words,
        networks.item,
        currency,
        errors,
        of_states,
        models.advice,
        data_hash,
    )


def _figures(made: Predictions) -> list[Figure]:
    from hpcbench.report.predictor.chart import figures_of_predictions  # imports altair

    return figures_of_predictions(made)


def _write_page(made: Predictions, wanted: Wanted, states: frozenset[str], file: str) -> None:
    from hpcbench.report.html.render import render
    from hpcbench.report.predictor.page import page_of_predictions

    now = datetime.datetime.now().astimezone()
    write_text(render(page_of_predictions(made, wanted, _figures(made), now, states)), file)
