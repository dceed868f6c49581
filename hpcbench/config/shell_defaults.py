"""Variables of sbatch in the user's shell, such as SBATCH_ACCOUNT, as defaults of the `slurm` section.

hpcbench starts sbatch without these variables, since they would override the options of job scripts: sbatch(1), INPUT
ENVIRONMENT VARIABLES. Many sites ask users to set those for account, partition, QOS, reservation or constraint.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from hpcbench.config.site import Site, variable_of
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.validation.findings import first_message
from hpcbench.errors import UserError

_DEFAULTS = ("account", "partition", "qos", "reservation", "constraint")
_CLUSTERS = "SBATCH_CLUSTERS"  # submit/slurm_executor.py checks it


def with_shell_defaults(site: Site, variables: Mapping[str, str]) -> tuple[Site, list[str]]:
    """Return the site with the defaults from the variables of a shell, and notes on which variables have an effect.

    The site file takes precedence, also over SLURM_CONF. Raise UserError if the value of a variable is not valid.
    """
    if site.scheduler != "slurm":
        return site, []
    given = {name: value for name, value in sorted(variables.items()) if name.startswith("SBATCH_") and value}
    defaults: dict[str, str] = {}
    notes = []
    for option in _DEFAULTS:
        name = variable_of(option)
        value = given.pop(name, None)
        if value is None:
            continue
        if (own := getattr(site.slurm, option)) is not None:
            notes.append(f"{name}={value} has no effect: the site file sets slurm.{option}: {own}")
            continue
        defaults[option] = _checked(name, option, value)
        notes.append(f"{name}={value} is the default of slurm.{option}")
    conf = variables.get("SLURM_CONF")
    if site.slurm_conf is not None and conf and conf != site.slurm_conf:
        notes.append(f"SLURM_CONF={conf} has no effect: the site file sets slurm_conf: {site.slurm_conf}")
    given.pop(_CLUSTERS, None)
    if given:
        notes.append(f"no effect: {', '.join(given)}; set these options under `slurm:`")
    return site.with_shell_defaults(defaults), notes


def _checked(name: str, option: str, value: str) -> str:
    try:
        SlurmOptions.model_validate({option: value})
    except ValidationError as error:
        what = f"'{value}' is not valid: {first_message(error)}"
        raise UserError(what, where=f"{name} in the shell", hint=f"unset {name}") from error
    return value
