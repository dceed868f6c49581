"""The inputs of external models: what a zoo knows, overridden by the experiment."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.models.inputs import UNNAMED, Input, in_short, merged

IDS = {"input_ids": Input((128,), "tokens", 30522)}


def test_an_input_without_a_zoo_is_what_the_experiment_says() -> None:
    assert merged({}, {"shape": [3, 8, 8]}) == {UNNAMED: Input((3, 8, 8))}
    named = {"ids": {"shape": [4], "dtype": "tokens", "vocabulary": 9}, "mask": {"shape": [4], "value": 1}}
    assert merged({}, named) == {"ids": Input((4,), "tokens", 9), "mask": Input((4,), value=1)}


def test_the_experiment_overrides_the_fields_that_it_sets() -> None:
    assert merged(IDS, None) == IDS
    assert merged(IDS, {"shape": [64]}) == {"input_ids": Input((64,), "tokens", 30522)}
    assert merged(IDS, {"vocabulary": 10}) == {"input_ids": Input((128,), "tokens", 10)}
    mask = {"attention_mask": {"shape": [64], "dtype": "int64", "value": 1}}
    both = merged(IDS, {"input_ids": {"shape": [64]}, **mask})
    assert both == {"input_ids": Input((64,), "tokens", 30522), "attention_mask": Input((64,), "int64", None, 1)}


def test_an_input_without_a_name_overrides_all_inputs_of_a_zoo() -> None:
    two = {**IDS, "decoder_input_ids": Input((128,), "tokens", 30522)}
    assert {name: each.shape for name, each in merged(two, {"shape": [16]}).items()} == dict.fromkeys(two, (16,))


def test_tokens_lose_their_vocabulary_with_another_dtype() -> None:
    assert merged(IDS, {"dtype": "float32"}) == {"input_ids": Input((128,))}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dtype": "float32"}, "'shape' is missing for 'input', e.g. shape: [3, 224, 224]"),
        ({"ids": {"dtype": "float32"}}, "'shape' is missing for input 'ids', e.g. shape: [128]"),
        (
            {"shape": [4], "dtype": "tokens"},
            "'vocabulary' is missing for 'input': dtype: tokens requires it, e.g. vocabulary: 30522",
        ),
        (
            {"mask": {"shape": [4], "dtype": "bool"}},
            "'value' is missing for input 'mask': dtype: bool requires it, e.g. value: 1",
        ),
        ({"shape": [4], "dtype": "bool", "value": 2}, "'value' of 'input' is 2, not bool"),
        ({"shape": [4], "dtype": "int64", "value": 1.5}, "'value' of 'input' is 1.5, not int64"),
        ({"shape": [4], "dtype": "int32", "value": 2**31}, "'value' of 'input' is 2147483648, not int32"),
        ({"shape": [4], "value": True}, "'value' of 'input' is True, not float32"),
        (
            {"shape": [4], "dtype": "tokens", "vocabulary": 9, "value": 9},
            "'value' of 'input' is 9, not an integer below vocabulary, 9",
        ),
    ],
)
def test_an_incomplete_input_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        merged({}, given)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, None),
        ({"shape": [3, 96, 96], "dtype": None, "vocabulary": None, "value": None}, "3x96x96"),
        ({"shape": [128], "dtype": "tokens", "vocabulary": 30522}, "128 tokens vocabulary=30522"),
        ({"dtype": "float32", "value": 0.0}, "float32 value=0.0"),
        (
            {
                "ids": {"shape": [8], "dtype": "tokens", "vocabulary": 9},
                "mask": {"shape": [8], "dtype": "bool", "value": 1},
            },
            "ids: 8 tokens vocabulary=9; mask: 8 bool value=1",
        ),
    ],
)
def test_inputs_are_short_in_tables(given: dict[str, Any] | None, text: str | None) -> None:
    assert in_short(given) == text
