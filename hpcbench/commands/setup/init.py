"""hpcbench init: create a workspace with examples and a site file of the cluster."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click
import yaml

from hpcbench.commands.options.parameter_option import parameter_option
from hpcbench.commands.setup.new_files import NewFiles
from hpcbench.commands.shared.json_schema import KINDS, SCHEMAS, json_schema_text, schema_comment
from hpcbench.config.options.parameter_values import axes_of
from hpcbench.config.options.scaffold import Scaffold, scaffold
from hpcbench.config.site import Site
from hpcbench.errors import UserError
from hpcbench.slurm import cluster_query
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.package_data import shipped

_ENVIRONMENTS = """# The environment of each framework: modules, a container or a Python interpreter, for example:
# environments:
#   pytorch: {modules: [pytorch/2.13]}
"""
IGNORED = "jobs/\nresults/\nenvs/\n"

EPILOG = """\b
Examples:
  hpcbench init my-study
  cd my-study && hpcbench sweep quickstart
  hpcbench init --command 'python3 train.py --bs {batch_size}' -P batch_size=32,64
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
    """Make DIR a workspace with examples and a site file for this cluster or machine.

    Existing files are not changed, except the schemas for editors in configs/schemas.
    """
    if parameters and command is None:
        raise UserError("-P requires --command", hint='e.g. --command "python3 train.py --bs {batch_size}"')
    program = None if command is None else scaffold(command, axes_of(parameters))
    root = Path(directory).absolute()
    for folder in ("jobs", "results", "configs/sites", "configs/experiments", SCHEMAS):
        (root / folder).mkdir(parents=True, exist_ok=True)
    files = NewFiles()
    files.write(root / ".gitignore", IGNORED)
    _update_schemas(root, files)
    if program is None:
        _copy_examples(root, files)
    files.print()
    if _slurm_responds(directory):
        _site_of_cluster(root, files)
    else:
        err.print("Slurm not found: sweeps will run on this machine")
        _copy(shipped("configs") / "sites" / "laptop.yaml", root / "configs" / "sites" / "laptop.yaml", files)
        files.print()
    if program is None:
        _print_next(root, "", "hpcbench sweep quickstart --dry-run")
    else:
        _write_program(root, program, files)
    return 0


def _copy_examples(root: Path, files: NewFiles) -> None:
    for kind in ("experiments", "programs", "data"):  # the experiments run these programs, and read these data
        folder = shipped("configs") / kind
        for example in sorted(folder.rglob("*")):
            if example.is_file() and example.parent.name != "__pycache__":
                _copy(example, root / "configs" / kind / example.relative_to(folder), files)


def _write_program(root: Path, program: Scaffold, files: NewFiles) -> None:
    """Write the experiment of a command, and print what it lacks and the next step."""
    file = root / "configs" / "experiments" / f"{program.name}.yaml"
    files.write(file, schema_comment("experiment", file) + program.text)
    files.print()
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


def _site_of_cluster(root: Path, files: NewFiles) -> None:
    found = cluster_query.probe()
    first = {"name": found.site["name"], "scheduler": found.site["scheduler"]}
    site = {**first, **_slurm_conf_of_shell(), **found.site}
    Site.model_validate(site)
    file = root / "configs" / "sites" / f"{site['name']}.yaml"
    files.write(file, schema_comment("site", file) + _site_text(site, found.unknown))
    files.print()
    for missing in found.unknown:
        err.print(f"unknown: {missing}", markup=False)
    err.print("to add a framework: hpcbench env build pytorch", soft_wrap=True, markup=False)
    err.print(f"or name its module, container or Python: {file}, key `environments`", soft_wrap=True, markup=False)


def _slurm_conf_of_shell() -> dict[str, str]:
    """Return SLURM_CONF as a key of the site file, since later shells may not set it; nothing within a job of Slurm.

    Slurm sets the variable in its jobs, and it may name a copy that exists only on the node.
    """
    conf = os.environ.get("SLURM_CONF")
    return {"slurm_conf": str(Path(conf).absolute())} if conf and "SLURM_JOB_ID" not in os.environ else {}


def _site_text(site: dict[str, Any], unknown: list[str]) -> str:
    lines = [f"# The cluster {site['name']}, as sinfo, scontrol and sacctmgr describe it."]
    lines += [f"# Unknown: {missing}" for missing in unknown]
    written = yaml.safe_dump(site, sort_keys=False, default_flow_style=None, width=100)
    return "\n".join([*lines, written + _ENVIRONMENTS])


def _update_schemas(root: Path, files: NewFiles) -> None:
    """Write the schemas of this version of hpcbench, with which editors check the files of the workspace."""
    for kind in KINDS:
        files.write(root / SCHEMAS / f"{kind}.json", json_schema_text(kind), replace=True)


def _copy(source: Path, target: Path, files: NewFiles) -> None:
    files.write(target, source.read_bytes())
