"""The kernels of compiled networks whose list has the operators of eager mode.

TorchInductor generates one kernel for neighbouring row-wise operators of equal size [1]. A list is in the order of
first calls, so that neighbours of equal size and number of calls are taken as one chain. Products stay library calls.

[1] J. Ansel et al., "PyTorch 2: faster machine learning through dynamic Python bytecode transformation and graph
compilation", ASPLOS 2024, section 4.4.
"""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables import operators as table

_SUFFIX = " compiled"
_FUSED = (table.POINTWISE, table.SOFTMAX, table.LAYER_NORM, table.BATCH_NORM)


def as_compiled(networks: pd.DataFrame, lists: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the networks and lists; compiled networks have lists of their own, in which chains are fused.

    Lists that already have fused kernels are not changed.
    """
    fused = set(lists.loc[lists["fused_node"] != "", "list_id"])
    compiled = (networks["execution"] == network_table.COMPILED) & ~networks["list_id"].isin(list(fused))
    wanted = lists[lists["list_id"].isin(list(networks.loc[compiled, "list_id"].unique()))]
    if wanted.empty:
        return networks, lists
    renamed = networks["list_id"].mask(compiled, networks["list_id"] + _SUFFIX)
    chained = wanted.assign(fused_node=chains(wanted), list_id=wanted["list_id"] + _SUFFIX)
    return networks.assign(list_id=renamed), pd.concat([lists, chained], ignore_index=True)


def chains(lists: pd.DataFrame) -> pd.Series:
    """Return the name of the fused kernel of each row of lists; empty for rows that stay alone."""
    fusible = lists["kind"].isin(_FUSED)
    size = lists["rows"] * lists["columns"]
    key = pd.DataFrame({"list": lists["list_id"], "phase": lists["phase"], "size": size, "calls": lists["calls"]})
    same = (key == key.shift()).all(axis=1) & fusible
    number = (~same).cumsum()
    chained = fusible & (number.map(number.value_counts()) > 1)
    return ("chain " + number.astype(str)).where(chained, "")
