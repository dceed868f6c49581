"""Completion of arguments and options in a shell. An error completes nothing: the user is typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from hpcbench.core.metrics.value import better
from hpcbench.store.workspace import SweepPaths, Workspace

Finder = Callable[[click.Context, str], Iterable[str]]
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
FILE_SUFFIXES = (".yaml", ".yml")
SET_SECTIONS = ("parameters", "matrix", "measure", "slurm")
LIKE_TUNE = ("throughput", "time")  # the built-in metrics of `tune` and `history`


def completer(find: Finder, *, or_files: bool = False) -> Completer:
    """Return a function for click that completes with the words of `find`; if none fits, with files if `or_files`."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words: dict[str, None] = {}
        with suppress(Exception):  # any message would be printed into the line that the user is typing
            words.update((word, None) for word in find(context, incomplete) if word.startswith(incomplete))
        found = [CompletionItem(word) for word in words]
        return found or ([CompletionItem(incomplete, type="file")] if or_files else [])

    return complete


def workspace_of_completion(context: click.Context) -> Workspace:
    """Return the workspace of the command line that is being completed."""
    return Workspace(Path(context.find_root().params.get("workspace") or ".").absolute())


def _arguments(context: click.Context) -> list[str]:
    """Return the arguments before the cursor. click leaves them in `args` if the option at the cursor has no value."""
    given = next((context.params[name] for name in ("words", "sweep", "experiment") if context.params.get(name)), ())
    return [given] if isinstance(given, str) else list(given or context.args)


def _sweeps(context: click.Context, incomplete: str) -> Iterator[str]:
    sweeps = workspace_of_completion(context).experiments()
    yield from reversed(sweeps)
    yield from sorted(set(sweeps.values()))
    yield "latest"


def _in_configs(kind: str) -> Finder:
    """Return a finder of the names of files in configs/KIND, own and shipped, and of YAML files in this folder."""

    def find(context: click.Context, incomplete: str) -> Iterator[str]:
        from hpcbench.commands.shared.context import config_folders

        folders = config_folders(workspace_of_completion(context), kind)
        yield from sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})
        yield from sorted(file.name for file in Path().iterdir() if file.suffix in FILE_SUFFIXES)

    return find


def _cases(context: click.Context, incomplete: str) -> Iterator[str]:
    """Yield sweeps if no argument is complete; IDs of cases and KEY=VALUE of axes of the sweep that is named."""
    words = _arguments(context)
    if not words and "words" in context.params:
        yield from _sweeps(context, incomplete)
    yield from _words_of_cases(workspace_of_completion(context), words[0] if words else "latest")


def _words_of_cases(workspace: Workspace, name: str) -> Iterator[str]:
    from hpcbench.models.optimizers import OWN_COLUMNS
    from hpcbench.report.terminal.status_summary import value_of
    from hpcbench.store.sweep import load

    sweep = load(_paths(workspace, name))
    runs = [run for job in sweep.job_names for run in sweep.runs(job)]
    yield from (run.case_id for run in runs)
    for axis in sweep.description["axes"]:
        if "." not in axis or axis == "optimizer.learning_rate":  # other dotted names have no column
            columns = OWN_COLUMNS if axis == "optimizer" else ()
            values = (value_of(run, axis, *columns) for run in runs)
            yield from (f"{axis}={value}" for value in values if value is not None)


def _paths(workspace: Workspace, name: str) -> SweepPaths:
    """Return the sweep that a word names; the latest one if it names none."""
    matches = workspace.matching(name) or workspace.matching("latest")
    return workspace.paths(matches[0])


def _metrics(context: click.Context, incomplete: str) -> Iterator[str]:
    if context.info_name == "report":
        from hpcbench.analysis.cases.quantities import QUANTITIES, short_column

        yield from map(short_column, QUANTITIES)
    else:
        yield from LIKE_TUNE
    for metric, directed in _metrics_of_experiment(context):
        yield from [metric] if directed else [f"{metric}:higher", f"{metric}:lower"]


def _metrics_of_experiment(context: click.Context) -> Iterator[tuple[str, bool]]:
    """Yield the metrics of the experiment or sweeps on the command line, and whether the better direction is known."""
    for name in _named(context):
        for metric, described in (_experiment(context, name).get("metrics") or {}).items():
            spec = {"better": described.get("better"), "unit": described.get("unit") or ""}
            yield metric, better(spec) is not None


def _named(context: click.Context) -> list[str]:
    return _arguments(context) or ["latest"]


def _experiment(context: click.Context, name: str) -> dict[str, Any]:
    """Return the experiment in a file, or of a sweep."""
    from hpcbench.commands.shared.context import file_in
    from hpcbench.config.yaml_document import load_yaml
    from hpcbench.store.sweep import load

    workspace = workspace_of_completion(context)
    matches = workspace.matching(name)
    if context.info_name in ("report", "history") and matches:
        experiment: dict[str, Any] = load(workspace.paths(matches[0])).description["experiment"]
        return experiment
    return load_yaml(file_in(workspace, "experiments", name)).data


def _set_keys(context: click.Context, incomplete: str) -> Iterator[str]:
    from hpcbench.config.experiment import OPTIONS, Measure
    from hpcbench.config.parameters import NAMES
    from hpcbench.config.slurm_options import SlurmOptions
    from hpcbench.config.workload.nested import DOTTED

    named = _arguments(context)
    experiment = _experiment(context, named[0]) if named else {}
    own = [*(experiment.get("matrix") or {}), *(experiment.get("parameters") or {})]
    parameters = [*own, *sorted(NAMES), *sorted(DOTTED), *sorted(f"model_options.{name}" for name in OPTIONS)]
    keys = dict(
        zip(SET_SECTIONS, (parameters, parameters, Measure.model_fields, SlurmOptions.model_fields), strict=True)
    )
    section = incomplete.partition(".")[0]
    if "." in incomplete and section in keys:
        yield from (f"{section}.{key}=" for key in keys[section])
    else:
        yield from (f"{key}=" for key in parameters)
        yield from (f"{section}." for section in SET_SECTIONS)


def _devices(context: click.Context, incomplete: str) -> Iterator[str]:
    """Yield the devices, hosts and types of nodes that may follow the last comma."""
    from hpcbench.config.devices.load import load_devices
    from hpcbench.store.machine_peaks import node_type, read_peaks

    workspace = workspace_of_completion(context)
    machines = read_peaks(workspace, lambda message: None)
    hosts = {host for machine in machines for host in machine.hosts}
    before, comma, _ = incomplete.rpartition(",")
    names = {*load_devices(workspace.device_files), *map(node_type, machines), *hosts} - {*before.split(",")}
    yield from (f"{before}{comma}{name}" for name in sorted(names))


complete_sweep = completer(_sweeps, or_files=True)
complete_experiment = completer(_in_configs("experiments"), or_files=True)
complete_site = completer(_in_configs("sites"), or_files=True)
complete_case = completer(_cases)
complete_sweep_or_case = completer(_cases, or_files=True)
complete_metric = completer(_metrics)
complete_set = completer(_set_keys)
complete_devices = completer(_devices)
