"""Render the Jinja templates of scripts. Templates of a workspace get plain data, and limited time and memory."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

import hpcbench
from hpcbench.errors import UserError
from hpcbench.store.provenance.secret_check import refuse_secrets
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util import limits
from hpcbench.util.package_data import shipped

OF_FOLLOW_ON = "follow-on.sh.j2"
OF_SEARCH = "search.sh.j2"
MAX_S = 10.0
MAX_TEXT = 4 * 2**20  # Slurm's limit of a script (max_script_size in slurm.conf(5))
MAX_MEMORY = 256 * 2**20


def quoted(value: object) -> str:
    """Return a value as one shell word. Raise ValueError if it contains a NUL character."""
    text = str(value)
    if "\0" in text:
        raise ValueError("a value contains a NUL character")
    return shlex.quote(text)


@dataclass(frozen=True)
class Template:
    """A template of a script. Its filter `sh` turns a value into one shell word."""

    file: Path

    @classmethod
    def find(cls, workspace: Workspace, name: str) -> Template:
        """Return the workspace's template with this name, or the shipped one if the workspace has none."""
        own = workspace.root / "templates" / name
        return cls(own if own.is_file() else shipped("templates") / name)

    @property
    def is_own(self) -> bool:
        """Return whether the template is not a shipped one."""
        return self.file.parent != shipped("templates")

    def render(self, **values: Any) -> str:
        """Return the script. Raise UserError if rendering fails or exceeds a limit of time or size."""
        parts, size = [], 0
        try:
            with limits.deadline(MAX_S), limits.memory(MAX_MEMORY):
                for part in self._compiled.generate({name: _plain(value) for name, value in values.items()}):
                    size += len(part)
                    if size > MAX_TEXT:
                        raise ValueError(f"the script is larger than {MAX_TEXT // 2**20} MB")
                    parts.append(part)
        except UserError:
            raise
        except Exception as error:  # a workspace's template can raise any exception
            why = "it exceeds the memory limit" if isinstance(error, MemoryError) else error
            raise UserError(f"the template cannot be rendered: {why}", where=str(self.file)) from error
        script = "".join(parts)
        refuse_secrets(script, str(self.file))
        return script

    @cached_property
    def _compiled(self) -> jinja2.Template:
        sandbox = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader(self.file.parent),
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        sandbox.filters["sh"] = quoted
        try:
            return sandbox.get_template(self.file.name)
        except (jinja2.TemplateError, OSError) as error:
            raise UserError(f"the template cannot be read: {error}", where=str(self.file)) from error


def script_of_hpcbench(name: str, paths: SweepPaths, options: Sequence[str], workspace: Workspace) -> str:
    """Return the script of a job that runs hpcbench. Raise UserError if its template cannot be rendered."""
    return Template.find(workspace, name).render(
        version=hpcbench.__version__,
        options=options,
        sweep=paths.name,
        python=sys.executable,
        workspace=workspace.root,
    )


def _plain(value: Any) -> Any:
    """Return a value without methods that have effects: a path could write files."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    return str(value) if isinstance(value, Path) else value
