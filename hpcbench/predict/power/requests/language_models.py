"""The size of a language model, from its name and the published configurations of its family."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PARAMETERS = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
_WIDTH_PER_LAYER = 128  # typical ratio of the width to the number of layers (J. Kaplan et al., 2020, section 3)
# Keys of a token per layer, of families whose heads share keys and values: heads of keys times their width. Others keep
# the full width. From the published configurations of the models.
_SHARED_KEYS = (
    (re.compile(r"llama-?2-70b", re.IGNORECASE), 1024),
    (re.compile(r"llama-?3", re.IGNORECASE), 1024),
    (re.compile(r"mi[sx]tral", re.IGNORECASE), 1024),
    (re.compile(r"qwen-?(2|2\.5)-(7|14|32|72)b", re.IGNORECASE), 1024),
    (re.compile(r"yi-\d+b", re.IGNORECASE), 1024),
)


@dataclass(frozen=True)
class LanguageModel:
    """Parameters, and keys and values that one token leaves in the cache, as numbers of elements."""

    parameters: float
    cached_per_token: float


def language_model(name: str, mparams: float | None = None) -> LanguageModel | None:
    """Return the size of a model such as `Llama-2-7b-hf`; None if neither the name nor `mparams` has a size.

    `mparams` is in 10^6. A transformer with N parameters has about N = 12 layers width^2 (J. Kaplan et al., "Scaling
    laws for neural language models", 2020, table 1), from which layers and width follow.
    """
    parameters = 1e6 * mparams if mparams is not None and mparams > 0 else _parameters(name)
    if parameters is None:
        return None
    layers = (parameters / (12 * _WIDTH_PER_LAYER**2)) ** (1 / 3)
    full = _WIDTH_PER_LAYER * layers
    keys = next((width for pattern, width in _SHARED_KEYS if pattern.search(name)), full)
    return LanguageModel(parameters, 2 * layers * min(keys, full))


def _parameters(name: str) -> float | None:
    found = _PARAMETERS.search(name)
    if not found:
        return None
    experts, size = found.groups()
    return float(size) * 1e9 * (int(experts) if experts else 1)
