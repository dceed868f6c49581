"""Find the workspace, site and sweep that the command line names; options that several commands have."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from hpcbench.commands.options.completion import complete_set, complete_site, complete_sweep
from hpcbench.config.options.overrides import check_order
from hpcbench.config.shell_defaults import with_shell_defaults
from hpcbench.config.site import Site, load_site
from hpcbench.config.yaml_document import load_yaml
from hpcbench.core.run_spec import COMMAND
from hpcbench.errors import NotFoundError, UserError, closest
from hpcbench.slurm.client import NoAnswerError, using
from hpcbench.store.archive.pack import SUFFIX
from hpcbench.store.archive.unpack import unpacked
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.console import err, print_warning
from hpcbench.util.exit_status import SUCCESS
from hpcbench.util.package_data import shipped

Command = TypeVar("Command", bound=Callable[..., Any])


def workspace_of(context: click.Context) -> Workspace:
    """Return the workspace of the command line. Raises UserError if its folder does not exist."""
    root = Path(context.obj).absolute()
    if not root.is_dir():
        raise UserError(f"directory '{root}' not found", hint="create a workspace: hpcbench init DIR")
    return Workspace(root)


@contextmanager
def resumable(sweep: str, *, here: bool = False) -> Iterator[None]:
    """Print how to resume the sweep, which runs `here` or on Slurm, if its command is interrupted or fails."""
    try:
        yield
    except (KeyboardInterrupt, OSError, UserError) as stopped:
        if "hpcbench resume" in str(stopped):
            raise
        is_interrupted = isinstance(stopped, KeyboardInterrupt)
        if is_interrupted and err.is_terminal:
            err.print()  # the terminal has printed ^C
        kept = "completed runs" if here else "runs and submitted jobs"
        err.print(f"{kept} are kept; to continue: hpcbench resume {sweep}", soft_wrap=True)
        if is_interrupted:  # click would print an empty line
            raise click.exceptions.Abort from stopped
        raise


@contextmanager
def not_done_without_slurm(not_done: str, command: str) -> Iterator[None]:
    """Add what was not done, and the command to repeat, to the error of a Slurm command that fails or times out."""
    try:
        yield
    except NoAnswerError as error:
        to_do = error.hint or f"when Slurm responds, run: {command}"
        raise NoAnswerError(error.what, where=error.where, hint=f"{not_done}; {to_do}") from error


def sweep_argument(name: str = "sweep", **settings: Any) -> Callable[[Command], Command]:
    """Return the argument for a sweep: a name, `latest`, the name of an experiment, or a unique prefix."""
    return click.argument(name, shell_complete=complete_sweep, **settings)


def site_option() -> Callable[[Command], Command]:
    """Return the option `--site`: a site file, or the name of one."""
    default = "[default: HPCBENCH_SITE, then Slurm, then this machine]"
    return click.option(
        "-s",
        "--site",
        metavar="SITE",
        callback=not_empty,
        shell_complete=complete_site,
        help=f"Use this site file, or the one with this name.  {default}",
    )


def set_option() -> Callable[[Command], Command]:
    """Return the option `--set KEY=VALUE`; the parameter is `settings`."""
    text = "Override a parameter or a key of the experiment; may be repeated."

    def in_order(context: click.Context, option: click.Parameter, settings: tuple[str, ...]) -> tuple[str, ...]:
        check_order(settings)
        return settings

    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        callback=in_order,
        shell_complete=complete_set,
        help=text,
    )


def yes_option(text: str) -> Callable[[Command], Command]:
    """Return the option `--yes`, which answers the questions of a command."""
    return click.option("-y", "--yes", is_flag=True, help=text)


def confirm(question: str, yes: bool, hint: str) -> None:
    """Ask a question on the terminal unless `yes`. Raise UserError without a terminal; if the answer is no, exit."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError("confirmation requires a terminal", hint=hint)
    if not click.confirm(question, err=True):
        err.print("nothing was changed")
        raise click.exceptions.Exit(SUCCESS)


def not_empty(_: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """Return the value of an option for a file or folder. Raises UserError if it is empty."""
    if name == "":
        raise UserError("the name is empty", where=option.opts[-1], hint=f"name a {(option.metavar or 'FILE').lower()}")
    return name


def open_sweep(context: click.Context, workspace: Workspace, name: str) -> SweepPaths:
    """Return a sweep of the workspace, or the one in an archive, which is unpacked until the command has ended.

    Raises NotFoundError if neither exists, and UserError if a name has several sweeps, or if a file is not an archive.
    """
    if not is_archive(workspace, name):
        return workspace.find(name)
    file = Path(name)
    if not file.is_file():
        raise _not_a_file(file, "name a sweep of the workspace, or an archive of one")
    opened_archives(context).append(file)
    return context.with_resource(unpacked(file))


def load_sweep(context: click.Context, name: str) -> Sweep:
    """Return a sweep of the workspace. Until the command has ended, Slurm commands use the slurm.conf of its site."""
    sweep = load(workspace_of(context).find(name))
    context.with_resource(using(sweep.slurm_conf))
    return sweep


def is_archive(workspace: Workspace, name: str) -> bool:
    """Return whether a name is that of a file: it exists, or has the suffix of an archive or a slash."""
    if name in workspace.sweeps():
        return False
    file = Path(name)
    return file.is_file() or file.name.endswith(SUFFIX) or ("/" in name and "=" not in name)


def opened_archives(context: click.Context) -> list[Path]:
    """Return the archives that a command has opened so far."""
    opened: list[Path] = context.meta.setdefault("hpcbench.archives", [])
    return opened


def file_in(workspace: Workspace, kind: str, name: str) -> Path:
    """Return the file of a site or experiment, given by path or by name in the workspace or among the shipped ones.

    Raises UserError if it does not exist.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or "/" in name:
        if not path.is_file():
            raise _not_a_file(path, f"name a YAML file, or one in configs/{kind} without its suffix")
        return path
    folders = config_folders(workspace, kind)
    for folder in folders:
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    known = {path.stem for folder in folders for path in folder.glob("*.yaml")}
    here = [file for file in (f"{name}.yaml", f"{name}.yml") if Path(file).is_file()]
    hint = f"did you mean the file {here[0]}?" if here else closest(name, known)
    hint = hint or f"name a YAML file, or one of: {', '.join(sorted(known))}"
    raise UserError(f"{kind.removesuffix('s')} '{name}' not found", hint=hint)


def _not_a_file(path: Path, hint: str) -> UserError:
    if path.is_dir():
        return UserError(f"'{path}' is a directory", hint=hint)
    return NotFoundError(f"'{path}' not found", hint=hint)


def config_folders(workspace: Workspace, kind: str) -> list[Path]:
    """Return the folders of the sites or experiments of the workspace and of the shipped ones."""
    return [workspace.root / "configs" / kind, shipped("configs") / kind]


def choose_site(workspace: Workspace, name: str | None, local: bool) -> Site:
    """Return the site of --site, HPCBENCH_SITE, Slurm if it responds, or this machine; `local` always runs here.

    Until the command has ended, Slurm commands use the slurm.conf of the site. Print which variables of the shell have
    an effect.
    """
    name = name or os.environ.get("HPCBENCH_SITE") or None
    if name:
        site = _site_in(workspace, file_in(workspace, "sites", name))
    elif local:
        site = _site_in(workspace, file_in(workspace, "sites", "laptop"))
    else:
        site = _found_site(workspace)
    if local:
        return site.model_copy(update={"scheduler": "local"})
    site, notes = with_shell_defaults(site, os.environ)
    for note in notes:
        err.print(note, soft_wrap=True, markup=False)
    click.get_current_context().with_resource(using(site.slurm_conf))
    return site


def _found_site(workspace: Workspace) -> Site:
    from hpcbench.slurm import cluster_query

    if not cluster_query.slurm_responds():
        _warn_of_slurm_sites(workspace)
        return _site_in(workspace, file_in(workspace, "sites", "laptop"))
    own = workspace.root / "configs" / "sites" / f"{cluster_query.cluster_name()}.yaml"
    if own.is_file():
        return _site_in(workspace, own)
    return Site.model_validate(cluster_query.probe().site)


def _warn_of_slurm_sites(workspace: Workspace) -> None:
    """Print a warning if all site files of the workspace are for Slurm, which this shell does not find."""
    files = sorted((workspace.root / "configs" / "sites").glob("*.yaml"))
    if files and all(map(_is_of_slurm, files)):
        what = "Slurm is not configured in this shell, so this machine is used"
        print_warning(f"{what}; to use the site of {files[0]}: --site {files[0].stem}")


def _is_of_slurm(file: Path) -> bool:
    """Return whether a site file is for Slurm; False if it cannot be read, since it may not be needed."""
    try:
        return load_yaml(file).data.get("scheduler") == "slurm"
    except UserError:
        return False


def _site_in(workspace: Workspace, file: Path) -> Site:
    """Return the checked site of a file. Raise UserError if it is not valid."""
    from hpcbench.environments.recipes import recipe_files

    return load_site(load_yaml(file), {COMMAND, *recipe_files(workspace)})


@contextmanager
def archives_of_anybody() -> Iterator[None]:
    """Turn errors of reading into UserErrors if an archive was read: its files may have any content."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        archives = opened_archives(click.get_current_context())
        if not archives:
            raise
        what = f"the archive has unexpected content: {type(error).__name__}: {error}"
        hint = "create it again: hpcbench archive SWEEP"
        raise UserError(what, where=", ".join(map(str, archives)), hint=hint) from error
