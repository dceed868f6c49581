"""The configuration of a cluster, as `scontrol show config` prints it."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbench.errors import UserError
from hpcbench.slurm.client import QUERY_TIMEOUT_S, output_of


def config_of(cluster: str | None, timeout_s: float | None = None) -> dict[str, str]:
    """Return the options that `scontrol show config` prints. Raise UserError as client.run does, or if it fails."""
    pairs = (line.partition("=") for line in output_of(["scontrol", "show", "config"], cluster, timeout_s))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def query_config(cluster: str | None = None) -> dict[str, str]:
    """Return the options that `scontrol show config` prints, or an empty dict if it fails."""
    try:
        return config_of(cluster, QUERY_TIMEOUT_S)
    except UserError:
        return {}


def has_accounting(config: Mapping[str, str]) -> bool:
    """Return whether a cluster has accounting: without it, the type is `(null)`, before Slurm 23.11 `.../none`."""
    return not config.get("AccountingStorageType", "").endswith(("none", "(null)"))
