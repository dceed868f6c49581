"""The table of lists: the operators of networks, one row per distinct operator of a list.

It has the columns of `operators.WORK`, and `list_id`, `calls` and `fused_node`. Operators with the same `fused_node`
(not empty) are members of one generated kernel.
"""

from __future__ import annotations

from hpcbench.predict.tables import operators

COLUMNS = ("list_id", "fused_node", "calls", *operators.WORK)
