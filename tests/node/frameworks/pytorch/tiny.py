"""The models of the catalog, so small that a test can run each."""

from __future__ import annotations

from typing import Any

TINY: dict[str, dict[str, Any]] = {
    "mlp": {"input_size": 8, "hidden_size": 16, "layers": 2, "classes": 3},
    "lstm": {"input_size": 4, "hidden_size": 8, "layers": 1, "sequence_length": 5, "classes": 3},
    "lstm_stack": {
        "input_size": 4,
        "hidden_size": 8,
        "narrow_size": 4,
        "layers": 2,
        "sequence_length": 5,
        "attention": True,
        "heads": 2,
        "classes": 3,
    },
    "alexnet": {"image_size": 63, "classes": 3},
    "vgg16": {"image_size": 32, "classes": 3},
    "resnet50": {"image_size": 32, "classes": 3},
    "inception_v3": {"image_size": 75, "classes": 3},
    "transformer": {
        "hidden_size": 16,
        "layers": 2,
        "heads": 2,
        "feed_forward_size": 32,
        "vocabulary": 50,
        "positions": 16,
        "sequence_length": 6,
        "classes": 3,
    },
    "gpt": {
        "hidden_size": 16,
        "layers": 2,
        "heads": 2,
        "feed_forward_size": 32,
        "vocabulary": 50,
        "positions": 16,
        "sequence_length": 6,
    },
}
