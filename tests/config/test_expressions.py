from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbench.config.expressions import ExpressionError, Resolver
from hpcbench.util import limits
from tests.examples import examples

GIVEN = {"nodes": 4, "model": "lstm", "seed": None, "text": "7"}


def value(text: Any, **more: Any) -> Any:
    return Resolver({**GIVEN, **more, "it": text}).parameter("it")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ nodes }}", 4),
        ("  {{nodes}}  ", 4),
        ("{{ nodes * 2 + 1 }}", 9),
        ("{{ nodes / 8 }}", 0.5),
        ("{{ nodes // 3 }}", 1),
        ("{{ nodes % 3 }}", 1),
        ("{{ 2 ** nodes }}", 16),
        ("{{ nodes > 1 }}", True),
        ("{{ seed }}", None),
        ("{{ 8 if nodes > 2 else 1 }}", 8),
        ("{{ [nodes, 1] }}", [4, 1]),
        ("{{ {'layers': nodes} }}", {"layers": 4}),
        ("{{ text }}", "7"),  # text that looks like a number stays text
        ("{{ '8' }}", "8"),
        ("{{ max(nodes, 9) }}", 9),
        ("{{ [1, nodes] | max }}", 4),
        ("{{ (nodes / 3) | round | int }}", 1),
        ("n{{ nodes }}-{{ model }}", "n4-lstm"),
        ("{{ nodes }}{{ nodes }}", "44"),
        ("{{ model ~ nodes }}", "lstm4"),
        ("{{ model == 'lstm' and nodes in [2, 4] }}", True),
        ("plain {text}", "plain {text}"),
        ([{"a": "{{ nodes }}"}], [{"a": 4}]),
        ({"a": ["{{ nodes }}", 1]}, {"a": [4, 1]}),
        ("{{- nodes }}", 4),
        ("{{ {'a': {'b': 1}} }}", {"a": {"b": 1}}),
    ],
)
def test_an_expression_keeps_the_type_of_its_value(text: Any, result: Any) -> None:
    found = value(text)
    assert found == result
    assert type(found) is type(result)


def test_parameters_are_resolved_whatever_their_order() -> None:
    resolver = Resolver({"a": "{{ b + 1 }}", "b": "{{ c + 1 }}", "c": 1})
    assert [resolver.parameter(name) for name in "abc"] == [3, 2, 1]


@pytest.mark.parametrize(
    ("values", "circle"),
    [
        ({"a": "{{ a }}"}, "a -> a"),
        ({"a": "{{ b }}", "b": "{{ a }}"}, "a -> b -> a"),
        ({"a": "{{ b }}", "b": "x{{ c }}", "c": "{{ b + 1 }}"}, "b -> c -> b"),
        ({"a": ["{{ a }}"]}, "a -> a"),
    ],
)
def test_a_circle_is_refused_and_shown(values: dict[str, Any], circle: str) -> None:
    with pytest.raises(ExpressionError, match=f"are circular: {circle}$"):
        Resolver(values).parameter("a")


def test_an_undefined_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ExpressionError, match=r"'node' is not defined in '\{\{ node \}\}'") as caught:
        value("{{ node }}")
    assert caught.value.hint == "did you mean 'nodes'?"


@pytest.mark.parametrize(
    "text",
    [
        "{{ nodes.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "x{{ nodes.__class__ }}",
        "{{ nodes['__class__'] }}",
        "{{ ().__class__.__base__.__subclasses__() }}",
        "{{ max.__globals__ }}",
        "{{ nodes | attr('__class__') }}",
        "{{ self }}",
        "{{ cycler }}",
        "{{ range(3) }}",
        "{{ model.upper() }}",
        "{{ model.format(1) }}",
        "{{ max }}",
        "{{ (1, 2) }}",
        "{{ 2j }}",
    ],
)
def test_the_sandbox_gives_no_way_out(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ 10 ** 1000 }}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ (10 ** 6) ** 64 ** 64 }}",
        "{{ 'a' * 1000000000 }}",
        "{{ 1000000000 * 'a' }}",
        "{{ [0] * 1000000000 }}",
        "{{ '%0999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ " + "*".join(["(10 ** 6) ** 64"] * 100) + " }}",
        "{{ round(5, -1000000) }}",
        "{{ 5 | round(1000000, 'ceil') }}",
        "{{ " + "*".join(["(10 ** 6) ** 64"] * 15) + " }}",
        "{{ float('nan') }}",
        "{{ float('inf') }}",
    ],
)
def test_a_short_text_cannot_make_a_huge_or_impossible_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


GROWING = {
    "a chain of quotes": {"it": '{{ "\'" ' + "| quote " * 60 + "}}"},
    "a chain of texts of texts": {"it": "{{ " + "[" * 60 + '"\'"' + "] | string" * 60 + " }}"},
    "a list of lists of lists": {
        **{f"p{n}": f"{{{{ [{', '.join([f'p{n - 1}'] * 10)}] }}}}" for n in range(1, 40)},
        "p0": "x",
        "it": "{{ p39 | string }}",
    },
    "a text that doubles": {
        **{f"p{n}": f"{{{{ p{n - 1} ~ p{n - 1} }}}}" for n in range(1, 60)},
        "p0": "x",
        "it": "{{ p59 | length }}",
    },
    "a long text, often": {"note": "x" * 10**6, "it": "{{ " + "note ~ " * 1000 + "1 }}"},
    "a long expression": {"it": "{{ " + "'xxxxxxxxxx' ~ " * 10**4 + "1 }}"},
    "a long list, often": {"notes": ["x"] * 10**5, "it": "{{ notes + notes }}"},
    "a text with a long expression in it": {"note": "x" * 9000, "it": "{{ note }}" * 900},
}


@pytest.mark.parametrize("what", GROWING)
def test_values_that_grow_from_one_expression_to_the_next_are_refused_before_they_are_large(what: str) -> None:
    with limits.memory(200 * 2**20), limits.deadline(30), pytest.raises(ExpressionError):
        Resolver(GROWING[what]).parameter("it")


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in [1, 2] %}{{ i }}{% endfor %}",
        "{% macro m() %}{% endmacro %}",
        "{% include 'x' %}",
        "{% import 'x' as x %}",
        "{% from 'x' import x %}",
        "{% extends 'x' %}",
        "{% call max() %}{% endcall %}",
        "{% if nodes %}1{% endif %}",
        "{% set x = 1 %}{{ x }}",
        "{% with x = 1 %}{{ x }}{% endwith %}",
    ],
)
def test_a_statement_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


@pytest.mark.parametrize(
    "text", ["{{ }}", "{{ 1 + }}", "{{ nodes", "{{ 1 / 0 }}", "{{ model + 1 }}", "{{ seed + 1 }}", "{{ nodes | nope }}"]
)
def test_an_expression_that_fails_is_refused_and_named(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    assert caught.value.where == "it"
    assert repr(text) in caught.value.what


@pytest.mark.parametrize("text", ["(" * 500 + "1" + ")" * 500, "-" * 5000 + "1", "+".join(["1"] * 5000)])
def test_a_deep_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(f"{{{{ {text} }}}}")


def test_a_long_chain_of_parameters_ends_in_a_value_or_a_refusal() -> None:
    chain = {f"p{n}": f"{{{{ p{n + 1} }}}}" for n in range(5000)}
    with pytest.raises(ExpressionError):
        Resolver({**chain, "p5000": 1}).parameter("p0")


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(st.text("nodes mlt01.,:*/%+-<=~|()[]{}'\"_\n", max_size=25))
def test_any_text_in_braces_is_a_plain_value_or_refused(text: str) -> None:
    try:
        found = value(f"{{{{ {text} }}}}")
    except ExpressionError as error:
        found = str(error)
    assert isinstance(found, bool | int | float | str | list | dict | None)


def test_equal_values_of_different_types_are_not_mixed_up() -> None:
    shown = [Resolver({"x": value}).value("{{ x ~ '' }}", "y") for value in (1, True, 1.0, "1", 1)]
    assert shown == ["1", "True", "1.0", "1", "1"]
