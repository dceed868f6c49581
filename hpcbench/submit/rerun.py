"""A sweep that is run again: with what it was made, and what is no longer the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.config.overrides import apply_overrides
from hpcbench.config.site import Site, load_site
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.environments import packages
from hpcbench.environments.resolve import Resolved
from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan
from hpcbench.store.provenance import git
from hpcbench.store.provenance.provenance_files import DIFF, SITE, TEMPLATES, read_provenance
from hpcbench.store.provenance.sweep_options import Asked, Origin
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.script import TEMPLATE
from hpcbench.submit.template import Template
from hpcbench.submit.zipapp import is_of_this_code
from hpcbench.util.bounded_read import content

MOST_NAMED = 5  # packages of one environment
ODD = (LookupError, TypeError, ValueError, AttributeError)  # what files lead to that somebody else has written


@dataclass(frozen=True)
class Again:
    """A sweep, read to be run again."""

    sweep: Sweep
    asked: Asked

    @classmethod
    def of(cls, paths: SweepPaths) -> Again:
        """Raises UserError for a sweep that does not say enough."""
        sweep = load(paths)
        try:
            return cls(sweep, Asked.of(sweep.description))
        except ODD as error:
            what = f"the sweep cannot be run again: {error}"
            hint = "its experiment.yaml lies beside it"
            raise UserError(what, where=str(paths.description), hint=hint) from error

    @property
    def experiment(self) -> Path:
        return self.sweep.paths.jobs / "experiment.yaml"

    def document(self) -> Document:
        """The experiment as it was asked for, with what `--set` said. Raises UserError where it cannot be read."""
        return apply_overrides(load_yaml(self.experiment), list(self.asked.settings))

    @property
    def origin(self) -> Origin:
        archive = self.sweep.paths.archive
        created = str(self.sweep.description.get("created_at"))
        return Origin(self.sweep.paths.name, created, None if archive is None else str(archive))

    def asked_also(self, settings: tuple[str, ...], limit: int | None, local: bool) -> Asked:
        """How the new sweep is asked for: as this one was, and what is said now on top of it."""
        return Asked((*self.asked.settings, *settings), limit or self.asked.limit, local, self.origin)

    def site(self, local: bool) -> Site:
        """The site as it was used; `local` runs here in any case. That of a search in a job calls itself local."""
        site = load_site(load_yaml(self.sweep.paths.jobs / SITE))
        scheduler = "slurm" if self.sweep.is_searched_by_job else site.scheduler
        return site.model_copy(update={"scheduler": "local" if local else scheduler})

    @cached_property
    def _provenance(self) -> dict[str, Any]:
        return read_provenance(self.sweep.paths.jobs)

    @property
    def template(self) -> Path | None:
        """Its workspace's own; None where the shipped one was used, which belongs to the code for the nodes."""
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
        """What is not as it was, in words; `same` where nobody has asked for something else.

        Where `nothing_runs`, packages are not compared: that starts the Pythons that the sweep names.
        Raises UserError where the files of the sweep are not such as hpcbench writes.
        """
        try:
            return list(self._differences(plan, {} if nothing_runs else environments, workspace, same))
        except ODD as error:
            what = f"the sweep cannot be compared with what is here now: {type(error).__name__}: {error}"
            raise UserError(what, where=str(self.sweep.paths.archive or self.sweep.paths.jobs)) from error

    def _differences(
        self, plan: Plan, environments: Mapping[str, Resolved], workspace: Workspace, same: bool
    ) -> Iterator[str]:
        yield from self._of_version()
        yield from self._of_template(workspace)
        yield from self._of_git(workspace.root)
        for name, now in packages.ask(environments).items():
            before = packages.read(self.sweep.paths, name)
            if before is not None:
                yield from _of_packages(name, before, now)
        if same:
            yield from self._of_cases(plan)

    def _of_version(self) -> Iterator[str]:
        before, now = self.sweep.description["hpcbench_version"], hpcbench.__version__
        if before != now:
            yield f"hpcbench was {before} and is {now}"
        elif not is_of_this_code(self.sweep.paths.jobs / "node.pyz"):
            yield f"hpcbench's code for the nodes is not the same, though both are version {now}"

    def _of_template(self, workspace: Workspace) -> Iterator[str]:
        present = Template.find(workspace, TEMPLATE).file.read_bytes()
        before = self.sweep.paths.jobs / TEMPLATES / TEMPLATE
        if not before.is_file() or content(before) == present:
            return
        if self.template:
            yield f"the sweep's own {TEMPLATE} is used; the one that is here now differs from it"
        else:
            yield f"{TEMPLATE} is not the same; the one that is here now is used, which belongs to this hpcbench"

    def _of_git(self, root: Path) -> Iterator[str]:
        before, now = self.sweep.description.get("git"), git.git_state(root)
        if before is None:
            return
        was = f"the workspace was at the git commit {before['commit'][:12]}"
        if now is None:
            yield f"{was}, and this one is no git checkout"
        elif before["commit"] != now["commit"]:
            yield f"{was}, and is at {now['commit'][:12]}"
        elif _text(self.sweep.paths.jobs / DIFF) != getattr(git.changes(root), "diff", ""):
            yield f"{was}, and is, but what is not committed differs: see {DIFF} of each sweep"

    def _of_cases(self, plan: Plan) -> Iterator[str]:
        before = {run.case_id for job in self.sweep.job_names for run in self.sweep.runs(job)}
        now = {case.id for case in plan.cases}
        if before != now:
            yield f"{len(before & now)} of its {len(before)} cases are the same now, and {len(now - before)} are others"


def _text(file: Path) -> str:
    return content(file).decode("utf-8", "surrogateescape") if file.is_file() else ""


def _of_packages(name: str, before: packages.Packages, now: packages.Packages) -> Iterator[str]:
    versions = [{"python": told.get("python"), **told["packages"]} for told in (before, now)]
    changed = [
        f"{package} {versions[0].get(package, 'absent')} -> {versions[1].get(package, 'absent')}"
        for package in sorted(versions[0].keys() | versions[1].keys())
        if versions[0].get(package) != versions[1].get(package)
    ]
    if changed:
        more = len(changed) - MOST_NAMED
        yield f"environment {name}: {', '.join(changed[:MOST_NAMED])}" + (f", and {more} more" if more > 0 else "")
