"""hpcbench list: sweeps, experiments, models, operators, devices, metrics, sites and environments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich import filesize
from rich.markup import escape
from rich.table import Table

from hpcbench.commands.options.completion import complete_sweep
from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared import listings
from hpcbench.commands.shared.context import file_in, is_archive, open_sweep, workspace_of
from hpcbench.commands.shared.environment_list import environments_command
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.yaml_document import load_yaml
from hpcbench.errors import UserError
from hpcbench.report.terminal.status import counted
from hpcbench.store.sweep import load
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import out
from hpcbench.util.exit_status import examples, exit_statuses

EPILOG = """\b
Examples:
  hpcbench list sweeps                 the latest first, with the states of their runs and their size on disk
  hpcbench list experiments            names for `hpcbench sweep`
  hpcbench list metrics lstm           names for --metric, including those of the experiment lstm
  hpcbench list sweeps --json | jq -r '.[] | select(.size_bytes > 1e9) | .name'
""" + exit_statuses()

_OTHER_MODELS = (
    "other models: torchvision/NAME, timm/NAME, transformers/NAME, keras-applications/NAME, MODULE:FUNCTION, "
    "{onnx: FILE}; see docs/guides/models.md"
)
_DEVICE_NUMBERS = ("float32 TFLOP/s", "float16 TFLOP/s", "memory (GB)", "GB/s", "power (W)")
_NUMBERS = ("size", "points", "parameters (M)", "GFLOPs per item", *_DEVICE_NUMBERS)
Row = Sequence[str | None]


@click.group("list", epilog=EPILOG)
def list_command() -> None:
    """List sweeps, experiments, models, operators, devices, metrics, sites or environments."""


@list_command.command(
    "sweeps",
    short_help="Sweeps of the workspace, with states and sizes.",
    epilog=examples("hpcbench list sweeps", "hpcbench list sweeps --json | jq -r '.[].name'"),
)
@json_option()
@click.pass_context
def sweeps_command(context: click.Context, as_json: bool) -> int:
    """List the sweeps of the workspace, the latest first.

    The states come from the records. Slurm is not queried, so pending and running runs count as `without result`.
    """
    from hpcbench.collect.sweep_list import listed_sweeps

    with shown_after_a_while("reading sweeps") as report:
        found = listed_sweeps(workspace_of(context), report)
    rows = (
        (
            each.name,
            each.experiment,
            each.site,
            (each.created_at or "")[:16].replace("T", " "),
            each.problem or counted(each.runs),
            filesize.decimal(each.size_bytes),
        )
        for each in found
    )
    return _print(found, ("sweep", "experiment", "site", "created (UTC)", "runs", "size"), rows, as_json)


@list_command.command(
    "experiments",
    short_help="Experiments of the workspace, and shipped ones.",
    epilog=examples("hpcbench list experiments", "hpcbench list experiments --json"),
)
@json_option()
@click.pass_context
def experiments_command(context: click.Context, as_json: bool) -> int:
    """List the experiments in configs/experiments of the workspace, and the shipped ones.

    `points` is the number of cases before `exclude`.
    """
    found = listings.experiments(workspace_of(context))
    rows = (
        (each.name, each.origin, str(each.facts.get("points", "-")), each.problem or each.facts["description"])
        for each in found
    )
    return _print(found, ("experiment", "origin", "points", "description"), rows, as_json)


@list_command.command(
    "models",
    short_help="Built-in models, with parameters and FLOPs.",
    epilog=examples("hpcbench list models", "hpcbench list models --json | jq '.[] | {name, options}'"),
)
@json_option()
def models_command(as_json: bool) -> int:
    """List the built-in models, with their options and the parameters and FLOPs of the default options.

    FLOPs count the forward pass of one item (1 MAC = 2 FLOPs); training takes three times as many. Frameworks
    with these models: pytorch, tensorflow, keras-torch, keras-jax, keras-tensorflow, jax, mxnet.
    """
    found = listings.models()
    rows = (
        (
            each.name,
            f"{each.parameter_count / 1e6:,.2f}",
            f"{each.flops_per_item / 1e9:,.3f}",
            " ".join(f"{name}={str(value).lower()}" for name, value in each.options.items()),
        )
        for each in found
    )
    _print(found, ("model", "parameters (M)", "GFLOPs per item", "options"), rows, as_json)
    if not as_json:
        out.print(_OTHER_MODELS, soft_wrap=True, highlight=False)
    return 0


@list_command.command(
    "operators",
    short_help="Operators of task: operator, with sizes and FLOPs.",
    epilog=examples("hpcbench list operators", "hpcbench list operators --json | jq '.[] | {name, sizes}'"),
)
@json_option()
def operators_command(as_json: bool) -> int:
    """List the operators, with their sizes and the FLOPs of a forward pass with the default sizes.

    FLOPs count matrix products and convolutions (1 MAC = 2 FLOPs). docs/guides/operators.md describes the task.
    """
    found = listings.operators()
    rows = (
        (
            each.name,
            f"{each.flops / 1e9:,.3f}" if each.flops else "-",
            " ".join(f"{name}={str(value).lower()}" for name, value in each.sizes.items()),
        )
        for each in found
    )
    return _print(found, ("operator", "GFLOPs forward", "sizes"), rows, as_json)


@list_command.command(
    "devices",
    short_help="Devices for predictions, with rates and power.",
    epilog=examples("hpcbench list devices", "hpcbench list devices --json | jq '.[] | {name, source}'"),
)
@json_option()
@click.pass_context
def devices_command(context: click.Context, as_json: bool) -> int:
    """List the devices for predictions: the shipped ones, those in configs/devices, and measured nodes.

    Values are those of data sheets, or peaks that `hpcbench doctor` measured. Rates are dense, float16 in matrix units.
    """
    found = listings.devices(workspace_of(context))
    rows = (
        (
            each.name,
            each.architecture,
            str(each.year),
            *(
                f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"
                for value in (
                    each.float32_tflops,
                    each.float16_tflops,
                    each.memory_gb,
                    each.memory_gb_per_s,
                    each.power_w,
                )
            ),
        )
        for each in found
    )
    return _print(found, ("device", "architecture", "year", *_DEVICE_NUMBERS), rows, as_json)


@list_command.command(
    "metrics",
    short_help="Metrics for --metric.",
    epilog=examples("hpcbench list metrics", "hpcbench list metrics lstm   also those of the experiment lstm"),
)
@click.argument("name", metavar="[NAME]", required=False, shell_complete=complete_sweep)
@json_option()
@click.pass_context
def metrics_command(context: click.Context, name: str | None, as_json: bool) -> int:
    """List the metrics for `--metric`: the built-in ones and those of NAME (a sweep, an experiment or its file).

    If the better direction of a metric is unknown, give the metric as NAME:higher or NAME:lower.
    """
    found = listings.metrics_of(*_section(context, name)) if name else []
    found += listings.built_in_metrics()
    rows = (
        (each.name, each.unit or "-", each.better or "unknown", each.description or f"of {each.origin}")
        for each in found
    )
    return _print(found, ("metric", "unit", "better", "description"), rows, as_json)


def _section(context: click.Context, name: str) -> tuple[str, dict[str, Any]]:
    """Return the name of an experiment and its metrics, given a sweep, an archive or an experiment.

    Raise UserError if nothing has this name.
    """
    workspace = workspace_of(context)
    if _is_sweep(workspace, name):
        experiment: dict[str, Any] = load(open_sweep(context, workspace, name)).description["experiment"]
        return experiment["name"], experiment["metrics"]
    try:
        document = load_yaml(file_in(workspace, "experiments", name))
    except UserError as error:
        raise UserError(f"'{name}' is neither a sweep nor an experiment", hint=error.hint) from error
    read = load_experiment(with_csv_files(document, workspace.input_file))
    return read.name, {name: metric.model_dump() for name, metric in read.metrics.items()}


def _is_sweep(workspace: Workspace, name: str) -> bool:
    is_yaml = name.endswith((".yaml", ".yml"))
    return len(workspace.matching(name)) == 1 or (is_archive(workspace, name) and not is_yaml)


@list_command.command(
    "sites",
    short_help="Site files of the workspace, and shipped ones.",
    epilog=examples("hpcbench list sites", "hpcbench list sites --json"),
)
@json_option()
@click.pass_context
def sites_command(context: click.Context, as_json: bool) -> int:
    """List the site files in configs/sites of the workspace, and the shipped ones.

    The partition is the default for experiments that do not name one.
    """
    found = listings.sites(workspace_of(context))
    rows = (
        (
            each.name,
            each.facts.get("scheduler"),
            each.facts.get("partition"),
            each.problem or each.file,
        )
        for each in found
    )
    return _print(found, ("site", "scheduler", "partition", "file"), rows, as_json)


list_command.add_command(environments_command)


def _print(found: Sequence[Any], columns: Sequence[str], rows: Iterable[Row], as_json: bool) -> int:
    """Print dataclasses as JSON, or their rows as a table."""
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], indent=1))
        return 0
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        is_number = column in _NUMBERS
        last = number == len(columns) - 1
        table.add_column(column, justify="right" if is_number else "left", no_wrap=not last, overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell or "-") for cell in row))
    out.print(table)
    return 0
