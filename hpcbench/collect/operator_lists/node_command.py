"""The command that starts the node code in the environment of a framework, on this machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hpcbench.config.site import Environment
from hpcbench.environments.resolve import Resolved
from hpcbench.errors import UserError
from hpcbench.submit.container import ContainerNeeds, container_command

# As in templates/job.sh.j2: this shell may not have `module` yet.
_MODULES = """for file in "${MODULESHOME:-}/init/bash" /etc/profile /usr/share/{lmod/lmod,modules,Modules}/init/bash; do
  type module >/dev/null 2>&1 && break
  [ ! -r "$file" ] || . "$file"
done"""
_FOREIGN = ("PYTHONPATH", "PYTHONHOME")  # packages of another Python


class NodeCommand(NamedTuple):
    """The words of a command, and its environment variables."""

    words: Sequence[str]
    variables: Mapping[str, str]


def node_command(resolved: Resolved, zipapp: Path, arguments: Sequence[str], folders: Sequence[str]) -> NodeCommand:
    """Return the command that runs node.pyz with `arguments`. A container mounts the `folders`, the workspace first.

    Raise UserError for a container that only srun starts.
    """
    environment = resolved.environment
    variables = {**os.environ, **environment.env}
    words = [resolved.python, "-Es", str(zipapp), *arguments]
    if environment.container is not None:
        if environment.container.runtime == "pyxis":
            raise UserError("the environment is a container of pyxis, which requires srun")
        needs = ContainerNeeds(tuple(folders), environment.env, gpus=False)
        container = container_command(environment.container, needs)
        words, variables = [*container.prefix, *words], {**variables, **container.variables}
    if not (environment.modules or environment.setup):
        variables = {name: value for name, value in variables.items() if name not in _FOREIGN}
    lines = _set_up(environment)
    return NodeCommand(["bash", "-c", "\n".join([*lines, 'exec "$@"']), "bash", *words] if lines else words, variables)


def _set_up(environment: Environment) -> list[str]:
    """Return the shell lines that load the modules of an environment and set it up."""
    lines = [f"module use {shlex.quote(path)}" for path in environment.module_paths]
    lines += [f"module load {shlex.quote(name)}" for name in environment.modules]
    lines = [_MODULES, "set -e", *lines] if lines else []
    return [*lines, "set -e", *environment.setup] if environment.setup else lines
