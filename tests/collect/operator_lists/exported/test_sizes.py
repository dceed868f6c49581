"""Sizes of exported graphs: expressions of symbols, with numbers by hand."""

from __future__ import annotations

import pytest

from hpcbench.collect.operator_lists.exported.sizes import UnknownSizeError, evaluated, hint_of, size, symbol_of

S = "Symbol('s0', integer=True, positive=True)"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (S, 10),
        ("s0", 10),
        (f"Mul(Integer(196), {S})", 1960),
        (f"Add({S}, Integer(-1))", 9),
        ("s0*4 - 1", 39),
        (f"FloorDiv(Add({S}, Integer(-1)), Integer(4))", 2),
        ("(s0 - 1)//2 + 1", 5),
        (f"Mul(Rational(1, 2), {S})", 5),
        (f"Pow({S}, Integer(2))", 100),
        (f"Mod({S}, Integer(3))", 1),
        (f"Max(Integer(1), {S})", 10),
        (f"ModularIndexing({S}, Integer(2), Integer(3))", 2),
        ("-s0 + 12", 2),
    ],
)
def test_expressions_have_values(text: str, value: int) -> None:
    assert evaluated(text, {"s0": 10}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "Pow(Integer(10), Integer(1000))",
        "Pow(Integer(9), Pow(Integer(9), Integer(8)))",
        "Pow(Pow(Pow(Integer(9), Integer(-8)), Integer(8)), Integer(8))",
        "Mul(Rational(1, 3), Symbol('s0'))",
        "FloorDiv(Integer(1), Integer(0))",
        "[1 for a in b]",
        "1" * 20_000,
        "Mul(",
        "Symbol(3)",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluated(text, {"s0": 10})


def test_symbols_are_known_by_name_and_hint() -> None:
    assert (symbol_of({"as_expr": {"expr_str": S}}), symbol_of({"as_expr": {"expr_str": "s0"}})) == ("s0", "s0")
    assert symbol_of({"as_int": 3}) is None
    assert symbol_of({"as_expr": {"expr_str": f"Mul(Integer(2), {S})"}}) is None
    assert hint_of({"as_expr": {"expr_str": S, "hint": {"as_int": 7}}}) == 7
    assert hint_of({"as_expr": {"expr_str": S, "hint": None}}) is None
    assert size({"as_int": 3}, {}) == 3
    with pytest.raises(UnknownSizeError):
        size({"as_expr": {"expr_str": S}}, {})
