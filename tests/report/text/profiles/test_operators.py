"""Operators in text: names, and arguments by their largest tensors."""

from __future__ import annotations

import pytest

from hpcbench.report.text.profiles.operators import short_name, tensors

CONV = '{"input":{"dtype":"float32","shape":[8,3,32,32],"strides":[]},"weight":{"shape":[64,3,3,3]},"groups":1}'


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (CONV, "input 8x3x32x32, weight 64x3x3x3"),
        ('{"self":[{"shape":[2]},{"shape":[3]}],"lr":0.1}', "self: 2 tensors"),
        ('{"self":{"shape":[]}}', "self scalar"),
        ('{"self":{"tensors":2500,"elements":9000,"dtypes":["float32"]},"lr":0.1}', "self: 2,500 tensors"),
        ('{"self":{"tensors":"x"}}', '{"self":{"tensors":"x"}}'),
        ('{"size":[1,2]}', '{"size":[1,2]}'),
        ("no JSON " * 20, ("no JSON " * 20)[:57] + "..."),
    ],
)
def test_arguments_are_shown_by_their_largest_tensors(arguments: str, text: str) -> None:
    assert tensors(arguments) == text


def test_names_of_operators_are_short() -> None:
    assert short_name("aten.convolution.default") == "convolution"
    assert short_name("aten.add.Tensor") == "add.Tensor"
    assert len(short_name("triton_" + "x" * 200)) == 60
