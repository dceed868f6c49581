"""hpcbench reparse: extract the metrics of a sweep again from its stored output."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from hpcbench.collect.reparse import can_be_reparsed, records_that_count, reparsed
from hpcbench.commands.shared.context import file_in, sweep_argument, workspace_of
from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.metrics import Metric
from hpcbench.config.options.extract_option import HELP, METAVAR, metrics_of
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.validation.experiment_checks import check_metrics
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.core.metrics.kept_output import key_of
from hpcbench.core.status import COMPLETED
from hpcbench.errors import UserError
from hpcbench.report.terminal.reparsed import summary
from hpcbench.store.archive.pack import SUFFIX
from hpcbench.store.journal import locked
from hpcbench.store.kept_output import outputs
from hpcbench.store.provenance.input_files import copy_or
from hpcbench.store.provenance.secret_check import refuse_secrets
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.records import read_records
from hpcbench.store.reparsed import Definitions, Overlay, read, write
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.console import err, out
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.text import plural

EPILOG = """\b
Examples:
  hpcbench reparse latest                              after changing the sweep's experiment file
  hpcbench reparse latest bench.yaml                   with `metrics` and `expect` of this file
  hpcbench reparse latest --extract 'rate:higher=samples/s=([0-9.]+)'
  hpcbench reparse latest --undo
""" + exit_statuses("a metric or an expected pattern was not found in a run")


@click.command("reparse", epilog=EPILOG)
@sweep_argument()
@click.argument("experiment", required=False)
@click.option(
    "--extract",
    "extracts",
    metavar=METAVAR,
    multiple=True,
    help=f"Add this metric to the metrics of the sweep; may be repeated. {HELP}",
)
@click.option("--undo", is_flag=True, help="Remove the extracted metrics, and restore those of the runs.")
@click.pass_context
def reparse_command(
    context: click.Context, sweep: str, experiment: str | None, extracts: tuple[str, ...], undo: bool
) -> int:
    """Extract the metrics of SWEEP again from stored output, using `metrics` and `expect` of EXPERIMENT.

    EXPERIMENT is a YAML file, or the name of one in configs/experiments; the default is the file from which the sweep
    was created. The records of the runs do not change. Later runs of SWEEP use its original metrics, so reparse it
    again after them.
    """
    workspace = workspace_of(context)
    given = {"EXPERIMENT": experiment is not None, "--extract": bool(extracts), "--undo": undo}
    both = [name for name, is_given in given.items() if is_given]
    if len(both) > 1:
        raise UserError(f"{both[0]} cannot be used with {both[1]}", hint="use one of them")
    found = load(_in_workspace(workspace, sweep))
    found.check_writable()
    with locked(found.paths.jobs):
        if undo:
            return _undo(found.paths)
        return _reparse(found, _definitions(found, workspace, experiment, extracts))


def _in_workspace(workspace: Workspace, name: str) -> SweepPaths:
    """Return the paths of a sweep. Raise UserError for an archive."""
    if name not in workspace.sweeps() and (name.endswith(SUFFIX) or Path(name).is_file()):
        hint = f"unpack it into the workspace: tar -xzf {name} -C {workspace.root}; then reparse the sweep by its name"
        raise UserError("an archive cannot be changed", where=name, hint=hint)
    return workspace.find(name)


def _undo(paths: SweepPaths) -> int:
    try:
        paths.reparsed.unlink()
    except FileNotFoundError as error:
        raise UserError("the sweep has no extracted metrics to remove", where=paths.name) from error
    err.print(f"{paths.name}: restored the metrics of the runs", soft_wrap=True, markup=False)
    return 0


def _definitions(sweep: Sweep, workspace: Workspace, experiment: str | None, extracts: tuple[str, ...]) -> Definitions:
    """Return the definitions that the options name. Raise UserError if they are not valid, or contain a secret."""
    if extracts:
        current = _current(sweep)
        metrics = {**current.metrics, **{name: _spec(each) for name, each in metrics_of(extracts).items()}}
        checked = {name: Metric.model_validate(_as_yaml(spec)) for name, spec in metrics.items()}
        findings = Findings(Document("--extract", {}, {}, ""))
        check_metrics(checked, list(current.expect), findings)
        if findings.within(()):
            raise findings.error()
        definitions = Definitions(metrics, current.expect)
    else:
        definitions = _of_experiment(_experiment(sweep, workspace, experiment))
    refuse_secrets([dict(definitions.metrics), list(definitions.expect)], "the metrics")
    return definitions


def _current(sweep: Sweep) -> Definitions:
    """Return the definitions of the latest reparse, otherwise those with which the sweep was created."""
    return read(sweep.paths).definitions or _original(sweep)


def _original(sweep: Sweep) -> Definitions:
    experiment = sweep.description["experiment"]
    return Definitions(experiment.get("metrics") or {}, experiment.get("expect") or ())


def _spec(definition: dict[str, Any]) -> dict[str, Any]:
    return Metric.model_validate(definition).model_dump(mode="json")


def _as_yaml(spec: Any) -> dict[str, Any]:
    return {"json" if key == "json_path" else key: value for key, value in spec.items()}


def _experiment(sweep: Sweep, workspace: Workspace, name: str | None) -> Experiment:
    """Return the experiment of a file; by default of the sweep's own, with the overrides of the sweep."""
    if name is not None:
        given = load_yaml(file_in(workspace, "experiments", name))
        return load_experiment(with_csv_files(given, workspace.input_file))
    source = Path(sweep.description.get("source") or "")
    if not source.is_file():
        what = f"experiment file '{source}' not found" if source.name else "the experiment file is unknown"
        hint = f"name the file: hpcbench reparse {sweep.paths.name} EXPERIMENT, or define a metric with --extract"
        raise UserError(what, where=sweep.paths.name, hint=hint)
    try:
        settings = SweepOptions.of(sweep.description).settings
    except ValueError:
        settings = ()
    document = apply_overrides(load_yaml(source), list(settings))
    return load_experiment(with_csv_files(document, copy_or(sweep.paths.jobs, workspace.input_file)))


def _of_experiment(experiment: Experiment) -> Definitions:
    return Definitions(
        {name: metric.model_dump(mode="json") for name, metric in experiment.metrics.items()}, experiment.expect
    )


def _reparse(sweep: Sweep, definitions: Definitions) -> int:
    """Extract the metrics, store them, and print what was found."""
    paths = sweep.paths
    records = read_records(paths, original=True).records
    commands = [record for record in records if can_be_reparsed(record)]
    if not commands:
        raise UserError("no completed run of a command found", where=paths.name, hint="see: hpcbench status")
    kept = {output.key for output in outputs(paths)}
    outcomes = reparsed(paths, records, definitions, _original(sweep))
    before = {key_of(record): record.status for record in read_records(paths).records}
    write(paths, definitions, outcomes)
    overlay = Overlay(definitions, {outcome.key: outcome for outcome in outcomes})
    counted = records_that_count(overlay.applied(records))
    changes = Counter((before[key_of(record)], record.status) for record in counted)
    changed = [f"{plural(n, 'run')} changed from {old} to {new}" for (old, new), n in changes.items() if old != new]
    for line in [*summary(counted, definitions.metrics), *changed]:
        out.print(line, soft_wrap=True, markup=False)
    unkept = sum(key_of(record) not in kept for record in counted)
    if unkept:
        runs = plural(unkept, "run")
        message = f"warning: {runs} without stored output: their values are kept if the definition is unchanged"
        err.print(message, soft_wrap=True, markup=False)
    err.print(f"next: hpcbench report {paths.name}", soft_wrap=True, markup=False)
    return int(any(record.status != COMPLETED or record.metrics_not_found for record in counted))
