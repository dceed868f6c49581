"""Steps of `sweep` and `tune` before anything is written: the plan of an experiment, and the name of its sweep."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import Locate, with_csv_files
from hpcbench.config.names import check_name
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.parameters import Parameters
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import Document
from hpcbench.environments.resolve import Resolved
from hpcbench.errors import UserError
from hpcbench.models.operators.user_file import file_of
from hpcbench.models.source import ONNX
from hpcbench.plan.matrix import count_points
from hpcbench.plan.operator_files import mistakes
from hpcbench.plan.plan import Plan, check_size, make_plan
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.cluster_config import config_of, query_config
from hpcbench.store.provenance.secret_check import refuse_secrets
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.workspace import SweepPaths, Workspace, check_root
from hpcbench.submit.create_sweep import resolved
from hpcbench.submit.inherited_variables import Submission, warning

MOST_POINTS = 100_000
_DIRECTORY, _WEIGHTS = "data directory", "weights"
_IS_THERE = {_DIRECTORY: Path.is_dir, _WEIGHTS: Path.exists}  # other files: Path.is_file
_RELATIVE = "give its path relative to the workspace"


def planned(
    source: Document, asked: SweepOptions, site: Callable[[], Site], locate: Locate, most: int | None = MOST_POINTS
) -> tuple[Plan, Document]:
    """Return the plan of an experiment with the options `asked`, and its document with them, which locates errors.

    `locate` finds the CSV files of the experiment. Choose the site only after the experiment is checked, because that
    may query Slurm. Raise UserError for an error in the experiment, for a secret that would be written, and for more
    than `most` points.
    """
    document = with_csv_files(apply_overrides(source, list(asked.settings)), locate)
    experiment = load_experiment(document)
    if experiment.accept:
        from hpcbench.report.load.acceptance import check_planned  # imports pandas

        check_planned(experiment, document)
    if most is not None:
        points = count_points(experiment)
        check_size(min(points, asked.limit or points), most, document)
    plan = make_plan(experiment, document, site(), asked.limit)
    if experiment.accept:
        from hpcbench.report.load.acceptance import check_tasks, check_units

        check_tasks(plan.cases, experiment, document)
        check_units(plan, experiment, document)
    refuse_secrets([source.text, experiment.model_dump(mode="json")], document.name)
    for name, text in document.csv_files.items():
        refuse_secrets(text, name)
    refuse_secrets(plan.site.model_dump(mode="json"), f"site file of '{plan.site.name}'")
    return plan, document


def placed(
    plan: Plan, workspace: Workspace, name: str | None, *, only_shown: bool, replace: bool | None = None
) -> tuple[SweepPaths, dict[str, Resolved], list[str]]:
    """Return the paths of a new sweep, its environments, and warnings; `replace` is None without the option --replace.

    Raises UserError if the name exists, unless with `replace`, if the workspace or an environment cannot be used, or if
    a file is missing. With `only_shown`, a missing environment or file has a warning instead.
    """
    paths = workspace.paths(sweep_name(workspace, name, plan.experiment.name, replace=replace))
    check_root(workspace.root, plan.site.scheduler)
    environments = resolved(plan, workspace, only_shown=only_shown)
    missing = _missing_files(plan, workspace)
    if missing and not only_shown:
        what, path = missing[0]
        raise UserError(f"{what} '{path.name}' not found", where=str(path), hint=_RELATIVE)
    warnings = [*plan.warnings, *(each.warning for each in environments.values())]
    warnings += [f"{what} '{path}' not found; {_RELATIVE}" for what, path in missing]
    warnings += mistakes(_read_here(plan), workspace.root)
    submissions = (
        Submission(case.parameters.planned(), plan.site.environment(case.environment), case.slurm)
        for case in plan.cases
    )
    return paths, environments, [each for each in (*warnings, warning(submissions, os.environ)) if each]


def _missing_files(plan: Plan, workspace: Workspace) -> list[tuple[str, Path]]:
    """Return kind and path of each file or directory of a case that is missing, unless a container may contain it."""
    found = [(what, workspace.root / path) for each in _read_here(plan) for what, path in _files(each)]
    return [(what, path) for what, path in dict.fromkeys(found) if not _IS_THERE.get(what, Path.is_file)(path)]


def _read_here(plan: Plan) -> list[Parameters]:
    """Return the parameters of all cases whose files are those of this machine, not of a container."""
    return [case.parameters for case in plan.cases if not plan.site.environment(case.environment).container]


def _files(parameters: Parameters) -> Iterator[tuple[str, str]]:
    """Yield kind and path of each file or directory that a case reads."""
    data, source = parameters.data, parameters.source
    if data is not None and data.npz is not None:
        yield "data file", data.npz
    if data is not None and data.imagefolder is not None:
        yield _DIRECTORY, data.imagefolder
    if source is not None and source.kind == ONNX:
        yield "model file", source.name
    operator = file_of(parameters.operator)
    if operator is not None:
        yield "operator file", operator
    if parameters.weights is not None:
        yield _WEIGHTS, parameters.weights


def sweep_name(workspace: Workspace, given: str | None, experiment: str, *, replace: bool | None = None) -> str:
    """Return the name of a new sweep: the given or a generated one.

    Raises UserError if it is invalid, if it exists unless with `replace`, or if it is missing with `replace`.
    """
    if given is None and replace:
        raise UserError("--replace requires --name", hint="add --name NAME")
    if given is None:
        return workspace.new_name(experiment, datetime.datetime.now())
    if given == "latest":
        raise UserError("'latest' is reserved for the latest sweep", where="--name", hint="choose another name")
    try:
        check_name(given)
    except ValueError as error:
        raise UserError(f"'{given}' is not a valid name: {error}", where="--name") from error
    if workspace.paths(given).jobs.exists() and not replace:
        other = "choose another name" if replace is None else "choose another name, or add --replace"
        hint = f"to continue it: hpcbench resume {given}; otherwise {other}"
        raise UserError(f"sweep '{given}' already exists", where=str(workspace.paths(given).jobs), hint=hint)
    return given


def check_slurm(plan: Plan) -> None:
    """Raises UserError if the plan is for Slurm, and sbatch is not available or Slurm does not respond."""
    from hpcbench.submit.slurm_executor import check_available  # submitit, which a dry run does not need

    if plan.site.scheduler == "slurm":
        check_available(plan.site.cluster, plan.site.slurm_conf)
        try:
            config_of(plan.site.cluster)
        except NoAnswerError as error:
            hint = f"nothing was submitted; {error.hint or 'when Slurm responds, try again'}"
            raise NoAnswerError(error.what, hint=hint) from error


def cluster_of(site: Site) -> str | None:
    """Return the name of the Slurm cluster to which a site submits, or None without Slurm or if it does not respond."""
    return query_config(site.cluster).get("ClusterName") if site.scheduler == "slurm" else None
