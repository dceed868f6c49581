"""A cluster whose Slurm answers well, to be changed by each test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.config.site import Site
from hpcbench.slurm.cluster_query import Association, Cluster, Nodes

CONFIG = {
    "ClusterName": "big",
    "SLURM_VERSION": "24.05.1",
    "AccountingStorageEnforce": "associations,limits,qos,safe",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AcctGatherEnergyType": "acct_gather_energy/ipmi",
    "AcctGatherNodeFreq": "30 sec",
    "MaxArraySize": "1001",
    "SelectType": "select/cons_tres",
    "TaskPlugin": "task/cgroup,task/affinity",
}
PARTITIONS = {"cpu": {"default": True, "max_time": "1-00:00:00"}, "gpu": {"gpus_per_node": 4}}
LIMITS = {"max_array_size": 1001, "max_submit_jobs": 100}


def make_site(**sections: Any) -> Site:
    content = {"name": "big", "scheduler": "slurm", "partitions": PARTITIONS, "limits": LIMITS, **sections}
    return Site.model_validate(content)


@pytest.fixture
def site() -> Callable[..., Site]:
    """A site file; these sections replace its own."""
    return make_site


@pytest.fixture
def cluster() -> Callable[..., Cluster]:
    """A cluster; these settings replace those of `scontrol show config`, the others its own fields."""

    def make(config: dict[str, str] | None = None, **fields: Any) -> Cluster:
        usual = {
            "site": make_site(),
            "nodes": {"cpu": Nodes(10, 9, "EXCLUSIVE"), "gpu": Nodes(2, 2, "EXCLUSIVE")},
            "associations": (Association("proj1", "normal", ("long", "normal"), 100),),
            "sacct_responds": True,
        }
        return Cluster({**CONFIG, **(config or {})}, **{**usual, **fields})

    return make
