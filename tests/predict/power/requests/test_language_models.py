"""Sizes of language models from their names."""

import pytest

from hpcbench.predict.power.requests.language_models import language_model


def test_the_name_gives_parameters_and_shape() -> None:
    found = language_model("Llama-2-7b-hf")
    assert found is not None
    assert found.parameters == 7e9
    # 32 layers of width 4096: 2 x 32 x 4096 = 262,144 elements per token.
    assert found.cached_per_token == pytest.approx(262_144, rel=0.1)


def test_shared_keys_need_less_cache() -> None:
    shared, full = language_model("Meta-Llama-3-8B"), language_model("Llama-2-7b-hf")
    assert shared is not None
    assert full is not None
    assert shared.cached_per_token == pytest.approx(2 * 32 * 1024, rel=0.1)
    assert shared.cached_per_token < full.cached_per_token / 3


@pytest.mark.parametrize(
    ("name", "parameters"), [("Mixtral-8x7B-v0.1", 56e9), ("opt-1.3b", 1.3e9), ("qwen2-72B", 72e9)]
)
def test_other_names(name: str, parameters: float) -> None:
    found = language_model(name)
    assert found is not None
    assert found.parameters == parameters


def test_a_name_without_a_size_needs_the_number_of_parameters() -> None:
    assert language_model("resnet50b") is None
    assert language_model("gpt2") is None
    found = language_model("gpt2", mparams=124.0)
    assert found is not None
    assert found.parameters == 124e6
