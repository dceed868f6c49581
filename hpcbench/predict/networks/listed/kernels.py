"""The kernels that the operators of a list launch: views launch none, and fused operators launch one together."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.tables import operators as table

_VIEW_ELEMENTS = 4  # a copy of so few numbers is a view: it changes shapes and launches nothing
# The member that determines the cost of a fused kernel: a product, then a reduction, then the largest of the others.
_ORDER = {
    **dict.fromkeys(
        (
            *(table.CONV, table.CONV_INPUT_GRADIENT, table.CONV_WEIGHT_GRADIENT),
            *(table.GEMM, table.BATCHED_GEMM, table.ATTENTION, table.ATTENTION_DECODE, table.RNN),
        ),
        0,
    ),
    **dict.fromkeys((table.SOFTMAX, table.LAYER_NORM, table.BATCH_NORM, table.POOLING, table.REDUCTION), 1),
}
_POINTWISE_ORDER = 2


def kernels(lists: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kernel of the lists, with the columns of the table of lists.

    Members of a fused kernel share their tensors: intermediate results stay in registers, and each input is read once
    (NeuSight, ASPLOS 2025, section 4.5; TorchInductor fuses in the same way). The fused kernel has the sizes of its
    most expensive member. Inputs that other members add increase its bytes.
    """
    launched = lists[~_is_view(lists)]
    alone = launched["fused_node"] == ""
    if alone.all():
        return launched.reset_index(drop=True)
    return pd.concat([launched[alone], _fused(launched[~alone])], ignore_index=True)


def _is_view(lists: pd.DataFrame) -> pd.Series:
    return (lists["kind"] == table.COPY) & (lists["columns"] * lists["rows"].fillna(1) <= _VIEW_ELEMENTS)


def _fused(members: pd.DataFrame) -> pd.DataFrame:
    """Return one row per fused node."""
    keys = ["list_id", "phase", "fused_node"]
    tensor = members["bytes"] / (members["inputs"].fillna(1) + 1)  # bytes of one tensor of a row-wise operator
    ranked = members.assign(
        _order=members["kind"].map(_ORDER).fillna(_POINTWISE_ORDER),
        _extra=(members["inputs"].fillna(1) - 1).clip(lower=0) * tensor,
    ).sort_values(["_order", "bytes"], ascending=[True, False], kind="stable")
    groups = ranked.groupby(keys, sort=False)
    main = groups.head(1).set_index(keys)
    extra, calls, flops = groups["_extra"].max(), groups["calls"].min(), groups["flops"].sum()
    added = (extra - main["_extra"]).clip(lower=0)
    fused = main.assign(bytes=main["bytes"] + added, calls=calls, flops=flops.where(main["_order"] > 0, main["flops"]))
    return fused.reset_index()[list(members.columns)]
