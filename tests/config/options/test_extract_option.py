"""The option --extract: a metric from its text, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.options.extract_option import metric_of, metrics_of
from hpcbench.errors import UserError


@pytest.mark.parametrize(
    ("text", "name", "definition"),
    [
        ("rate=rate: ([0-9.]+)", "rate", {"regex": "rate: ([0-9.]+)"}),
        ("rate:higher=a=(.), b:(?:x)", "rate", {"regex": "a=(.), b:(?:x)", "better": "higher"}),
        ("loss:lower=(?P<value>.)(x)", "loss", {"regex": "(?P<value>.)(x)", "better": "lower"}),
        ("a=b\n(.)", "a", {"regex": "b\n(.)"}),
    ],
)
def test_a_metric_is_a_name_a_direction_and_a_pattern(text: str, name: str, definition: dict[str, Any]) -> None:
    assert metric_of(text) == (name, {**definition, "reduce": "last"})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "write --extract as NAME[:higher|:lower]=REGEX"),
        ("rate", "write --extract as NAME"),
        ("rate=", "write --extract as NAME"),
        ("rate:higher", "write --extract as NAME"),
        ("=(.)", "the metric '' must be a plain word"),
        ("step rate=(.)", "the metric 'step rate' must be a plain word"),
        ("samples/s=([0-9.]+)", "the metric 'samples/s' must be a plain word"),
        ("größe=(.)", "must be a plain word"),
        ("rate:up=(.)", "'up' is neither higher nor lower"),
        ("rate:=(.)", "'' is neither higher nor lower"),
        ("rate=(", "is not a regular expression"),
        ("rate=a", "needs a group for the number"),
        ("rate=(.)(.)", "'(.)(.)' has 2 groups; name the group of the number `value`"),
        ("rate=(" + "x" * 1000 + ")", "at most 1000 characters"),
    ],
)
def test_other_texts_are_errors(text: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        metric_of(text)
    assert what in caught.value.what
    assert caught.value.where == f"--extract {text}"
    assert caught.value.hint == "for example: --extract 'rate:higher=rate: ([0-9.]+)'"


def test_a_unit_needs_an_experiment_file() -> None:
    with pytest.raises(UserError) as caught:
        metric_of("rate=(?P<value>.)(?P<unit>it/s|s/it)")
    assert "requires the `unit`" in caught.value.what
    assert caught.value.hint.startswith("define the metric in an experiment file, with `regex` and `unit`")


def test_a_name_is_given_once() -> None:
    assert list(metrics_of(["rate=(.)", "loss=(.)"])) == ["rate", "loss"]
    with pytest.raises(UserError) as caught:
        metrics_of(["rate=(.)", "rate:higher=r=(.)"])
    assert caught.value.what == "the metric 'rate' is also defined by another --extract"
