"""A catalog with three networks and four operators."""

from __future__ import annotations

from typing import Any

_COLUMNS = [
    *("kind", "rows", "columns", "depth", "groups", "read", "written", "per_image", "macs_power", "elements_power"),
]

CONTENT: dict[str, Any] = {
    "columns": _COLUMNS,
    "operators": [
        ["conv", 100, 8, 27, 1, 300, 800, 1, 1.0, 1.0],
        ["linear", 1, 10, 8, 1, 8, 10, 1, None, None],
        ["pointwise", 0, 0, 0, 0, 800, 800, 1, 0.0, 1.0],
        ["attention", 50, 50, 16, 4, 9600, 3200, 1, 2.0, 1.0],
        ["batch_norm", 0, 0, 0, 0, 216, 216, 0, 0.0, 0.0],
    ],
    "networks": {
        "timm": {
            "net": {"image_size": 32, "parameters": 2_000_000, "operators": [[0, 1], [1, 1], [2, 3]]},
            "wide": {"image_size": 32, "parameters": 50_000_000, "operators": [[0, 2], [1, 1], [4, 1]]},
        },
        "torchvision": {
            "net": {"image_size": 32, "parameters": 3_000_000, "operators": [[0, 1], [3, 2], [1, 1]]},
        },
    },
    "old_names": {"old_net_name": "wide"},
}
