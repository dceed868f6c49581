"""The image network of the catalog that a case runs, if the case does not change it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from hpcbench.config.parameters import Parameters
from hpcbench.models import catalog, inputs
from hpcbench.models.source import SHIPPED, ZOO, Source, source_of
from hpcbench.predict.networks.catalog.catalog import ZOOS, shipped_catalog
from hpcbench.predict.tables import networks as network_table

_SIZE = {SHIPPED: "image_size", ZOO: "img_size"}  # option of a model
# Shipped models with the structure of torchvision. Those with linear layers on all pixels have it at their own size.
_OF_ANY_SIZE, _OF_ONE_SIZE = ("resnet50", "inception_v3"), ("alexnet", "vgg16")
_TASKS = (network_table.INFERENCE, network_table.TRAINING)


class ImageCase(NamedTuple):
    """The name of a network in the catalog, empty if the case has none, and the size of its images in pixels."""

    network: str = ""
    image_size: float = math.nan


def image_case(parameters: Parameters) -> ImageCase:
    """Return the image network of a case that runs one process with a loss and a step of hpcbench.

    Options and inputs may change the size of square images only. A size of NaN is that of the network.
    """
    if not parameters.model or not _is_plain(parameters):
        return ImageCase()
    source, options = source_of(parameters.model), dict(parameters.model_options or {})
    if not _is_of_catalog(source, parameters.model):
        return ImageCase()
    if source.kind == SHIPPED:
        defaults = catalog.MODELS[parameters.model].options
        options = {name: value for name, value in options.items() if value != defaults[name]}
        default = float(defaults[_SIZE[SHIPPED]])
    else:
        default = math.nan
    size = options.pop(_SIZE[source.kind], default)
    given = parameters.model_dump(mode="json")["input"]
    size = _input_size(given) if given else size
    if options or not isinstance(size, int | float):
        return ImageCase()
    if parameters.model in _OF_ONE_SIZE and size != default:
        return ImageCase()
    return ImageCase(parameters.model, float(size))


def _is_plain(parameters: Parameters) -> bool:
    """Return whether a case runs one process, with a loss and a step of hpcbench."""
    several = parameters.strategy != "single" or parameters.tasks > 1 or parameters.instances > 1
    own = parameters.step is not None or parameters.loss_function is not None
    accumulates = (parameters.optimizer.gradient_accumulation_steps or 1) > 1
    return parameters.task in _TASKS and not (several or own or accumulates)


def _is_of_catalog(source: Source, model: str) -> bool:
    if source.kind == SHIPPED:
        return model in (*_OF_ANY_SIZE, *_OF_ONE_SIZE)
    return source.kind == ZOO and source.package in ZOOS and shipped_catalog().find(model) is not None


def _input_size(given: Mapping[str, Any]) -> int | None:
    """Return the size of a single input of square images with three channels; None for others."""
    shape = list(given.get("shape") or ()) if inputs.is_single(given) else []
    is_square = len(shape) == 3 and shape[0] == 3 and shape[1] == shape[2]
    return int(shape[1]) if is_square else None
