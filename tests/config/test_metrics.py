"""Metrics and expected patterns of an experiment file: what is wrong is refused with file, line and key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import Experiment
from hpcbench.config.metrics import column_of
from hpcbench.errors import UserError

Load = Callable[..., Experiment]


def test_metrics_are_read_by_name(load: Load) -> None:
    text = "metrics:\n  rate: {regex: 'rate: (.*)', unit: it/s, reduce: median}\n  loss: {json: a.b, file: out.json}\n"
    loaded = load(text + "expect: [done]", "metrics.rate.reduce=last")
    assert loaded.metrics["rate"].reduce == "last"
    assert (loaded.metrics["loss"].json_path, loaded.metrics["loss"].file) == ("a.b", "out.json")
    assert loaded.expect == ["done"]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("{regex: '('}", "metrics.m.regex: '(' is not a regular expression: missing )"),
        ("{regex: 'rate: .*'}", "metrics.m.regex: 'rate: .*' needs a group for the number"),
        ("{regex: '(.)(.)'}", "metrics.m.regex: '(.)(.)' has 2 groups; name the group of the number `value`"),
        ("{regex: '(.) (?P<unit>.)'}", "metrics.m.regex"),
        (
            "{regex: '(?P<value>.) (?P<unit>.)'}",
            "metrics.m: a pattern with a group `unit` requires the `unit`",
        ),
        ("{json: 'a..b'}", "metrics.m.json: 'a..b' is not a path such as runs[0].rate"),
        ("{json: ''}", "metrics.m.json: '' is not valid"),
        ("{csv: ''}", "metrics.m.csv: '' is not valid"),
        ("{csv: [1]}", "metrics.m.csv: [1] is not valid"),
        ("{}", "metrics.m: give exactly one of regex, json, mllog, csv and log"),
        ("{unit: s}", "metrics.m: give exactly one of regex, json, mllog, csv and log"),
        ("{csv: a, json: a}", "metrics.m: give exactly one of regex, json, mllog, csv and log"),
        ("{csv: a, reduce: average}", "metrics.m.reduce: 'average' is not valid: should be 'last', 'first'"),
        ("{csv: a, better: more}", "metrics.m.better: 'more' is not valid: should be 'higher' or 'lower'"),
        ("{mllog: $}", "metrics.m.mllog: '$' is not valid: must begin with a key of an MLPerf log"),
        ("{mllog: a..b}", "metrics.m.mllog: 'a..b' is not a path"),
        ("{csv: a, decimal: x}", "metrics.m.decimal: 'x' is not valid: should be '.' or ','"),
        ("{csv: a, file: /tmp/x}", "metrics.m.file: '/tmp/x' is not valid: the file must be in $HPCBENCH_RUN"),
        ("{csv: a, file: ../x}", "metrics.m.file: '../x' is not valid: the file must be in $HPCBENCH_RUN"),
        ("{csv: a, file: ''}", "metrics.m.file: '' is not valid"),
        ("5", "metrics.m: 5 is not valid"),
    ],
)
def test_a_metric_that_could_not_be_found_is_refused_with_its_place(metric: str, message: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(f"metrics:\n  m: {metric}\n")
    assert str(caught.value).startswith(f"study.yaml:6: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics:\n  m: {regexp: (.)}", "study.yaml:6: metrics.m.regexp: unknown key 'regexp' did you mean 'regex'?"),
        ("metrics:\n  m: {jsn: a}", "study.yaml:6: metrics.m.jsn: unknown key 'jsn' did you mean 'json'?"),
        ("metrics:\n  step rate: {csv: a}", "study.yaml:6: metrics.step rate: the metric 'step rate' must be a plain"),
        ("metrics:\n  größe: {csv: a}", "study.yaml:6: metrics.größe: the metric 'größe' must be a plain word"),
        (
            "metrics:\n  a: {csv: a, unit: b/c}\n  a_b: {csv: a, unit: per c}",
            "study.yaml:7: metrics.a_b: 'a_b' and 'a' would have the same column metric_a_b_per_c rename one of them",
        ),
        (
            "metrics:\n  a: {csv: a}\n  a_ci_low: {csv: a}",
            "study.yaml:7: metrics.a_ci_low: 'a_ci_low' and 'a' would have the same column metric_a_ci_low",
        ),
        ("expect: [ok, '(']", "study.yaml:5: expect[1]: '(' is not a regular expression"),
        ("expect: ok", "study.yaml:5: expect: 'ok' is not valid"),
        ("metrics: [a]", "study.yaml:5: metrics"),
    ],
)
def test_names_and_patterns_are_checked_when_the_file_is_read(text: str, message: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(text)
    assert " ".join(str(caught.value).split()).startswith(message)


@pytest.mark.parametrize(
    ("unit", "column"),
    [
        ("it/s", "metric_rate_it_per_s"),
        ("", "metric_rate"),
        ("%", "metric_rate_percent"),
        ("µs", "metric_rate_us"),
        ("GB/s", "metric_rate_GB_per_s"),
        ("tokens / (s GPU)", "metric_rate_tokens_per_s_GPU"),
    ],
)
def test_a_column_carries_the_unit(unit: str, column: str) -> None:
    assert column_of("rate", unit) == column
