"""All errors of a file at once: in the order of its lines, each cause once, at most 20."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.config.recipe import load_recipe
from hpcbench.config.site import load_site
from hpcbench.config.validation.findings import MOST_LISTED
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import Finding, UserError

Load = Callable[..., Experiment]

EVERYTHING = """\
  batchsize: 4
account: abc
matrix:
  nodes: 4
  sed: [1]
  seed:
    range: [4, 1]
zip:
- model_options: [1, 2]
  dtype: [a]
measure: {repetitions: 0}
user_parameters: [nodes]
same_workload: [speed]
skip_larger_on_oom: [big]
tune: {held_out: [{}]}
metrics: {a b: {csv: x}}
expect: ["("]
slurm:
  time: soon
  partion: gpu
  mem: "{{ nodes }}G"
"""


def findings(load: Callable[[], object]) -> tuple[Finding, ...]:
    with pytest.raises(UserError) as caught:
        load()
    return caught.value.findings


def places(found: tuple[Finding, ...]) -> list[str]:
    return [each.where.removeprefix("study.yaml:") for each in found]


def test_all_errors_of_an_experiment_are_reported_in_the_order_of_its_lines(load: Load) -> None:
    assert places(findings(lambda: load(EVERYTHING))) == [
        *("5: parameters.batchsize", "6: account", "8: matrix.nodes", "9: matrix.sed", "10: matrix.seed"),
        *("13: zip[0]", "15: measure.repetitions", "16: user_parameters[0]", "17: same_workload[0]"),
        *("18: skip_larger_on_oom[0]", "19: tune.held_out[0]", "20: metrics.a b", "21: expect[0]"),
        *("23: slurm.time", "24: slurm.partion"),
    ]


def test_a_missing_key_is_reported_with_the_others_and_first() -> None:
    document = parse_yaml("parameters: {nods: 1}\nmatrx: {}\n", "study.yaml")
    found = findings(lambda: load_experiment(document))
    assert [each.what for each in found] == ["'name' is missing", "unknown parameter 'nods'", "unknown key 'matrx'"]


def test_all_errors_of_a_site_are_reported() -> None:
    text = "scheduler: pbs\nenvironments:\n  pytroch: {modules: x}\nslurm: {time: soon, gres: gpu}\nlimits: {x: 1}\n"
    found = findings(lambda: load_site(parse_yaml(text, "study.yaml"), {"pytorch"}))
    assert places(found) == [
        *("study.yaml", "1: scheduler", "3: environments.pytroch", "3: environments.pytroch.modules"),
        *("4: slurm.time", "4: slurm.gres", "5: limits.x"),
    ]
    assert found[2].hint == "did you mean 'pytorch'?"


def test_all_errors_of_a_recipe_are_reported() -> None:
    text = "description: [a]\npython: three\nimports: []\nsteps: [{install: ['==']}]\n"
    found = findings(lambda: load_recipe(parse_yaml(text, "study.yaml")))
    assert places(found) == ["1: description", "2: python", "3: imports", "4: steps[0].install"]


def test_at_most_twenty_are_listed_and_the_others_are_counted(load: Load) -> None:
    names = [f"key{number:02d}" for number in range(MOST_LISTED + 5)]
    with pytest.raises(UserError) as caught:
        load("".join(f"{name}: 1\n" for name in names))
    assert [each.where for each in caught.value.findings] == [
        f"study.yaml:{line}: {name}" for line, name in enumerate(names[:MOST_LISTED], 5)
    ]
    assert caught.value.rest == "and 5 more errors in study.yaml"
    assert str(caught.value).endswith("\nand 5 more errors in study.yaml")
    with pytest.raises(UserError) as caught:
        load("".join(f"{name}: 1\n" for name in names[:MOST_LISTED]))
    assert caught.value.rest == ""


def test_one_cause_is_one_error(load: Load) -> None:
    aliased = "expect: [a]\nexclude: []\nmetrics:\n  a: &read {regexp: x}\n  b: *read\n"
    assert places(findings(lambda: load(aliased))) == ["8: metrics.a.regexp"]
    used_often = "matrix: {workers: [1]}\ninclude: [{workers: 2}, {workers: 3}]\nexclude: [{workers: 1}]\n"
    assert places(findings(lambda: load(used_often))) == ["5: matrix.workers"]


def test_different_keys_of_one_line_with_the_same_error_are_two_errors(load: Load) -> None:
    assert places(findings(lambda: load("matrix: {seed: [], nodes: []}"))) == ["5: matrix.seed", "5: matrix.nodes"]


def test_names_that_a_wrong_axis_declares_are_not_unknown(load: Load) -> None:
    text = 'matrix:\n  command: "./a {{ size }}"\n  size: [1]\n'
    assert places(findings(lambda: load(text))) == ["6: matrix.command"]


def test_names_are_not_checked_without_the_groups_that_declare_them(load: Load) -> None:
    text = "user_parameters: week\nmatrix: {week: [1]}\n"
    assert places(findings(lambda: load(text))) == ["5: user_parameters"]


def test_an_error_of_a_setting_of_the_command_line_comes_last(load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load("mesure: 1\n", "batchsize=4")
    assert [each.where for each in caught.value.findings] == [
        "study.yaml:5: mesure",
        "--set batchsize: parameters.batchsize",
    ]


def test_a_hint_of_several_lines_is_indented_in_text() -> None:
    assert str(UserError("it is wrong", where="f.yaml:1", hint="do this\nor that")) == (
        "f.yaml:1: it is wrong\n  do this\n  or that"
    )
