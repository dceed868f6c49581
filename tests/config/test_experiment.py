from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.names import check_name
from hpcbench.config.yaml_document import load_yaml, parse_yaml
from hpcbench.errors import UserError
from hpcbench.util.package_data import shipped

Load = Callable[..., Experiment]


@pytest.mark.parametrize("file", sorted((shipped("configs") / "experiments").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_shipped_experiment_loads(file: Path) -> None:
    document = with_csv_files(load_yaml(file), lambda path: shipped("configs").parent / path)
    assert load_experiment(document).name == file.stem


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ("matrx: {nodes: [1]}", "study.yaml:5: matrx: unknown key", "did you mean 'matrix'?"),
        ("measure:\n  repetition: 3", "study.yaml:6: measure.repetition: unknown key", "did you mean 'repetitions'?"),
        ("slurm: {partion: cpu}", "study.yaml:5: slurm.partion: unknown key", "did you mean 'partition'?"),
        ("  batchsize: 4", "study.yaml:5: parameters.batchsize: unknown parameter", "did you mean 'batch_size'?"),
        ("matrix:\n  nods: [4]", "study.yaml:6: matrix.nods: unknown parameter", "did you mean 'nodes'?"),
        ("zip:\n- nodes: [4]\n  sed: [1]", "study.yaml:7: zip[0].sed: unknown parameter", "did you mean 'seed'?"),
        ("include: [{nods: 4}]", "study.yaml:5: include[0].nods: unknown parameter", "did you mean 'nodes'?"),
        ("exclude: [{nods: 4}]", "study.yaml:5: exclude[0].nods: unknown parameter", "did you mean 'nodes'?"),
        ("  zebra: 4", "study.yaml:5: parameters.zebra: unknown parameter", "add `framework: command`"),
        (
            "skip_larger_on_oom: [seed, batchsize]",
            "study.yaml:5: skip_larger_on_oom[1]: unknown parameter",
            "did you mean 'batch_size'?",
        ),
        (
            "skip_larger_on_oom:\n- model_options.layer",
            "study.yaml:6: skip_larger_on_oom[0]: unknown parameter",
            "did you mean 'model_options.layers'?",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_file_line_and_nearest_key(text: str, where: str, hint: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(text)
    assert str(caught.value).startswith(where)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("matrix: [1, 2]", "study.yaml:5: matrix"),
        ("zip: {batch_size: [1]}", "study.yaml:5: zip"),
        ("measure: {repetitions: three}", "study.yaml:5: measure.repetitions: 'three' is not valid"),
        ("measure: {repetitions: 0}", "study.yaml:5: measure.repetitions: 0 is not valid"),
        ("measure: {repetitions: 2.5}", "study.yaml:5: measure.repetitions"),
        ("measure: {min_time_s: 0}", "study.yaml:5: measure.min_time_s"),
        ('measure: {max_warmup_s: "1"}', "study.yaml:5: measure.max_warmup_s"),
        ("description: [a]", "study.yaml:5: description"),
        ("user_parameters: week", "study.yaml:5: user_parameters"),
        ("slurm: {exclusive: maybe}", "study.yaml:5: slurm.exclusive: 'maybe' is not valid"),
        ("slurm: {time: soon}", "study.yaml:5: slurm.time: 'soon' is not valid"),
        ("exclude: [5]", "study.yaml:5: exclude[0]: "),
        ("slurm: {options: {mail-type: [1]}}", "study.yaml:5: slurm.options.mail-type: "),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_place(text: str, where: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(text)
    assert str(caught.value).startswith(where)


@pytest.mark.parametrize(
    "text",
    [
        "matrix:",
        "matrix: {}",
        "zip: []",
        "zip:",
        "zip: [{}]",
        "include: [{nodes: []}]",
    ],
)
def test_an_empty_matrix_is_refused(text: str, load: Load) -> None:
    with pytest.raises(UserError, match=r"^study.yaml:5: "):
        load(text)


def test_an_experiment_without_axes_is_a_single_case(load: Load) -> None:
    assert load().axis_names == []


def test_a_missing_name_is_told() -> None:
    with pytest.raises(UserError, match="'name' is missing"):
        load_experiment(parse_yaml("parameters: {framework: pytorch}\n", "study.yaml"))


@pytest.mark.parametrize("name", ["a", "lstm-threads", "v1.5_b", "0", "a" * 80])
def test_a_plain_name_is_a_name(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "a/b", "..", "a..b", "../x", ".hidden", "-rf", "a b", "a\n", "$(id)", "a;b", "'a'", "é", "a" * 81]
)
def test_a_name_that_could_leave_its_folder_or_surprise_a_shell_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a name has at most 80 letters"):
        check_name(name)


def test_a_bad_name_is_refused_with_its_place() -> None:
    with pytest.raises(UserError, match=r"^study.yaml:1: name: '../x' is not valid: a name has at most 80 letters"):
        load_experiment(parse_yaml("name: ../x\n", "study.yaml"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zip: [{batch_size: [1, 2], seed: [1]}]", "batch_size has 2, seed has 1"),
        ("matrix: {seed: [1]}\nzip: [{seed: [1]}]", "duplicate axis 'seed', also in matrix"),
        ("zip: [{seed: [1]}, {seed: [1]}]", "duplicate axis 'seed', also in zip[0]"),
        ("user_parameters: [nodes]", "'nodes' is a standard parameter"),
        ("user_parameters: [run of the week]", "must be a plain word"),
        ("user_parameters: [max]", "'max' has a meaning in expressions"),
    ],
)
def test_axes_and_tags_that_mean_nothing_are_refused(text: str, words: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(text)
    assert words in str(caught.value)


def test_an_item_of_include_may_merge_an_earlier_one(load: Load) -> None:
    made = load("user_parameters: [x]\ninclude:\n- &base {x: 1, cpus_per_task: 1}\n- {<<: *base, x: 2}")
    assert made.include == [{"x": 1, "cpus_per_task": 1}, {"x": 2, "cpus_per_task": 1}]


def test_axis_names_are_in_order_of_appearance_each_once(load: Load) -> None:
    experiment = load(
        "matrix: {seed: [1], nodes: [1]}\nzip: [{batch_size: [1]}]\ninclude: [{dtype: float32, nodes: 2}]"
    )
    assert experiment.axis_names == ["seed", "nodes", "batch_size", "dtype"]


@pytest.mark.parametrize(("written", "part"), [("2 %", 0.02), ("0.5%", 0.005), ("0.02", 0.02)])
def test_a_precision_may_be_in_per_cent(written: str, part: float, load: Load) -> None:
    assert load(f"measure: {{precision: {written}}}").measure.precision == pytest.approx(part)


@pytest.mark.parametrize("written", ["two %", "'%'", "200 %", "[1]"])
def test_a_precision_that_is_no_part_is_refused(written: str, load: Load) -> None:
    with pytest.raises(UserError, match=r"measure\.precision"):
        load(f"measure: {{precision: {written}}}")


@pytest.mark.parametrize(
    ("text", "by_slurm"),
    [
        ("", True),
        ("retry: {on: [preempted]}", True),
        ("retry: {on: [node_failure, failed]}", True),
        ("retry: {on: [failed]}", False),
        ("retry: {on: []}", False),
        ("retry: {max: 0}", False),
    ],
)
def test_slurm_may_start_a_job_anew_where_what_it_lost_is_to_be_retried(text: str, by_slurm: bool, load: Load) -> None:
    assert load(text).retry.by_slurm == by_slurm


@pytest.mark.parametrize(
    "text", ["retry: {on: [completed]}", "retry: {max: -1}", "retry: {max: 101}", "retry: {of: 1}"]
)
def test_a_retry_that_makes_no_sense_is_refused(text: str, load: Load) -> None:
    with pytest.raises(UserError, match=r"^study.yaml:5: retry"):
        load(text)


def test_names_in_the_command_are_user_parameters_without_declaration() -> None:
    text = """name: study
parameters: {framework: command, command: "./a {{ size }} {{ batch_size }} {{ flag }}", flag: "-{{ level }}"}
matrix: {size: [1, 2], level: [1], command: ["./a {{ size }}", "./b {{ mode | quote }}"]}
include: [{mode: x}]
user_parameters: [rack]"""
    made = load_experiment(parse_yaml(text, "study.yaml"))
    assert made.all_user_parameters == ("rack", "size", "level", "mode", "flag")


def test_a_name_that_nothing_uses_is_unknown_also_of_a_command() -> None:
    text = """name: study
parameters: {framework: command, command: "./a {{ size }}"}
matrix: {size: [1], sise: [1]}"""
    with pytest.raises(UserError) as caught:
        load_experiment(parse_yaml(text, "study.yaml"))
    assert caught.value.where == "study.yaml:3: matrix.sise"
    assert "did you mean 'size'?" in str(caught.value)
    assert "use it in `command`, or add user_parameters: [sise]" in str(caught.value)
