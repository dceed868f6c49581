"""Run a sweep again: read how it was created, and report what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.config.matrix.csv_file import CsvError, read_text
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.site import Site, load_site
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.environments import packages
from hpcbench.environments.resolve import Resolved
from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan
from hpcbench.store.provenance import git
from hpcbench.store.provenance.input_files import copy_of
from hpcbench.store.provenance.provenance_files import DIFF, SITE, TEMPLATES, read_provenance
from hpcbench.store.provenance.sweep_options import Origin, SweepOptions
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.script import TEMPLATE
from hpcbench.submit.template import Template
from hpcbench.submit.zipapp import is_of_this_code
from hpcbench.util.bounded_read import content

MAX_NAMED = 5  # packages of one environment
_INVALID = (LookupError, TypeError, ValueError, AttributeError)  # errors from files that hpcbench has not written


@dataclass(frozen=True)
class Rerun:
    """A sweep that is run again."""

    sweep: Sweep
    asked: SweepOptions

    @classmethod
    def of(cls, paths: SweepPaths) -> Rerun:
        """Return the rerun of the sweep in a folder. Raise UserError if its description is incomplete."""
        sweep = load(paths)
        try:
            return cls(sweep, SweepOptions.of(sweep.description))
        except _INVALID as error:
            what = f"the sweep cannot be run again: {error}"
            hint = "run the experiment.yaml in the same folder instead"
            raise UserError(what, where=str(paths.description), hint=hint) from error

    @property
    def experiment(self) -> Path:
        """Return the path of the experiment file."""
        return self.sweep.paths.jobs / "experiment.yaml"

    def document(self) -> Document:
        """Return the experiment with `--set` and CSV files of the sweep. Raise UserError if it cannot be read."""
        document = apply_overrides(load_yaml(self.experiment), list(self.asked.settings))
        return with_csv_files(document, partial(copy_of, self.sweep.paths.jobs))

    @property
    def origin(self) -> Origin:
        """Return the name, date and archive of the sweep."""
        archive = self.sweep.paths.archive
        created = str(self.sweep.description.get("created_at"))
        return Origin(self.sweep.paths.name, created, None if archive is None else str(archive))

    def asked_also(self, settings: tuple[str, ...], limit: int | None, local: bool) -> SweepOptions:
        """Return the options of the new sweep: those of this one, and the given ones."""
        return SweepOptions((*self.asked.settings, *settings), limit or self.asked.limit, local, self.origin)

    def site(self, local: bool) -> Site:
        """Return the site of the sweep; with `local`, for this machine. Raise UserError if it cannot be read.

        A search in a Slurm job has a local site; its rerun is a Slurm job again.
        """
        site = load_site(load_yaml(self.sweep.paths.jobs / SITE))
        scheduler = "slurm" if self.sweep.is_searched_by_job else site.scheduler
        return site.model_copy(update={"scheduler": "local" if local else scheduler})

    @cached_property
    def _provenance(self) -> dict[str, Any]:
        return read_provenance(self.sweep.paths.jobs)

    @property
    def template(self) -> Path | None:
        """Return the sweep's own template; None if it used the shipped one, which belongs to the code for the nodes."""
        own = self.sweep.paths.jobs / TEMPLATES / TEMPLATE
        return own if self._provenance.get("own_template") and own.is_file() else None

    def differences(
        self,
        plan: Plan,
        environments: Mapping[str, Resolved],
        workspace: Workspace,
        *,
        same: bool,
        nothing_runs: bool = False,
    ) -> list[str]:
        """Return what has changed since the sweep, as sentences.

        With `same`, i.e. without new options, compare the cases, too. With `nothing_runs`, do not compare packages,
        because that starts the Pythons of the sweep. Raise UserError if a file of the sweep is not valid.
        """
        try:
            return list(self._differences(plan, {} if nothing_runs else environments, workspace, same))
        except _INVALID as error:
            what = f"the sweep cannot be compared with the current setup: {type(error).__name__}: {error}"
            raise UserError(what, where=str(self.sweep.paths.archive or self.sweep.paths.jobs)) from error

    def _differences(
        self, plan: Plan, environments: Mapping[str, Resolved], workspace: Workspace, same: bool
    ) -> Iterator[str]:
        yield from self._version_changes()
        yield from self._template_changes(workspace)
        yield from self._input_changes(workspace)
        yield from self._git_changes(workspace.root)
        for name, now in packages.ask(environments).items():
            before = packages.read(self.sweep.paths, name)
            if before is not None:
                yield from _package_changes(name, before, now)
        if same:
            yield from self._case_changes(plan)

    def _version_changes(self) -> Iterator[str]:
        before, now = self.sweep.description["hpcbench_version"], hpcbench.__version__
        if before != now:
            yield f"hpcbench {before} -> {now}"
        elif not is_of_this_code(self.sweep.paths.jobs / "node.pyz"):
            yield f"hpcbench's code for the nodes differs, although both are version {now}"

    def _template_changes(self, workspace: Workspace) -> Iterator[str]:
        present = Template.find(workspace, TEMPLATE).file.read_bytes()
        before = self.sweep.paths.jobs / TEMPLATES / TEMPLATE
        if not before.is_file() or content(before) == present:
            return
        if self.template:
            yield f"{TEMPLATE} of this workspace differs; the template of the sweep is used"
        else:
            yield f"{TEMPLATE} differs; the current one is used"

    def _input_changes(self, workspace: Workspace) -> Iterator[str]:
        for name, text in self.document().csv_files.items():
            present = workspace.input_file(name)
            if present.is_file() and _csv_text(present) != text:
                yield f"{name} of this workspace differs; the copy in the sweep is used"

    def _git_changes(self, root: Path) -> Iterator[str]:
        before, now = self.sweep.description.get("git"), git.git_state(root)
        if before is None:
            return
        was = f"git commit {before['commit'][:12]}"
        if now is None:
            yield f"{was} -> no git repository"
        elif before["commit"] != now["commit"]:
            yield f"{was} -> {now['commit'][:12]}"
        elif _text(self.sweep.paths.jobs / DIFF) != getattr(git.changes(root), "diff", ""):
            yield f"{was}: uncommitted changes differ; compare {DIFF} of the sweeps"

    def _case_changes(self, plan: Plan) -> Iterator[str]:
        before = {run.case_id for job in self.sweep.job_names for run in self.sweep.runs(job)}
        now = {case.id for case in plan.cases}
        if before != now:
            yield f"cases: {len(before & now)} of {len(before)} are the same, {len(now - before)} are new"


def _text(file: Path) -> str:
    return content(file).decode("utf-8", "surrogateescape") if file.is_file() else ""


def _csv_text(file: Path) -> str | None:
    """Return the text of a CSV file, or None if it cannot be read."""
    try:
        return read_text(file)
    except CsvError:
        return None


def _package_changes(name: str, before: packages.Packages, now: packages.Packages) -> Iterator[str]:
    versions = [{"python": each.get("python"), **each["packages"]} for each in (before, now)]
    changed = [
        f"{package} {versions[0].get(package, 'absent')} -> {versions[1].get(package, 'absent')}"
        for package in sorted(versions[0].keys() | versions[1].keys())
        if versions[0].get(package) != versions[1].get(package)
    ]
    if changed:
        more = len(changed) - MAX_NAMED
        yield f"environment {name}: {', '.join(changed[:MAX_NAMED])}" + (f", and {more} more" if more > 0 else "")
