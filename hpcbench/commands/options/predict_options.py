"""The options that predict the cases of a sweep before it starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from hpcbench.commands.options.completion import complete_devices
from hpcbench.commands.options.names_option import names
from hpcbench.commands.shared.context import Command, not_empty
from hpcbench.errors import UserError


@dataclass(frozen=True)
class PredictOptions:
    """How to predict the cases: names of devices, none for those on which the cases run, and the file of the models."""

    devices: tuple[str, ...] = ()
    model: str | None = None


def predict_options(command: Command) -> Command:
    """Add `--predict`, `--predict-device` and `--predict-model`.

    The parameter is `prediction`: PredictOptions, or None without `--predict`.
    """

    @functools.wraps(command)
    def combined(
        *arguments: Any, predict: bool, predict_device: tuple[str, ...], predict_model: str | None, **others: Any
    ) -> Any:
        return command(*arguments, prediction=_options(predict, predict_device, predict_model), **others)

    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--predict",
            is_flag=True,
            help="Predict each case before it runs; `hpcbench report` shows predicted next to measured values.",
        ),
        click.option(
            "--predict-device",
            metavar="NAMES",
            shell_complete=complete_devices,
            callback=names,
            help="Predict on these devices, separated by commas: each case on the first one of its kind, CPU or GPU.  "
            "[default: this machine, or the node type of the partition]",
        ),
        click.option(
            "--predict-model",
            metavar="FILE",
            callback=not_empty,
            help="Predict with the models of `hpcbench predictor fit` in FILE.  [default: as for `hpcbench predict`]",
        ),
    )
    decorated: Any = combined
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _options(predict: bool, devices: tuple[str, ...], model: str | None) -> PredictOptions | None:
    """Return the options of predictions; None without them. Raise UserError if `--predict` is missing."""
    if not predict:
        for option, value in (("--predict-device", devices), ("--predict-model", model)):
            if value:
                raise UserError(f"{option} requires --predict", hint="add --predict")
        return None
    return PredictOptions(devices, model)
