"""The JSON Schemas accept what the checks accept, and refuse unknown keys and wrong types, as the checks do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from hpcbench.commands.shared.json_schema import KINDS, json_schema, schema_comment
from hpcbench.config.container import Container
from hpcbench.config.devices.description import Description, MatrixRates
from hpcbench.config.devices.load import with_devices
from hpcbench.config.experiment import Experiment, Measure, Tune, load_experiment
from hpcbench.config.matrix.axes import Range
from hpcbench.config.matrix.csv_group import CsvGroup, with_csv_files
from hpcbench.config.metrics import Metric
from hpcbench.config.parameters import Parameters
from hpcbench.config.recipe import Compile, Step, load_recipe
from hpcbench.config.retry import Retry
from hpcbench.config.site import Carbon, Cost, Environment, Launcher, Limits, Partition, load_site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.workload.data_source import DataSource
from hpcbench.config.yaml_document import Document, load_yaml, parse_yaml
from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.package_data import shipped
from tests.config.conftest import START

ROOT = Path(__file__).parents[3]
FOLDERS = {"experiment": "experiments", "site": "sites", "recipe": "environments", "device": "devices"}
SHIPPED = [(kind, file) for kind, folder in FOLDERS.items() for file in (shipped("configs") / folder).glob("*.yaml")]
CSV_FILES = Workspace(ROOT / "tests" / "fixtures" / "workspace")


def _load_experiment(document: Document) -> Experiment:
    return load_experiment(with_csv_files(document, CSV_FILES.input_file))


CHECKS: dict[str, Callable[[Document], Any]] = {
    "experiment": _load_experiment,
    "site": load_site,
    "recipe": load_recipe,
    "device": lambda document: with_devices([document]),
}
# The keys that a file must have, for the fragments in the docs.
REQUIRED: dict[str, dict[str, Any]] = {
    "experiment": {"name": "study"},
    "site": {"name": "cluster", "scheduler": "slurm"},
    "recipe": {"description": "a", "python": ">=3.8", "imports": ["a"], "steps": [{"install": ["a"]}]},
    "device": {},
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Files named .yaml; those of CI services end in .yml.
BLOCK = re.compile(r'```yaml(?: title="[^"]+\.yaml")?\n(.*?)```', re.DOTALL)
BLOCKS = [text for page in PAGES for text in BLOCK.findall(page.read_text("utf-8"))]
CSV_BLOCK = re.compile(r'```csv title="configs/data/shapes.csv"\n(.*?)```', re.DOTALL)
VALIDATORS = {kind: Draft202012Validator(json_schema(kind)) for kind in KINDS}


def is_valid(kind: str, data: Any) -> bool:
    return bool(VALIDATORS[kind].is_valid(data))


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_one_and_is_shipped(kind: str) -> None:
    schema = json.loads((shipped("configs") / "schemas" / f"{kind}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema == json_schema(kind)
    assert {"$schema", "$id", "title", "description", "properties"} <= schema.keys()


@pytest.mark.parametrize(("kind", "file"), SHIPPED, ids=lambda value: getattr(value, "stem", value))
def test_a_shipped_file_is_valid_and_names_its_schema(kind: str, file: Path) -> None:
    assert list(VALIDATORS[kind].iter_errors(load_yaml(file).data)) == []
    first = file.read_text("utf-8").splitlines(keepends=True)[0]
    assert first == schema_comment(kind, file) == f"# yaml-language-server: $schema=../schemas/{kind}.json\n"
    assert (file.parent / first.strip().rpartition("=")[2]).is_file()


def test_each_kind_has_shipped_files() -> None:
    assert {kind for kind, _ in SHIPPED} == set(KINDS)


@pytest.mark.parametrize("text", BLOCKS, ids=[str(index) for index in range(len(BLOCKS))])
def test_what_the_docs_show_is_valid(text: str) -> None:
    document = parse_yaml(text, "docs.yaml")
    kinds = [kind for kind in KINDS if _accepted(kind, document)]
    assert kinds, "no check accepts it"
    for kind in kinds:
        assert list(VALIDATORS[kind].iter_errors({**REQUIRED[kind], **document.data})) == []


def _accepted(kind: str, document: Document) -> bool:
    try:
        CHECKS[kind](Document(document.name, {**REQUIRED[kind], **document.data}, document.places, ""))
    except UserError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        'matrix: {batch_size: [1, "{{ nodes * 2 }}"], nodes: {range: [1, 2]}}',
        'matrix: {size: [1, a, 2.5], level: {range: [1, 8], step: "*2"}}\nuser_parameters: [size, level]',
        'zip: [{batch_size: [1, 2], seed: ["{{ nodes }}", 3]}]',
        "zip: [{seed: [1]}, {file: configs/data/shapes.csv, where: {set: [small, large]}}]",
        'zip: [{file: configs/data/shapes.csv, where: "{{ gflop < 1 }}"}]',
        "zip: [{file: configs/data/shapes.csv}]",
        'include: [{nodes: [1, 2], model_options: "{{ {} }}"}, {batch_size: "{{ nodes }}"}]',
        'exclude: ["{{ nodes > 2 }}", {nodes: [1, 2], batch_size: "{{ nodes }}"}]',
        "  model_options: {hidden_size: 4}\n  cpus_per_task: '{{ 2 if device == \"cpu\" else 1 }}'\n  threads: null",
        'slurm: {time: 00:10:00, mem: "{{ nodes }}G", exclusive: "{{ nodes > 1 }}", options: {mail-type: END}}',
        "slurm: {time: 30, mem: 4000, gpu_option: \"{{ 'gres' }}\"}",
        "measure: {precision: 2 %, repetitions: 3}",
        "measure: {precision: 0.02}",
        "metrics: {rate: {json: 'a[0]', unit: it/s, better: higher}}",
        "retry: {on: [failed], max: 1}\nexpect: [ok]",
    ],
)
def test_an_expression_a_range_or_a_time_is_valid(text: str) -> None:
    document = parse_yaml(START + text, "study.yaml")
    CHECKS["experiment"](document)
    assert list(VALIDATORS["experiment"].iter_errors(document.data)) == []


@pytest.mark.parametrize(
    "text",
    [
        "matrx: {nodes: [1]}",
        "measure: {repetition: 3}",
        "slurm: {partion: cpu}",
        "matrix: [1, 2]",
        "matrix:",
        "matrix: {}",
        "matrix: {nodes: 4}",
        "matrix: {nodes: []}",
        "matrix: {nodes: {range: [1]}}",
        "matrix: {nodes: {rnge: [1, 2]}}",
        "zip: {batch_size: [1]}",
        "zip: []",
        "zip: [{}]",
        "zip: [{file: 3}]",
        "zip: [{where: {set: a}}]",
        "zip: [{file: configs/data/shapes.csv, wher: {set: a}}]",
        "zip: [{file: configs/data/shapes.csv, where: set}]",
        "zip: [{file: configs/data/shapes.csv, seed: [1]}]",
        "include: [{nodes: []}]",
        "measure: {repetitions: three}",
        "measure: {repetitions: 0}",
        "measure: {repetitions: 2.5}",
        "measure: {precision: two}",
        "measure: {precision: 2}",
        'measure: {max_warmup_s: "1"}',
        "description: [a]",
        "user_parameters: week",
        "slurm: {exclusive: maybe}",
        "slurm: {options: {mail-type: [1]}}",
        "exclude: [5]",
        "metrics: {rate: {reduce: most}}",
        "retry: {on: [completed]}",
    ],
)
def test_what_the_check_of_an_experiment_refuses_is_not_valid(text: str) -> None:
    document = parse_yaml(START + text, "study.yaml")
    with pytest.raises(UserError):
        CHECKS["experiment"](document)
    assert not is_valid("experiment", document.data)


@pytest.mark.parametrize(
    "text",
    ["batch_size: many", "batch_size: 0", "framework: torch", "matrix: {dtype: [float31]}", "include: [{device: tpu}]"],
)
def test_a_value_that_a_parameter_cannot_have_is_not_valid(text: str) -> None:
    data = parse_yaml(text, "study.yaml").data
    given = data if "matrix" in data or "include" in data else {"parameters": data}
    assert not is_valid("experiment", {"name": "study", **given})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("site", "partitons: {}"),
        ("site", "partitions: {cpu: {max_tim: 1}}"),
        ("site", "partitions: {cpu: {nodes: 0}}"),
        ("site", "environments: {pytorch: {pyton: x}}"),
        ("site", "scheduler: pbs"),
        ("site", "slurm: {exclusive: maybe}"),
        ("site", "launcher: {srun: --mpi=pmix}"),
        ("recipe", "steps: []"),
        ("recipe", "steps: [{install: [a], instal: [a]}]"),
        ("recipe", "steps: [{install: [a], compile: {needed: [g++]}}]"),
        ("recipe", "imports: torch"),
        ("device", "devices: {}"),
        ("device", "devices: {mine: {unit: 3}}"),
        ("device", "devices: {mine: {units: 0}}"),
        ("device", "devices: {mine: {matrix_tflops: {fp16: 3}}}"),
    ],
)
def test_what_the_check_of_a_site_recipe_or_device_refuses_is_not_valid(kind: str, text: str) -> None:
    document = parse_yaml(text, "some.yaml")
    assert not _accepted(kind, document)
    assert not is_valid(kind, {**REQUIRED[kind], **document.data})


VALUES = (
    *(None, True, 0, 1, 2, 30, 2**33, -1, 0.5, 1.5, 1e9, "", "a", "a b", "1 %", "00:10:00", "2-00:00:00", "16G", "1"),
    *("/etc/slurm/slurm.conf", "~/x.sif", "compute_bound", "gres", "parallel", "cpu", "float32", "training", "ddp"),
    *("pytorch", "lstm", "graph", "dynamic", "compact", "higher", ".", "last", "require", "apptainer"),
    *([], ["a"], ["failed"], [1, 2], [{"a": 1}], {}, {"a": 1}, {"A": True}, {"A": "b"}, {"npz": "a"}, ["a==1"]),
)
BY_FRAMEWORK = ("strategy", "execution", "operator")  # only a complete case is checked
MODELS: list[tuple[str, type[BaseModel]]] = [
    *(
        ("experiment", each)
        for each in (Parameters, SlurmOptions, Measure, Tune, Retry, Metric, DataSource, Range, CsvGroup)
    ),
    *(("site", each) for each in (SlurmOptions, Environment, Container, Partition, Limits, Launcher, Cost, Carbon)),
    *(("recipe", each) for each in (Step, Compile)),
    *(("device", each) for each in (Description, MatrixRates)),
]


@pytest.mark.parametrize(("kind", "model"), MODELS, ids=lambda value: getattr(value, "__name__", value))
def test_each_value_that_a_key_may_have_is_valid(kind: str, model: type[BaseModel]) -> None:
    definitions = json_schema(kind)["$defs"]
    accepted = 0
    for name, field in model.model_fields.items():
        key = field.alias or name
        only = {"$defs": definitions, **definitions[model.__name__]["properties"][key]}
        for value in () if name in BY_FRAMEWORK else VALUES:
            if not _refused(model, key, value):
                accepted += 1
                assert Draft202012Validator(only).is_valid(value), f"{key}: {value!r}"
    assert accepted >= len(model.model_fields.keys() - {*BY_FRAMEWORK})


def _refused(model: type[BaseModel], key: str, value: Any) -> bool:
    """Return whether the model refuses the value of this key, with whatever other keys."""
    try:
        model.model_validate({key: value})
    except ValidationError as error:
        return any(each["loc"][:1] == (key,) for each in error.errors())
    return False


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_strategy_and_execution_of_a_framework_is_valid(name: str) -> None:
    framework = FRAMEWORKS[name]
    axes = {"strategy": list(framework.strategies), "execution": [None, *framework.executions]}
    assert is_valid("experiment", {"name": "study", "parameters": {"framework": name}, "matrix": axes})
    assert not is_valid("experiment", {"name": "study", "matrix": {"strategy": ["dppp"]}})


def test_a_file_outside_of_a_workspace_names_the_installed_schema(tmp_path: Path) -> None:
    line = schema_comment("site", tmp_path / "mine.yaml")
    assert Path(line.strip().rpartition("=")[2]) == shipped("configs") / "schemas" / "site.json"


def test_a_file_anywhere_in_a_workspace_names_its_schema_by_a_relative_path(tmp_path: Path) -> None:
    schema = tmp_path / "configs" / "schemas" / "experiment.json"
    schema.parent.mkdir(parents=True)
    schema.write_text("{}")
    paths = {"a.yaml": "configs/schemas", "b/c.yaml": "../configs/schemas", "configs/sites/d.yaml": "../schemas"}
    for file, path in paths.items():
        assert schema_comment("experiment", tmp_path / file).endswith(f"$schema={path}/experiment.json\n")
    assert str(tmp_path) not in schema_comment("experiment", tmp_path / "a.yaml")


def test_the_docs_show_the_csv_file_of_their_example() -> None:
    (shown,) = (text for page in PAGES for text in CSV_BLOCK.findall(page.read_text("utf-8")))
    assert shown == CSV_FILES.input_file("configs/data/shapes.csv").read_text("utf-8")
