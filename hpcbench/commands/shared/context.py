"""What the commands share: finding the workspace, the site and the sweep, and the two streams they print to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from hpcbench.config.site import Site, load_site
from hpcbench.config.yaml_document import load_yaml
from hpcbench.errors import UserError, nearest
from hpcbench.store.archive.pack import SUFFIX
from hpcbench.store.archive.unpack import unpacked
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.console import err
from hpcbench.util.package_data import shipped

Command = TypeVar("Command", bound=Callable[..., Any])


def workspace_of(context: click.Context) -> Workspace:
    """The workspace that the command line names. Raises UserError where there is no such folder."""
    root = Path(context.obj).absolute()
    if not root.is_dir():
        raise UserError("there is no such folder", where=str(root), hint="make a workspace: hpcbench init DIR")
    return Workspace(root)


def complete_sweep(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    root = context.find_root().params.get("workspace") or "."
    names = [*Workspace(Path(root).absolute()).sweeps(), "latest"]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@contextmanager
def resumable(sweep: str) -> Iterator[None]:
    """Tells how a sweep goes on that was interrupted, or that something stopped."""
    try:
        yield
    except (KeyboardInterrupt, OSError, UserError) as stopped:
        if "hpcbench resume" in str(stopped):
            raise
        err.print(f"what ran or was submitted is kept; go on with: hpcbench resume {sweep}", soft_wrap=True)
        raise


def sweep_argument(name: str = "sweep", **settings: Any) -> Callable[[Command], Command]:
    """An argument that names a sweep: a name, a unique prefix, or latest."""
    return click.argument(name, shell_complete=complete_sweep, **settings)


def json_option() -> Callable[[Command], Command]:
    """`--json FILE`, or `--json` as the last word, for stdout: the parameter is `json_file`."""
    text = "Write JSON to FILE; to stdout where it is the last word."
    return click.option("--json", "json_file", metavar="[FILE]", is_flag=False, flag_value="-", help=text)


def not_empty(_: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """The callback of an option that names a file or folder. Raises UserError where the name is empty."""
    if name == "":
        raise UserError("the name is empty", where=option.opts[0], hint=f"name a {(option.metavar or 'FILE').lower()}")
    return name


def tell_written(what: str, *files: str | None) -> None:
    """Into which files, of those that were asked for; of stdout nothing is told."""
    for file in files:
        if file and file != "-":
            err.print(f"wrote {what} to {file}", soft_wrap=True, markup=False)


def open_sweep(context: click.Context, workspace: Workspace, name: str) -> SweepPaths:
    """A sweep of the workspace, or the one in an archive, which is unpacked until the command has ended.

    Raises UserError where there is neither.
    """
    file = Path(name)
    if name in workspace.sweeps() or not (file.is_file() or file.name.endswith(SUFFIX) or "/" in name):
        return workspace.find(name)
    if not file.is_file():
        raise UserError("it is a folder" if file.is_dir() else "there is no such file", where=name)
    opened_archives(context).append(file)
    return context.with_resource(unpacked(file))


def opened_archives(context: click.Context) -> list[Path]:
    """The archives that a command has opened so far."""
    opened: list[Path] = context.meta.setdefault("hpcbench.archives", [])
    return opened


def file_in(workspace: Workspace, kind: str, name: str) -> Path:
    """A site or experiment by its path, or by its name in the workspace or among the shipped ones.

    Raises UserError where there is none.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or "/" in name:
        if not path.is_file():
            raise UserError("it is a folder" if path.is_dir() else "there is no such file", where=name)
        return path
    folders = [workspace.root / "configs" / kind, shipped("configs") / kind]
    for folder in folders:
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    known = {path.stem for folder in folders for path in folder.glob("*.yaml")}
    here = [file for file in (f"{name}.yaml", f"{name}.yml") if Path(file).is_file()]
    hint = f"did you mean the file {here[0]}?" if here else nearest(name, known)
    raise UserError(f"no file of configs/{kind} is called '{name}'", hint=hint)


def choose_site(workspace: Workspace, name: str | None, local: bool) -> Site:
    """--site, else HPCBENCH_SITE, else Slurm where it answers, else this machine; `local` runs here in any case."""
    name = name or os.environ.get("HPCBENCH_SITE") or None
    if name:
        site = load_site(load_yaml(file_in(workspace, "sites", name)))
    elif local:
        site = load_site(load_yaml(file_in(workspace, "sites", "laptop")))
    else:
        site = _found_site(workspace)
    return site.model_copy(update={"scheduler": "local"}) if local else site


def _found_site(workspace: Workspace) -> Site:
    from hpcbench.slurm import cluster_query

    if not cluster_query.slurm_responds():
        return load_site(load_yaml(file_in(workspace, "sites", "laptop")))
    own = workspace.root / "configs" / "sites" / f"{cluster_query.cluster_name()}.yaml"
    if own.is_file():
        return load_site(load_yaml(own))
    return Site.model_validate(cluster_query.probe().site)


@contextmanager
def archives_of_anybody() -> Iterator[None]:
    """For commands that may read an archive: the files in it may hold what hpcbench would never write."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        archives = opened_archives(click.get_current_context())
        if not archives:
            raise
        what = f"holds what hpcbench does not write: {type(error).__name__}: {error}"
        raise UserError(what, where=", ".join(map(str, archives))) from error
