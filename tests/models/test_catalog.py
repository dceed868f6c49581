"""The catalog's work figures, against the literature and against formulas written out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hpcbench.core.frameworks import COMPILED, EAGER, FRAMEWORKS, GRAPH, STRATEGIES
from hpcbench.models import blocks, catalog, layers
from hpcbench.models.catalog import MODELS, flops_per_item, resolved_options


@pytest.mark.parametrize(
    ("model", "options", "giga_macs"),
    [
        ("alexnet", {}, 0.71),  # Krizhevsky (2014), at 224; torchvision: 0.71
        ("vgg16", {}, 15.47),  # Simonyan and Zisserman (2015), at 224; counted as by torchvision: 15.47
        ("resnet50", {}, 4.09),  # He et al. (2016), version 1.5, at 224; torchvision: 4.09
        ("inception_v3", {}, 5.71),  # Szegedy et al. (2016), at 299; torchvision: 5.71
    ],
)
def test_networks_cost_what_the_literature_says(model: str, options: dict[str, Any], giga_macs: float) -> None:
    flops = flops_per_item(model, resolved_options(model, options), training=False)
    assert round(flops / 2e9, 2) == giga_macs


def test_an_mlp_costs_two_operations_for_each_weight() -> None:
    options = resolved_options("mlp", {"input_size": 3, "hidden_size": 5, "layers": 2, "classes": 7})
    assert flops_per_item("mlp", options, training=False) == 2 * (3 * 5 + 5 * 5 + 5 * 7)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_lstm_costs_four_gates_over_input_and_hidden_state_at_each_step(bidirectional: bool) -> None:
    options = resolved_options(
        "lstm",
        {
            "input_size": 3,
            "hidden_size": 5,
            "layers": 2,
            "sequence_length": 11,
            "bidirectional": bidirectional,
            "classes": 7,
        },
    )
    ways = 2 if bidirectional else 1
    gates = ways * 4 * (3 * 5 + 5 * 5) + ways * 4 * (ways * 5 * 5 + 5 * 5)
    assert flops_per_item("lstm", options, training=False) == 2 * (11 * gates + ways * 5 * 7)


def test_a_stack_of_lstm_layers_is_wide_and_narrow_in_turn() -> None:
    given = {"input_size": 3, "hidden_size": 8, "narrow_size": 2, "layers": 3, "sequence_length": 11, "classes": 7}
    chain, shape = catalog.network("lstm_stack", resolved_options("lstm_stack", given))
    assert chain[:3] == [layers.Lstm(width, 1, False) for width in (8, 2, 8)]
    gates = 4 * 8 * (3 + 8) + 4 * 2 * (8 + 2) + 4 * 8 * (2 + 8)
    assert blocks.total_flops(chain, shape) == 2 * (11 * gates + 8 * 7)


def test_attention_in_a_stack_of_lstm_layers_is_over_all_time_steps_of_the_last_one() -> None:
    given = {
        "hidden_size": 8,
        "narrow_size": 2,
        "layers": 2,
        "sequence_length": 11,
        "bidirectional": True,
        "classes": 7,
    }
    plain, attending = (
        flops_per_item("lstm_stack", resolved_options("lstm_stack", {**given, "attention": attention}), training=False)
        for attention in (False, True)
    )
    width = 2 * 2  # narrow, in two directions
    assert attending - plain == 4 * 2 * 11 * width * width + 2 * 2 * 11 * 11 * width


@pytest.mark.parametrize("model", sorted(MODELS))
def test_training_costs_three_times_inference(model: str) -> None:
    options = resolved_options(model, {})
    assert flops_per_item(model, options, training=True) == 3 * flops_per_item(model, options, training=False)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_an_unknown_option_is_refused_and_the_known_ones_are_named(model: str) -> None:
    with pytest.raises(ValueError, match="no option 'colour'") as refused:
        resolved_options(model, {"colour": 1})
    for name in MODELS[model].options:
        assert name in str(refused.value)


@pytest.mark.parametrize("value", [0, -1, 1.5, 512.0, "12", True, None, [3], math.nan, math.inf])
def test_a_size_must_be_a_whole_number_above_zero(value: Any) -> None:
    with pytest.raises(ValueError, match="'hidden_size' of mlp must be"):
        resolved_options("mlp", {"hidden_size": value})


@pytest.mark.parametrize("value", [1, 0, "yes", None])
def test_a_switch_must_be_true_or_false(value: Any) -> None:
    with pytest.raises(ValueError, match="bidirectional"):
        resolved_options("lstm", {"bidirectional": value})


def test_options_that_are_given_stand_on_top_of_the_defaults() -> None:
    options = resolved_options("mlp", {"layers": 7})
    assert options == {**MODELS["mlp"].options, "layers": 7}
    assert MODELS["mlp"].options["layers"] == 2


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_can_run_on_a_single_task(framework: str) -> None:
    assert "single" in FRAMEWORKS[framework].strategies


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_has_known_ways_of_execution(framework: str) -> None:
    executions = FRAMEWORKS[framework].executions
    assert executions
    assert set(executions) <= {EAGER, GRAPH, COMPILED}


def test_every_strategy_of_a_framework_is_listed_once() -> None:
    every = [strategy for framework in FRAMEWORKS.values() for strategy in framework.strategies]
    assert sorted(STRATEGIES) == sorted(set(every))


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("alexnet", 61_100_840),  # Krizhevsky (2014); torchvision
        ("vgg16", 138_357_544),  # Simonyan and Zisserman (2015), and every zoo
        ("resnet50", 25_557_032),  # torchvision, Keras without biases
        ("inception_v3", 23_834_568),  # torchvision without the auxiliary classifier
    ],
)
def test_a_network_has_as_many_parameters_as_the_literature_says(model: str, count: int) -> None:
    chain, shape = catalog.network(model, resolved_options(model, {}))
    assert blocks.parameter_count(chain, shape) == count


def test_the_transformer_has_the_parameters_of_bert_and_a_classifier() -> None:
    """Devlin et al. (2019): BERT-base with its pooler."""
    chain, shape = catalog.network("transformer", resolved_options("transformer", {}))
    assert blocks.parameter_count(chain, shape) == 109_482_240 + 2 * 768 + 2


def test_gpt_has_the_parameters_of_gpt2_and_an_output_layer_of_its_own() -> None:
    """Radford et al. (2019), as counted by transformers: 124,439,808 with a shared output layer."""
    options = resolved_options("gpt", {})
    embedding, positions = 50257 * 768, 1024 * 768
    assert blocks.parameter_count(*catalog.network("gpt", options)) == 124_439_808 + embedding
    assert catalog.parameters_without_embeddings("gpt", options) == 124_439_808 - positions
    assert blocks.output_shape(*catalog.network("gpt", options)) == (1024, 50257)


def test_the_flops_of_gpt_are_those_of_the_6n_rule_and_of_attention() -> None:
    options = resolved_options("gpt", {"sequence_length": 512})
    norms_and_biases = 12 * ((4 + 5) * 768 + 3072) + 2 * 768
    matrices = catalog.parameters_without_embeddings("gpt", options) - norms_and_biases
    attention = 12 * 2 * 2 * 512 * 768
    assert catalog.flops_per_item("gpt", options, training=False) == 2 * matrices + attention
    assert catalog.flops_per_item("gpt", options, training=True) == 3 * (2 * matrices + attention)


@pytest.mark.parametrize("model", sorted(set(MODELS) - {"gpt"}))
def test_a_network_gives_one_number_for_each_class(model: str) -> None:
    chain, shape = catalog.network(model, resolved_options(model, {"classes": 7}))
    assert blocks.output_shape(chain, shape) == (7,)


@pytest.mark.parametrize("model", ["alexnet", "vgg16", "resnet50", "inception_v3"])
def test_the_layers_take_the_smallest_image_that_is_accepted(model: str) -> None:
    smallest = next(size for size in range(1, 300) if _is_accepted(model, size))
    chain, _ = catalog.network(model, resolved_options(model, {"image_size": smallest}))
    assert blocks.output_shape(chain, (3, smallest, smallest)) == (1000,)


def _is_accepted(model: str, size: int) -> bool:
    try:
        resolved_options(model, {"image_size": size})
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("lstm_stack", {"attention": True, "heads": 5}, "heads must divide the width .* narrow_size makes"),
        (
            "lstm_stack",
            {"attention": True, "layers": 1, "heads": 5},
            "heads must divide the width .* hidden_size makes",
        ),
        ("transformer", {"heads": 5}, "heads must divide hidden_size"),
        ("transformer", {"sequence_length": 513}, "sequence_length is more than positions"),
        ("gpt", {"sequence_length": 1025}, "sequence_length is more than positions"),
        ("gpt", {"heads": 5}, "heads must divide hidden_size"),
        ("vgg16", {"image_size": 31}, "image_size must be 32 or more"),
        ("resnet50", {"image_size": 16}, "image_size must be 32 or more"),
        ("alexnet", {"image_size": 62}, "image_size must be 63 or more"),
        ("inception_v3", {"image_size": 74}, "image_size must be 75 or more"),
    ],
)
def test_options_that_make_no_network_are_refused(model: str, options: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        catalog.resolved_options(model, options)
