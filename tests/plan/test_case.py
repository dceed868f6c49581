from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.case import Case, case_id
from hpcbench.plan.plan import Plan

MakePlan = Callable[..., Plan]


@pytest.fixture
def cases(plan: MakePlan) -> Callable[..., list[Case]]:
    return lambda *args, **kwargs: list(plan(*args, **kwargs).cases)


@pytest.fixture
def only(cases: Callable[..., list[Case]]) -> Callable[..., Case]:
    def only_case(*args: str, **kwargs: Any) -> Case:
        (case,) = cases(*args, **kwargs)
        return case

    return only_case


def test_the_id_of_a_case_is_pinned() -> None:
    """It names the case in every sweep, on every machine, in every version: it must never change."""
    given = {"framework": "pytorch", "model": "lstm", "task": "inference", "batch_size": 16, "execution": "eager"}
    assert case_id(Parameters.model_validate({**given, "intra_op_threads": 2}), {"week": 7}) == "c2075eaa27416"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "  batch_size: 32\n  strategy: single\n  seed: 0\n  dtype: float32"),
        ("", "  intra_op_threads: null"),
        ("", "  model_options: {}"),
        ("  device: gpu", "  device: gpu\n  gpus_per_task: 1"),
        ("", "  execution: eager"),
        ("  batch_size: 8", "matrix: {batch_size: [8]}"),
        ("  batch_size: 8", "include: [{batch_size: 8}]"),
        ("  batch_size: 8", '  batch_size: "{{ nodes * 8 }}"'),
        ("", "measure: {repetitions: 7}\nslurm: {time: 5}"),
        ("  model_options: {layers: 3, classes: 7}", "  model_options: {classes: 7, layers: 3}"),
        ("", "  model_options: {layers: 2}"),
    ],
)
def test_equal_cases_have_equal_ids_however_they_are_written(one: str, other: str, only: Callable[..., Case]) -> None:
    assert only(one).id == only(other).id


def test_the_order_of_keys_does_not_matter(only: Callable[..., Case]) -> None:
    lines = ["  batch_size: 8\n", "  seed: 3\n", "  a: 1\n", "  b: 2\n"]
    texts = ["".join(order) + "user_parameters: [a, b]\n" for order in itertools.permutations(lines)]
    assert len({only(text).id for text in texts}) == 1
    assert only(texts[0]).id == only(texts[0].replace("[a, b]", "[b, a]")).id


def test_different_cases_have_different_ids(cases: Callable[..., list[Case]]) -> None:
    texts = ["", "  batch_size: 8", "  seed: 1", "  seed: 8", "  execution: compiled", "  model_options: {layers: 3}"]
    texts += [f"  week: {week}\nuser_parameters: [week]" for week in ("1", "2", '"1"', "true")]
    ids = [case.id for text in texts for case in cases(text)]
    ids += [case.id for case in cases("matrix: {batch_size: {range: [33, 1000]}}")]
    assert len(set(ids)) == len(ids) == len(texts) + 968


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  nodes: -1", "study.yaml:5: parameters.nodes: -1 is not valid: should be greater than or equal to 1"),
        ("  batch_size: many", "study.yaml:5: parameters.batch_size: 'many' is not valid: should be a valid integer"),
        ("  batch_size: [1, 2]", "study.yaml:5: parameters.batch_size: [1, 2] is not valid"),
        ("matrix:\n  seed: [1]\n  nodes: [1, -1]", "study.yaml:7: matrix.nodes: -1 is not valid"),
        ("zip:\n- seed: [-1]", "study.yaml:6: zip[0].seed: -1 is not valid"),
        ("include:\n- seed: -1", "study.yaml:6: include[0].seed: -1 is not valid"),
        ("include:\n- seed: 1\n- seed: -1", "study.yaml:7: include[1].seed: -1 is not valid"),
        ("matrix: {seed: [1]}\ninclude:\n- seed: 2\n- seed: -1", "study.yaml:8: include[1].seed: -1 is not valid"),
        ("  batch_size: '{{ batchsize }}'", "study.yaml:5: parameters.batch_size: 'batchsize' is not defined"),
        ("  seed: '{{ 1 / 0 }}'", "study.yaml:5: parameters.seed: '{{ 1 / 0 }}' cannot be evaluated"),
        (
            "  batch_size: '{{ seed }}'\n  seed: '{{ batch_size }}'",
            "study.yaml:5: parameters.batch_size: the expressions are circular: batch_size -> seed -> batch_size",
        ),
        ("  model_options: {layers: '{{ x }}'}", "study.yaml:5: parameters.model_options: 'x' is not defined"),
        ("slurm:\n  time: '{{ x }}'", "study.yaml:6: slurm.time: 'x' is not defined"),
        ("slurm:\n  time: '{{ model }}'", "study.yaml:6: slurm.time: 'lstm' is not valid"),
        ("slurm:\n  account: 'a{{ model }};'", "study.yaml:6: slurm.account: 'alstm;' is not valid"),
        ("slurm:\n  options: {comment: '{{ \"a\\nb\" }}'}", "study.yaml:6: slurm.options: "),
        (
            "  week: [1]\nuser_parameters: [week]",
            "study.yaml:5: parameters.week: the user parameter 'week' must be a plain value",
        ),
        ("exclude:\n- '{{ x }}'", "study.yaml:6: exclude[0]: 'x' is not defined"),
        ("exclude:\n- nodes > 1", "study.yaml:6: exclude[0]: 'nodes > 1' is not a condition"),
        ("exclude: [{seed: 0}]", "study.yaml:5: exclude: all points of the matrix are excluded"),
        (
            "  model_options: {layers: [1]}",
            "study.yaml:2: parameters: the option 'layers' of lstm must be a whole number",
        ),
    ],
)
def test_a_bad_value_is_refused_with_file_line_and_key(text: str, message: str, plan: MakePlan) -> None:
    with pytest.raises(UserError) as caught:
        plan(text)
    assert str(caught.value).startswith(message)


def test_a_combination_that_makes_no_sense_is_told_with_how_to_leave_it_out(plan: MakePlan) -> None:
    with pytest.raises(
        UserError, match=r"matrix\.threads: threads: none cannot be used with intra_op_threads: 1"
    ) as error:
        plan("matrix: {threads: [none, fixed], intra_op_threads: [1, 2]}")
    assert '`exclude: [{"threads": "none", "intra_op_threads": 1}]`' in str(error.value)


def test_an_expression_of_what_is_not_set_says_how_to_write_it(plan: MakePlan) -> None:
    with pytest.raises(UserError, match=r"write e\.g\. \(intra_op_threads or 1\)"):
        plan('matrix: {instances: [1, 2]}\nexclude: ["{{ instances * intra_op_threads > 2 }}"]')


def test_an_exclusion_by_a_parameter_that_no_one_sets_is_no_crash() -> None:
    from hpcbench.config.experiment import load_experiment
    from hpcbench.config.slurm_options import SlurmOptions
    from hpcbench.plan.case import expand

    document = parse_yaml("name: a\nparameters: {framework: pytorch}\nexclude: [{model: lstm}]\n", "study.yaml")
    with pytest.raises(UserError, match="model"):
        expand(load_experiment(document), document, SlurmOptions())


GRID = "matrix: {batch_size: [1, 2, 4], seed: [0, 1]}\n"


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("", [(1, 0), (1, 1), (2, 0), (2, 1), (4, 0), (4, 1)]),
        ("exclude: [{batch_size: 1}]", [(2, 0), (2, 1), (4, 0), (4, 1)]),
        ("exclude: [{batch_size: 1, seed: 1}]", [(1, 0), (2, 0), (2, 1), (4, 0), (4, 1)]),
        ("exclude: [{batch_size: [1, 4]}]", [(2, 0), (2, 1)]),
        ("exclude: [{batch_size: 1}, {seed: 1}]", [(2, 0), (4, 0)]),
        ('exclude: ["{{ batch_size > 1 }}"]', [(1, 0), (1, 1)]),
        ('exclude: ["{{ batch_size * 2 + seed in [2, 5] }}"]', [(1, 1), (2, 0), (4, 0), (4, 1)]),
        ("exclude: [{batch_size: 1, nodes: 1}]", [(2, 0), (2, 1), (4, 0), (4, 1)]),  # defaults count, too
        ("exclude: [{batch_size: [1, 2, 4], seed: 1}]\ninclude: [{batch_size: 9}]", [(1, 0), (2, 0), (4, 0), (9, 0)]),
        ('exclude: [{batch_size: "{{ nodes }}"}]', [(2, 0), (2, 1), (4, 0), (4, 1)]),
    ],
)
def test_exclude_drops_the_points_that_match(
    text: str, points: list[tuple[int, int]], cases: Callable[..., list[Case]]
) -> None:
    assert [(c.parameters.batch_size, c.parameters.seed) for c in cases(GRID + text)] == points


def test_an_exclusion_that_drops_nothing_is_told(plan: MakePlan) -> None:
    assert plan(GRID + "exclude: [{seed: 1}, {batch_size: 3}]").warnings == ("exclude[1] matches no point",)


def test_a_point_that_repeats_a_case_is_dropped_and_told(plan: MakePlan) -> None:
    made = plan("matrix: {batch_size: [1, 1, 2]}\ninclude: [{batch_size: 2}]")
    assert [case.parameters.batch_size for case in made.cases] == [1, 2]
    assert made.warnings == ("2 duplicate points were removed",)
    assert plan("matrix: {batch_size: [1, 1, 2]}").warnings == ("1 duplicate point was removed",)


def test_an_excluded_point_need_not_be_valid(cases: Callable[..., list[Case]]) -> None:
    assert len(cases("matrix: {nodes: [1, 2]}\nexclude: [{nodes: 2}]")) == 1  # nodes: 2 with the strategy single


def test_an_expression_sees_the_gpus_that_the_case_has(only: Callable[..., Case]) -> None:
    assert only('  device: gpu\n  cpus_per_task: "{{ gpus_per_task * 4 }}"').parameters.cpus_per_task == 4


@pytest.mark.parametrize(
    ("framework", "usual"), [("pytorch", "eager"), ("tensorflow", "graph"), ("jax", "compiled"), ("mxnet", "graph")]
)
def test_a_case_says_how_it_is_executed_and_an_expression_sees_it(
    framework: str, usual: str, only: Callable[..., Case]
) -> None:
    text = '  how: "{{ execution }}"\nuser_parameters: [how]'
    case = only(text, f"framework={framework}")
    assert (case.parameters.execution, case.user_parameters["how"]) == (usual, usual)


@pytest.mark.parametrize(
    ("given", "threads"),
    [
        ("", "none"),
        ("  intra_op_threads: 1\n", "fixed"),
        ("  inter_op_threads: 1\n", "fixed"),
        ("  threads: dynamic\n", "dynamic"),
    ],
)
def test_a_case_says_how_it_has_its_threads_and_an_expression_sees_it(
    given: str, threads: str, only: Callable[..., Case]
) -> None:
    case = only(given + '  how: "{{ threads }}"\nuser_parameters: [how]')
    assert (case.parameters.threads, case.user_parameters["how"]) == (threads, threads)


def test_tags_are_carried_and_may_be_expressions(cases: Callable[..., list[Case]]) -> None:
    found = cases('  label: "{{ model }}-{{ seed }}"\nuser_parameters: [label, unset]\nmatrix: {seed: [1, 2]}')
    assert [case.user_parameters for case in found] == [
        {"label": "lstm-1", "unset": None},
        {"label": "lstm-2", "unset": None},
    ]


def test_the_input_of_a_model_depends_on_a_user_parameter_with_an_axis(cases: Callable[..., list[Case]]) -> None:
    declared = "user_parameters: [length]\nmatrix: {length: [16, 32]}"
    made = cases(f'  input: {{shape: ["{{{{ length }}}}"]}}\n{declared}', "model=nets:build")
    assert [case.parameters.planned()["input"] for case in made] == [{"shape": [16]}, {"shape": [32]}]
    assert [case.user_parameters for case in made] == [{"length": 16}, {"length": 32}]
    assert len({case.id for case in made}) == 2


def test_the_environment_is_called_like_the_framework_unless_it_is_named(only: Callable[..., Case]) -> None:
    assert only("").environment == "pytorch"
    assert only("  environment: other", site="  other: {}").environment == "other"


def test_the_experiment_asks_on_top_of_the_site(only: Callable[..., Case]) -> None:
    site = "slurm: {account: mine, time: 5, mem: 1G}"
    slurm = only('  seed: 3\nslurm: {time: "{{ seed }}:00:00", mem: null}', site=site).slurm
    assert (slurm.account, slurm.time, slurm.mem) == ("mine", "3:00:00", None)


def test_memory_per_cpu_replaces_the_memory_of_the_site(only: Callable[..., Case]) -> None:
    slurm = only("slurm: {mem_per_cpu: 2G}", site="slurm: {mem: 16G}").slurm
    assert (slurm.mem, slurm.mem_per_cpu) == (None, "2G")
