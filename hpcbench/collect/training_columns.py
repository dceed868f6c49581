"""Columns for training to a target accuracy: Valid FLOPS, and models per minute.

Valid FLOPS = FLOPS x (achieved quality / target quality)^n (Jiang et al., 2021, "HPC AI500: representative, repeatable
and simple HPC AI benchmarking", arXiv:2102.12848). n is 5 for image classification with the top-1 accuracy as quality,
and hpcbench uses it for all models that classify whole inputs. FLOPS are the counted FLOPs of all training items of all
epochs over the time from the first step to the end of the last validation: the time includes validations, and the FLOPs
do not.

Models per minute are the models that reached the target, over the time from the common start until the last of them
reached it (MLPerf HPC training rules, "Weak scaling (throughput)"). Models that missed the target are pruned.
"""

from __future__ import annotations

from typing import Any

from hpcbench.core.record import Record
from hpcbench.core.status import COMPLETED
from hpcbench.core.training.learning import Learning
from hpcbench.models import catalog

VALID_FLOPS, PER_WATT, REASON = "valid_flops", "valid_flops_per_w", "valid_flops_reason"
MODELS, TRAINED, PER_MINUTE = "models", "models_trained", "models_per_minute"
COLUMNS = (VALID_FLOPS, PER_WATT, REASON, MODELS, TRAINED, PER_MINUTE)
EXPONENT = 5  # of the quality, for image classification


def training_columns(record: Record, energy_j: float | None) -> dict[str, Any]:
    """Return the columns of a record; None for other tasks. `energy_j` is the measured energy of the training.

    A run that missed its target has Valid FLOPS, with a quality below the target, but neither energy nor a rate of
    models.
    """
    found: dict[str, Any] = dict.fromkeys(COLUMNS)
    if record.learning is None:
        return found
    models = record.models or [record.learning]
    trained = sum(model.elapsed_s is not None for model in models)
    found |= {MODELS: len(models), TRAINED: trained}
    time_s = next(iter(record.times_s), None) if record.status == COMPLETED else None
    if time_s:
        found[PER_MINUTE] = 60 * trained / time_s
    flops = _flops(record)
    found[REASON] = _undefined(record, flops)
    if found[REASON] is None and flops is not None:
        found[VALID_FLOPS] = _valid_flops(record, record.learning, flops)
        if energy_j and time_s:
            found[PER_WATT] = found[VALID_FLOPS] * time_s / energy_j
    return found


def _flops(record: Record) -> int | None:
    """Return the FLOPs of all training items of all epochs; None if they are unknown."""
    work, learning = record.work, record.learning
    if learning is None or work is None or work.flops_per_item is None or work.items_per_epoch is None:
        return None
    return work.flops_per_item * work.items_per_epoch * learning.epochs


def _undefined(record: Record, flops: int | None) -> str | None:
    """Return why the Valid FLOPS of a training are not defined; None if they are."""
    model = catalog.MODELS.get(record.parameters["model"])
    if record.models:
        return "defined for one model per run"
    if model is not None and model.predicts_tokens:
        return "HPC AI500 has no exponent for language models"
    return "the FLOPs of the training are unknown" if flops is None else None


def _valid_flops(record: Record, learning: Learning, flops: int) -> float:
    """Return the Valid FLOPS in FLOP/s of a training of `flops` FLOPs."""
    quality = learning.accuracy / record.parameters["target_accuracy"]
    return float(flops / learning.curve[-1].elapsed_s * quality**EXPONENT)
