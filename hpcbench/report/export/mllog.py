"""MLPerf logs of trainings to a target accuracy: a file of `:::MLLOG` lines per model.

The keys are those of MLPerf's package `mlperf-logging`. Values that the record does not have are left out, such as the
organization, division and status of a submission, and whether caches were cleared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from hpcbench.core.record import Record
from hpcbench.core.training.learning import Learning
from hpcbench.models import catalog, optimizers
from hpcbench.report.export.atomic_files import made_folder, write_text

_POINT, _START, _END = "POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"
_EVENTS = {"start": _START, "stop": _END}  # by the last word of a key
_NAMES = {optimizers.MOMENTUM: optimizers.SGD}  # of optimizers that MLPerf calls otherwise


def write(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write DIR/SWEEP/CASE/result_0.txt and so on; return the paths. Raise UserError if one cannot be written.

    Concurrent models of a run are in a folder of the run: MLPerf computes the models per minute from all files of a
    folder.
    """
    counts: dict[Path, int] = {}
    written = []
    for record in sorted(filter(_is_named, records), key=lambda record: record.run):
        place = folder / record.sweep / record.case_id
        if record.models:
            place /= f"run_{record.run}"
        for model in record.models or ([record.learning] if record.learning else []):
            number = counts.setdefault(place, 0)
            counts[place] += 1
            made_folder(place)
            written.append(place / f"result_{number}.txt")
            write_text(log_of(record, model), str(written[-1]))
    return written


def _is_named(record: Record) -> bool:
    """Return whether the names in a record, which is untrusted, are those of folders in the target."""
    return all(Path(name).name == name not in ("", "..") for name in (record.sweep, record.case_id))


def log_of(record: Record, model: Learning) -> str:
    """Return the log of one model: its settings, then the events of its training with their times."""
    began_ms = _milliseconds(model.started_unix_s)
    lines = [_line("init_start", _milliseconds(datetime.fromisoformat(record.started_at).timestamp()))]
    lines += [_line(key, began_ms, value) for key, value in _settings(record, model).items() if value is not None]
    lines += [_line("init_stop", began_ms), _line("run_start", began_ms), *_epochs(model)]
    status = "aborted" if model.elapsed_s is None else "success"
    lines.append(_line("run_stop", _milliseconds(_end_s(model)), status=status))
    return "".join(lines)


def _epochs(model: Learning) -> Iterator[str]:
    """Yield the lines of each epoch and its validation."""
    began_s = 0.0
    for epoch in model.curve:
        times_s = {"epoch_start": began_s, "epoch_stop": epoch.trained_s, "eval_start": epoch.trained_s}
        for key, after_s in times_s.items():
            yield _line(key, _milliseconds(model.started_unix_s + after_s), epoch_num=epoch.epoch)
        ended_ms = _milliseconds(model.started_unix_s + epoch.elapsed_s)
        yield _line("eval_accuracy", ended_ms, epoch.accuracy, epoch_num=epoch.epoch)
        yield _line("eval_stop", ended_ms, epoch_num=epoch.epoch)
        began_s = epoch.elapsed_s


def _end_s(model: Learning) -> float:
    return model.started_unix_s + model.curve[-1].elapsed_s


def _settings(record: Record, model: Learning) -> dict[str, Any]:
    """Return the values of a log by key; None if the record does not have them."""
    parameters, work = record.parameters, record.work
    own = parameters["strategy"] == "single"  # the model of one task
    tasks_per_node = 1 if own else parameters["tasks_per_node"]
    nodes = 1 if own else parameters["nodes"]
    steps = parameters["optimizer"]["gradient_accumulation_steps"]
    items = work.items_per_epoch if work else None
    return {
        "submission_benchmark": parameters["model"],
        "submission_platform": _platform(record),
        "seed": model.seed,
        "number_of_nodes": nodes,
        "accelerators_per_node": tasks_per_node * parameters["gpus_per_task"],
        "global_batch_size": parameters["batch_size"] * steps * nodes * tasks_per_node,
        "train_samples": items // _items_per_input(parameters) if items else None,
        "eval_samples": model.held_out_items,
        **_optimizer(parameters["optimizer"]),
    }


def _platform(record: Record) -> str | None:
    """Return the number of nodes and the models of their processors."""
    processors = dict.fromkeys([*(record.gpus or ()), *(node.cpu_model or "" for node in record.nodes)])
    known = ", ".join(filter(None, processors))
    return f"{len(record.nodes)}x {known}" if known else None


def _items_per_input(parameters: Mapping[str, Any]) -> int:
    model = catalog.MODELS.get(parameters["model"])
    if model is None or not model.predicts_tokens:
        return 1
    return model.items_per_input(catalog.resolved_options(parameters["model"], parameters["model_options"]))


def _optimizer(options: Mapping[str, Any]) -> dict[str, Any]:
    optimizer = optimizers.optimizer_of(options)
    rate = optimizer.learning_rate
    has = optimizers.OPTIMIZERS[optimizer.name]
    return {
        "opt_name": _NAMES.get(optimizer.name, optimizer.name),
        "opt_base_learning_rate": rate.peak,
        f"opt_learning_rate_warmup_{rate.unit}": rate.warmup_steps,
        f"opt_learning_rate_decay_boundary_{rate.unit}": [start for start, _ in rate.milestones] or None,
        "opt_weight_decay": optimizer.weight_decay,
        "sgd_opt_momentum": optimizer.momentum if "momentum" in has else None,
        "opt_betas": list(optimizer.betas) if "betas" in has else None,
        "opt_epsilon": optimizer.eps if "eps" in has else None,
        "opt_gradient_clip_norm": optimizer.clip_norm,
        "gradient_accumulation_steps": optimizer.gradient_accumulation_steps,
    }


def _line(key: str, time_ms: int, value: Any = None, **metadata: Any) -> str:
    event = _EVENTS.get(key.rpartition("_")[2], _POINT)
    fields = {"namespace": "", "time_ms": time_ms, "event_type": event, "key": key}
    return f":::MLLOG {json.dumps({**fields, 'value': value, 'metadata': metadata})}\n"


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
