"""hpcbench init: create a workspace with examples and a site file of the cluster."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import yaml

from hpcbench.commands.options.parameter_option import parameter_option
from hpcbench.commands.shared.json_schema import KINDS, SCHEMAS, json_schema_text, schema_comment
from hpcbench.config.options.command_experiment import axes_of
from hpcbench.config.options.scaffold import Scaffold, scaffold
from hpcbench.config.site import Site
from hpcbench.errors import UserError
from hpcbench.slurm import cluster_query
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.package_data import shipped

IGNORED = "jobs/\nresults/\nenvs/\n"

EPILOG = """\b
Examples:
  hpcbench init my-study
  cd my-study && hpcbench sweep quickstart
  hpcbench init --command 'python train.py --bs {batch_size}' -P batch_size=32,64
""" + exit_statuses()


@click.command("init", epilog=EPILOG)
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path(file_okay=False))
@click.option(
    "--command",
    metavar="COMMAND",
    help="Write an experiment for this line of bash, instead of the examples. {NAME} in it is a parameter. "
    "The command runs in DIR.",
)
@parameter_option()
def init_command(directory: str, command: str | None, parameters: tuple[str, ...]) -> int:
    """Make DIR a workspace with examples and a site file of this cluster or machine.

    Existing files are not changed, except the schemas for editors in configs/schemas.
    """
    if parameters and command is None:
        raise UserError("-P requires --command", hint='e.g. --command "python train.py --bs {batch_size}"')
    program = None if command is None else scaffold(command, axes_of(parameters))
    root = Path(directory).absolute()
    for folder in ("jobs", "results", "configs/sites", "configs/experiments", SCHEMAS):
        (root / folder).mkdir(parents=True, exist_ok=True)
    _write(root / ".gitignore", IGNORED)
    _update_schemas(root)
    if program is None:
        _copy_examples(root)
    if _slurm_responds(directory):
        _site_of_cluster(root)
    else:
        err.print("Slurm not found: sweeps will run on this machine")
        _copy(shipped("configs") / "sites" / "laptop.yaml", root / "configs" / "sites" / "laptop.yaml")
    if program is None:
        _print_next(root, "", "hpcbench sweep quickstart --dry-run")
    else:
        _write_program(root, program)
    return 0


def _copy_examples(root: Path) -> None:
    for kind in ("experiments", "programs"):  # the experiments run these programs
        (root / "configs" / kind).mkdir(exist_ok=True)
        for example in sorted((shipped("configs") / kind).glob("*.*")):
            _copy(example, root / "configs" / kind / example.name)


def _write_program(root: Path, program: Scaffold) -> None:
    """Write the experiment of a command, and print what it lacks and the next step."""
    file = root / "configs" / "experiments" / f"{program.name}.yaml"
    _write(file, schema_comment("experiment", file) + program.text)
    for word in program.words:
        if not Path(word).is_absolute() and Path(word).is_file() and not (root / word).exists():
            print_warnings([f"{word} is not in {root}, where the command runs: copy it, or give its absolute path"])
    missing = f"add the values of {', '.join(program.missing)} in {file}; then " if program.missing else ""
    _print_next(root, missing, f"hpcbench sweep {program.name} --dry-run")


def _print_next(root: Path, first: str, command: str) -> None:
    change = "" if root == Path.cwd() else f"cd {shlex.quote(str(root))} && "
    out.print(f"next: {first}{change}{command}", soft_wrap=True, markup=False)


def _slurm_responds(directory: str) -> bool:
    """Return whether Slurm is found. If it does not respond, raise UserError with the command that adds a site file."""
    try:
        return cluster_query.slurm_responds()
    except UserError as error:
        hint = f"no site file was written; run `hpcbench init {shlex.quote(directory)}` again when Slurm responds"
        raise UserError(error.what, hint=hint) from error


def _site_of_cluster(root: Path) -> None:
    found = cluster_query.probe()
    Site.model_validate(found.site)
    file = root / "configs" / "sites" / f"{found.site['name']}.yaml"
    _write(file, schema_comment("site", file) + _site_text(found.site, found.unknown))
    for missing in found.unknown:
        err.print(f"unknown: {missing}", markup=False)
    err.print("next, for a framework: hpcbench env build pytorch; or name modules, a container or a Python")
    err.print(f"under `environments` in {file}", soft_wrap=True, markup=False)


def _site_text(site: dict[str, Any], unknown: list[str]) -> str:
    lines = [f"# The cluster {site['name']}, as sinfo, scontrol and sacctmgr describe it."]
    lines += [f"# Unknown: {missing}" for missing in unknown]
    lines += ["# environments: frameworks that `hpcbench env build` does not build, for example"]
    lines += ["#   pytorch: {modules: [python/3.11], python: /home/me/envs/pytorch/bin/python}", ""]
    return "\n".join(lines) + yaml.safe_dump(site, sort_keys=False, default_flow_style=None, width=100)


def _update_schemas(root: Path) -> None:
    """Write the schemas of this version of hpcbench, with which editors check the files of the workspace."""
    for kind in KINDS:
        file = root / SCHEMAS / f"{kind}.json"
        text = json_schema_text(kind)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            err.print(f"wrote {file}", soft_wrap=True, markup=False)


def _write(file: Path, text: str) -> None:
    if file.exists():
        err.print(f"kept {file}", soft_wrap=True, markup=False)
    else:
        file.write_text(text, encoding="utf-8")
        err.print(f"wrote {file}", soft_wrap=True, markup=False)


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        err.print(f"kept {target}", soft_wrap=True, markup=False)
    else:
        shutil.copyfile(source, target)
        err.print(f"wrote {target}", soft_wrap=True, markup=False)
