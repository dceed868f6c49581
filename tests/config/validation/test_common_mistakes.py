"""What Slurm and PyTorch users often write: the error names what to write instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import Experiment, Measure
from hpcbench.config.parameters import NAMES, Parameters
from hpcbench.config.site import Environment, load_site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.validation import common_mistakes
from hpcbench.config.validation.common_mistakes import hint_for_axis
from hpcbench.config.workload.fields import FRAMEWORKS
from hpcbench.config.workload.nested import DOTTED
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.case import expand

Load = Callable[..., Experiment]
AS_ONE_VALUE = "to give a list as one value, write [[3, 8, 8]]"
EVERYWHERE = "under `parameters:` or `matrix:`"


def hint(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    (finding,) = caught.value.findings
    return finding.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("slurm: {gres: gpu:2}", f"use the parameter gpus_per_task, {EVERYWHERE}"),
        ("slurm: {gpus: 2}", f"use the parameter gpus_per_task, {EVERYWHERE}"),
        ("slurm: {gpus_per_node: 2}", f"use the parameter gpus_per_task, {EVERYWHERE}"),
        ("slurm: {cpus-per-task: 2}", f"use the parameter cpus_per_task, {EVERYWHERE}"),
        ("slurm: {nodes: 2}", f"use the parameter nodes, {EVERYWHERE}"),
        ("slurm: {ntasks-per-node: 2}", f"use the parameter tasks_per_node, {EVERYWHERE}"),
        ("slurm: {ntasks: 2}", "use the parameters nodes and tasks_per_node: it is their product"),
        ("slurm: {memory: 16G}", "did you mean 'mem'?"),
        ("slurm: {walltime: '1:00'}", "did you mean 'time'?"),
        ("slurm: {mem-per-cpu: 2G}", "did you mean 'mem_per_cpu'?"),
        ("slurm: {mail_type: END}", "write `mail-type: ...` in `options: {}` under `slurm:`"),
        ("slurm: {job_name: a}", "name the sweep: hpcbench sweep --name NAME"),
        ("slurm: {partition: [a, b]}", "write a,b"),
        ("slurm: {exclusive: yes}", "did you mean 'true'?"),
        ("slurm: {time: 1 hour}", 'write a time as M, M:S, H:M:S or D-H:M:S, e.g. "00:30:00"'),
        ("slurm: {options: {gres: gpu:1}}", "use the parameter gpus_per_task of the experiment"),
        ("account: abc", "write `account: ...` under `slurm:`"),
        ("gpus: 1", f"use the parameter gpus_per_task, {EVERYWHERE}"),
        ("batch: 32", f"use the parameter batch_size, {EVERYWHERE}"),
        ("repetitions: 3", "write `repetitions: ...` under `measure:`"),
        ("hidden_size: 3", "write `model_options: {hidden_size: ...}` under `parameters:`"),
        ("tags: [a]", "did you mean 'user_parameters'?"),
        ("grid: {nodes: [1]}", "did you mean 'matrix'?"),
        ("modules: [cuda]", "define an environment in the site file, and name it with the parameter environment"),
        ("measure: {warmup: 3}", "did you mean 'max_warmup_s'?"),
        ("metrics: {rate: 'rate=(.*)'}", "write `rate: {regex: 'rate=(.*)'}`"),
        ("retry: 3", "write `retry: {max: 3}`"),
        ("measure: 3", "write `measure: {repetitions: 3}`"),
        ("measure: {repetitions: '3'}", "remove the quotes: 3"),
        ("expect: done", "write [done]"),
        ("include: {model: mlp}", "begin each element of the list with `- `"),
        ("user_parameters: {width: 64}", "write [width], and give the values under `parameters:` or `matrix:`"),
        ("matrix: {nodes: [1..4]}", "write {range: [1, 4]}"),
        ("matrix: {nodes: 1..4}", "write {range: [1, 4]}"),
        ("matrix: {nodes: 4}", "write [4]"),
        ("matrix: {nodes: '1, 2,4'}", "write [1, 2, 4]"),
        ("matrix: {nodes: {values: [1, 2]}}", "write the list alone: [1, 2]"),
        ("matrix: {nodes: {min: 1, max: 8}}", "write {range: [1, 8]}"),
    ],
)
def test_a_common_mistake_is_answered_by_what_to_write(text: str, expected: str, load: Load) -> None:
    assert hint(lambda: load(text)) == expected


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("1-4", "write {range: [1, 4]}"),
        ("1...4", "write {range: [1, 4]}"),
        ("1..64:*2", 'write {range: [1, 64], step: "*2"}'),
        ("1..9:2", "write {range: [1, 9], step: 2}"),
        ("float32", "write [float32]"),
        ({"first": 1}, "write {range: [FIRST, LAST]}"),
    ],
)
def test_a_wrong_axis_is_answered_by_a_right_one(axis: object, expected: str) -> None:
    assert hint_for_axis(axis) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"  device: {name}", "did you mean 'gpu'?") for name in ("cuda", "CUDA", "cuda:0", "gp")),
        ("  dtype: bf16", "did you mean 'bfloat16'?"),
        *((f"  dtype: {name}", "did you mean 'float16'?") for name in ("fp16", "half")),
        ("  dtype: fp32", "did you mean 'float32'?"),
        ("  threads: 4", "use the parameter intra_op_threads: 4"),
        ("  task: train", "did you mean 'training'?"),
        ("  batch_size: [32, 64]", "to measure several values, write `batch_size: [...]` under `matrix:`"),
        ("matrix: {device: [cpu, cuda]}", "did you mean 'gpu'?"),
        *((text, AS_ONE_VALUE) for text in ("matrix: {input.shape: [3, 8, 8]}", "include: [{input.shape: [3, 8, 8]}]")),
        ("matrix: {input.shape: [4, [3, 8, 8]]}", "write [4]"),
        ("  input.shape: 4", "write [4]"),
    ],
)
def test_a_wrong_value_is_answered_by_the_right_one(text: str, expected: str, load: Load) -> None:
    document = parse_yaml("name: study\nparameters:\n  framework: pytorch\n  model: lstm\n" + text, "study.yaml")
    assert hint(lambda: expand(load(text), document, SlurmOptions())) == expected


def test_all_wrong_values_of_a_case_are_reported(load: Load) -> None:
    text = "  device: cuda\n  dtype: half\n  batch_size: none\n"
    document = parse_yaml("name: study\nparameters:\n  framework: pytorch\n  model: lstm\n" + text, "study.yaml")
    with pytest.raises(UserError) as caught:
        expand(load(text), document, SlurmOptions())
    assert [each.where for each in caught.value.findings] == [
        *("study.yaml:5: parameters.device", "study.yaml:6: parameters.dtype", "study.yaml:7: parameters.batch_size"),
    ]


def test_a_parameter_of_a_program_needs_a_command_that_uses_it(load: Load) -> None:
    assert hint(lambda: load("  workers: 4")) == (
        "for a parameter of your own program, add `framework: command` and "
        '`command: "python3 train.py --workers {{ workers }}"`'
    )
    assert hint(lambda: load("  bs: 4")).startswith("did you mean 'batch_size'?\nfor a parameter of your own program, ")
    assert hint(lambda: load("matrix: {framework: [command]}\ninclude: [{workers: 4}]")) == (
        "for a parameter of your own program, use it in `command`, or add user_parameters: [workers]"
    )
    assert hint(lambda: load("  command: train.py {workers}\nmatrix: {framework: [command], workers: [4]}")) == (
        "in an experiment file, write {{ workers }} in `command`; only hpcbench run uses {workers}"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("partition: gpu", "write `partition: ...` under `slurm:`"),
        ("slurm: {gres: gpu}", "use the parameter gpus_per_task of the experiment"),
        ("slurm: {queue: gpu}", "did you mean 'partition'?"),
        ("environments: {a: {venv: /opt}}", "did you mean 'python'?"),
        ("environments: {a: {modules: cuda}}", "write [cuda]"),
        ("partitions: {a: {max_time: soon}}", 'write a time as M, M:S, H:M:S or D-H:M:S, e.g. "00:30:00"'),
    ],
)
def test_a_common_mistake_in_a_site_file_is_answered(text: str, expected: str) -> None:
    site = parse_yaml(f"name: cluster\nscheduler: slurm\n{text}\n", "site.yaml")
    assert hint(lambda: load_site(site)) == expected


def test_every_name_that_stands_for_another_one_leads_to_a_key_that_exists() -> None:
    keys = {*NAMES, *SlurmOptions.model_fields, *Experiment.model_fields, *Measure.model_fields}
    assert set(common_mistakes._CALLED.values()) <= keys | Environment.model_fields.keys() | DOTTED
    assert common_mistakes._CALLED.keys() & keys == {"precision"}  # of `measure:`, and of PyTorch users for dtype
    assert set(common_mistakes._VALUES["framework"].values()) <= set(FRAMEWORKS)
    for name in ("device", "dtype", "task"):
        allowed = Parameters.model_fields[name].annotation.__args__  # type: ignore[union-attr]
        assert set(common_mistakes._VALUES[name].values()) <= set(allowed)
        assert not common_mistakes._VALUES[name].keys() & set(allowed)
