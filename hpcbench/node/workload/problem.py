"""The problem of a case: the layers, their initial weights, the input, and the ranks that share the work."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy

from ...core.frameworks import INPUT_PIPELINE, LOCAL_SGD, OPERATOR, SHARDED, TASKS, TIME_TO_ACCURACY
from ...models import catalog
from ...models.initial_weights import InitialWeights, Numbers
from ...models.layers import Layer, Shape
from ...models.operators.catalog import operator_of
from ...models.operators.operator import Operator
from ...models.operators.user_file import file_of
from ...models.optimizers import Optimizer, optimizer_of
from ...models.schedules import OF_STEPS
from ...models.source import source_of
from ..errors import BadModel
from ..launch.ranks import Ranks
from ..launch.rendezvous import Group
from . import data


@dataclass(frozen=True)
class Problem:
    """A case, for one rank. `layers` map an input of `item_shape` to a logit per class, or per position and token.

    A case with an `operator` has no layers.

    `group` are the ranks that share the work; `all_ranks` are those of the run. They differ if each rank trains a model
    of its own to a target accuracy. `parameters` then have the seed of this model, and `split_seed` that of the case.
    """

    parameters: Dict[str, Any]
    group: Group
    all_ranks: Group
    split_seed: int
    options: Dict[str, Any]
    layers: List[Layer]
    item_shape: Shape
    operator: Optional[Operator] = None
    initial_weights: Callable[[int], InitialWeights] = InitialWeights
    numbers: Callable[[int, int], Numbers] = Numbers  # makes the source of synthetic input from the seed and the rank

    @property
    def training(self) -> bool:
        """Return whether the task trains."""
        return TASKS[self.parameters["task"]].trains

    @property
    def parallel(self) -> bool:
        """Return whether the ranks cooperate: they train replicas, or hold parts of the weights."""
        strategy = self.parameters["strategy"]
        return strategy != "single" and (self.training or strategy in SHARDED)

    @property
    def averaging_period(self) -> int:
        """Return after how many steps the ranks average their weights; 1 if after each step, or never."""
        parameters = self.parameters
        return int(parameters["averaging_period"]) if self.parallel and parameters["strategy"] == LOCAL_SGD else 1

    @property
    def on_gpu(self) -> bool:
        """Return whether the case runs on a GPU."""
        return bool(self.parameters["device"] == "gpu")

    @cached_property
    def optimizer(self) -> Optimizer:
        """Return the optimizer of training, with a learning rate over its steps."""
        options = self._options_of_optimizer
        # Without data, there are no epochs: the validation of a network computes gradients, but no update.
        if self.parameters["data"] is None or options.learning_rate.unit == OF_STEPS:
            return options
        return options._replace(learning_rate=options.learning_rate.in_steps(self.steps_per_epoch))

    @cached_property
    def _options_of_optimizer(self) -> Optimizer:
        return optimizer_of(self.parameters["optimizer"])

    @property
    def batches_per_step(self) -> int:
        """Return the batches of one step: those whose gradients are averaged for one step of the optimizer."""
        return self._options_of_optimizer.gradient_accumulation_steps if self.training else 1

    @property
    def flops_per_item(self) -> int:
        """Return the FLOPs for one item of a step (1 MAC = 2 FLOPs)."""
        return catalog.flops_of(self.layers, self.item_shape, self.training) // self.items_per_input

    @property
    def predicts_tokens(self) -> bool:
        """Return whether the model predicts a token at each position of its input."""
        model = catalog.MODELS.get(self.parameters["model"])  # None for an external model
        return model is not None and model.predicts_tokens

    @property
    def items_per_input(self) -> int:
        """Return the items of one input: its tokens if the model predicts tokens, otherwise 1."""
        return catalog.MODELS[self.parameters["model"]].items_per_input(self.options) if self.predicts_tokens else 1

    def weights(self) -> InitialWeights:
        """Return the initial weights, the same on every rank and in every framework."""
        return self.initial_weights(self.parameters["seed"])

    @cached_property
    def split(self) -> Optional[data.Split]:
        """Return this rank's share of the real data; None for synthetic input. Raise BadData if the data do not fit."""
        parameters, group = self.parameters, self.group
        if parameters["data"] is None:
            return None
        sizes = (parameters["batch_size"], self.batches_per_step, group.rank, group.size)
        return data.split(self.items(), parameters["held_out"], *sizes, self.split_seed)

    def items(self) -> data.Items:
        """Return all items of the real data, read again. Raise BadData if they do not fit the model."""
        vocabulary = self.options.get("vocabulary", 0)
        label_shape = self.item_shape if self.predicts_tokens else ()
        classes = vocabulary if self.predicts_tokens else self.options["classes"]
        return data.load(self.parameters["data"], self.item_shape, vocabulary, classes, label_shape)

    @property
    def items_per_step(self) -> int:
        """Return the items of one step over all ranks."""
        inputs = self.parameters["batch_size"] * self.batches_per_step * self.group.size
        return int(inputs * self.items_per_input)

    @property
    def steps_per_epoch(self) -> int:
        """Return the whole steps of one epoch of real data."""
        assert self.split  # noqa: S101 - the case has data
        return int(len(self.split.training.labels) // (self.parameters["batch_size"] * self.batches_per_step))

    @property
    def items_per_epoch(self) -> Optional[int]:
        """Return the items of one epoch over all ranks: whole steps; None for synthetic input."""
        return None if self.split is None else self.steps_per_epoch * self.items_per_step

    def synthetic_numbers(self) -> Numbers:
        """Return the source of this rank's synthetic input."""
        return self.numbers(self.parameters["seed"], 1 + self.group.rank)

    def batch(self) -> Tuple["numpy.ndarray", "numpy.ndarray"]:
        """Return synthetic input: (batch, *item_shape) float32 or int32 tokens, and labels (batch,) int32.

        If the model predicts tokens, the labels (batch, time) are the next tokens.
        """
        numbers = self.synthetic_numbers()
        size = self.parameters["batch_size"]
        if self.predicts_tokens:
            tokens = numbers.integers((size, self.item_shape[0] + 1), self.options["vocabulary"])
            return numpy.ascontiguousarray(tokens[:, :-1]), numpy.ascontiguousarray(tokens[:, 1:])
        labels = numbers.integers((size,), self.options["classes"])
        shape = (size, *self.item_shape)
        if "vocabulary" in self.options:
            return numbers.integers(shape, self.options["vocabulary"]), labels
        return numbers.uniform(shape, 3**0.5), labels  # variance 1


def of_case(parameters: Dict[str, Any], all_ranks: Group) -> Problem:
    """Return the problem of a case, for this rank of the run. For an external model, `layers` is empty.

    In training to a target accuracy with the strategy single, each rank trains a model of its own, from the seed of the
    case plus its rank. The data of all models are split equally, so that their accuracies can be compared.
    """
    group, split_seed = all_ranks, parameters["seed"]
    if parameters["task"] == OPERATOR:
        operator = _operator(parameters, all_ranks)
        return Problem(parameters, group, all_ranks, split_seed, {}, [], (), operator)
    if parameters["task"] == TIME_TO_ACCURACY and parameters["strategy"] == "single":
        group = Group(Ranks(0, 1))
        parameters = {**parameters, "seed": split_seed + all_ranks.rank}
    if source_of(parameters["model"]).is_external:
        return Problem(parameters, group, all_ranks, split_seed, parameters["model_options"], [], ())
    options = catalog.resolved_options(parameters["model"], parameters["model_options"])
    network = catalog.network(parameters["model"], options)
    if parameters["task"] == INPUT_PIPELINE:  # the network only determines the shape of an item
        return Problem(parameters, group, all_ranks, split_seed, options, [], network[1])
    return Problem(parameters, group, all_ranks, split_seed, options, *network)


def _operator(parameters: Dict[str, Any], ranks: Group) -> Operator:
    path = file_of(parameters["operator"])
    if path is None:
        return operator_of(parameters["operator"], parameters["sizes"])
    from . import own_operator  # only operators of the user need it

    operator = own_operator.load(path, parameters["sizes"], parameters["seed"], ranks.rank)
    try:
        operator.check_phase(parameters["phase"])
    except ValueError as error:
        raise BadModel("operator: %s: %s" % (path, error)) from error
    return operator


def channels_last(array: "numpy.ndarray") -> "numpy.ndarray":
    """Return (batch, channels, height, width) as (batch, height, width, channels); other arrays unchanged."""
    return numpy.ascontiguousarray(array.transpose(0, 2, 3, 1)) if array.ndim == 4 else array
