"""The reference of the optimizers, compared with numbers computed by hand from the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcbench.models.optimizers import optimizer_of
from hpcbench.models.reference.update import ReferenceUpdate

# Two steps of one weight, 1, with gradients 3 and -1 and a learning rate of 0.5.
SCALARS: list[tuple[dict[str, Any], float, float]] = [
    ({"name": "sgd"}, -0.5, 0.0),
    ({"name": "sgd", "weight_decay": 0.5}, -0.75, -0.0625),
    ({"name": "momentum", "momentum": 0.5}, -0.5, -0.75),
    ({"name": "nesterov", "momentum": 0.5}, -1.25, -0.875),
    ({"name": "adagrad", "eps": 1.0}, 0.625, 0.625 + 0.5 / (10**0.5 + 1)),
    ({"name": "rmsprop", "alpha": 0.75, "eps": 0.5}, 0.25, 0.25 + 0.5 / (1.9375**0.5 + 0.5)),
    # Both moments are corrected: 3 and 9, then (0.5 * 1.5 - 0.5) / 0.75 and (0.2 * 7.2 + 0.8) / 0.96.
    ({"name": "adam", "betas": [0.5, 0.2], "eps": 1.0}, 0.625, 0.625 - 0.5 / 3 / ((2.24 / 0.96) ** 0.5 + 1)),
    (
        {"name": "adamw", "betas": [0.5, 0.2], "eps": 1.0, "weight_decay": 0.1},
        0.575,
        0.575 * 0.95 - 0.5 / 3 / ((2.24 / 0.96) ** 0.5 + 1),
    ),
    # With one weight, the norms cancel out, except for the sign.
    ({"name": "lamb", "betas": [0.5, 0.2], "eps": 1.0}, 0.5, 0.25),
    ({"name": "sgd", "clip_value": 2.0}, 0.0, 0.5),
    ({"name": "sgd", "clip_norm": 1.5}, 0.25, 0.75),
    ({"name": "sgd", "learning_rate": {"peak": 0.5, "warmup_steps": 4}}, 0.625, 0.875),
    (
        {
            "name": "momentum",
            "momentum": 0.5,
            "learning_rate": {"schedule": "steps", "peak": 0.5, "milestones": [[1, 2]]},
        },
        -0.5,
        -1.5,
    ),
]


@pytest.mark.parametrize(("options", "first", "second"), SCALARS)
def test_two_steps_of_a_weight(options: dict[str, Any], first: float, second: float) -> None:
    update = ReferenceUpdate(optimizer_of({"learning_rate": 0.5, **options}))
    (after,) = update.next([np.array(1.0, np.float32)], [np.array(3.0, np.float32)])
    np.testing.assert_allclose(after, first, rtol=1e-6)
    (after,) = update.next([after], [np.array(-1.0)])
    np.testing.assert_allclose(after, second, rtol=1e-6, atol=1e-6)


def test_norms_are_those_of_all_weights_in_clipping_and_of_a_tensor_in_lamb() -> None:
    weights, gradients = [np.array([3.0, 4.0]), np.zeros(1)], [np.array([3.0, 0.0]), np.array([4.0])]
    clipped = ReferenceUpdate(optimizer_of({"name": "sgd", "learning_rate": 1.0, "clip_norm": 2.5}))
    first, second = clipped.next(weights, gradients)
    np.testing.assert_allclose([*first, *second], [1.5, 4.0, -2.0], rtol=1e-6)
    lamb = ReferenceUpdate(optimizer_of({"name": "lamb", "learning_rate": 0.1, "weight_decay": 0.0, "eps": 1e-12}))
    first, second = lamb.next(weights, gradients)
    np.testing.assert_allclose([*first, *second], [2.5, 4.0, -0.1], rtol=1e-6)
