"""Cases whose values are in the rows of CSV files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan, make_plan
from tests.plan.conftest import SITE, START

GROUP = "zip: [{file: a.csv, where: {keep: true}}]"
MakePlan = Callable[..., Plan]


@pytest.fixture
def planned(tmp_path: Path) -> MakePlan:
    """Plan an experiment with these CSV files: a good start of four lines, and the text added."""

    def plan(text: str, **files: str) -> Plan:
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content)
        document = with_csv_files(parse_yaml(START + text, "study.yaml"), lambda path: tmp_path / path)
        return make_plan(load_experiment(document), document, load_site(parse_yaml(SITE, "site.yaml")))

    return plan


def test_a_row_sets_parameters_and_an_empty_cell_leaves_the_constant(planned: MakePlan) -> None:
    made = planned(
        "  cpus_per_task: 2\n  model_options: {layers: 2}\nzip: [{file: a.csv}]",
        a="batch_size,cpus_per_task,model_options.hidden_size\n1,,8\n2,4,\n",
    )
    found = [(each.parameters.batch_size, each.parameters.cpus_per_task) for each in made.cases]
    assert found == [(1, 2), (2, 4)]
    options = [each.parameters.model_options for each in made.cases]
    assert options == [{"layers": 2, "hidden_size": 8}, {"layers": 2}]


def test_text_that_looks_like_an_expression_is_text(planned: MakePlan) -> None:
    text = "user_parameters: [prompt]\nzip: [{file: a.csv}]"
    (case,) = planned(text, a='prompt\n"{{ nodes }} {% x"\n').cases
    assert case.user_parameters == {"prompt": "{{ nodes }} {% x"}


def test_warnings_of_the_file_are_warnings_of_the_plan(planned: MakePlan) -> None:
    (warning,) = planned("zip: [{file: a.csv}]", a="seed,note\n1,2\n").warnings
    assert "a.csv: column 'note' is ignored" in warning


@pytest.mark.parametrize(
    ("text", "rows", "what", "where"),
    [
        ("", "batch_size,keep\n1,true\nx,false\nmany,true\n", "'many' is not valid", "a.csv:4: zip[0].batch_size"),
        ("", "batch_size,keep\n1,true\n0,true\n", "greater than", "a.csv:3: zip[0].batch_size"),
        ("", "batch_size,keep\n1,true\ntrue,true\n", "True is not valid", "a.csv:3: zip[0].batch_size"),
        ("", "batch_size,keep\n1,true\n{{ nodes }},true\n", "{{ nodes }}", "a.csv:3: zip[0].batch_size"),
        ("", "optimizer.momentum,keep\n0.1,true\nx,true\n", "'x' is not", "a.csv:3: zip[0].optimizer.momentum"),
        ("", "optimizer,optimizer.eps,keep\nadam,1,true\n3,1,true\n", "cannot be set", "a.csv:3: zip[0].optimizer.eps"),
        ("", "intra_op_threads,keep\n1,true\n4,true\n", "exceeds cpus_per_task", "a.csv:3: zip[0].intra_op_threads"),
        (
            'exclude: ["{{ 1 // seed }}"]',
            "seed,keep\n2,true\n0,true\n",
            "cannot be evaluated",
            "study.yaml:6: exclude[0] (a.csv:3)",
        ),
        (
            "matrix: {nodes: [1], cpus_per_task: ['{{ 4 // seed }}']}",
            "seed,keep\n2,true\n0,true\n",
            "cannot be evaluated",
            "study.yaml:6: matrix.cpus_per_task (a.csv:3)",
        ),
    ],
)
def test_a_wrong_value_is_located_in_its_row(text: str, rows: str, what: str, where: str, planned: MakePlan) -> None:
    with pytest.raises(UserError) as caught:
        planned(f"{GROUP}\n{text}", a=rows)
    assert what in caught.value.what
    assert caught.value.where == where


def test_a_value_of_two_files_is_located_in_both(planned: MakePlan) -> None:
    with pytest.raises(UserError, match="'x' is not valid") as caught:
        planned("zip: [{file: a.csv}, {file: b.csv}]", a="seed,nodes\n1,1\n2,2\n", b="batch_size\n1\nx\n")
    assert caught.value.where == "b.csv:3: zip[1].batch_size (a.csv:2)"


def test_a_wrong_value_in_a_list_of_files_is_located_in_its_file(planned: MakePlan) -> None:
    with pytest.raises(UserError, match="'x' is not valid") as caught:
        planned(
            "zip: [{file: [a.csv, b.csv]}]", a="seed,dtype\n1,float32\n2,float32\n", b="batch_size,seed\n1,1\nx,2\n"
        )
    assert caught.value.where == "b.csv:3: zip[0].batch_size"


def test_an_included_point_has_no_row(planned: MakePlan) -> None:
    with pytest.raises(UserError, match="'x' is not valid") as caught:
        planned("zip: [{file: a.csv}]\ninclude: [{seed: 1, batch_size: x}]", a="seed\n1\n")
    assert caught.value.where == "study.yaml:6: include[0].batch_size"


def test_a_parameter_with_the_name_of_a_key_of_the_group_is_located_where_it_is(planned: MakePlan) -> None:
    with pytest.raises(UserError, match="'file' must be a plain value") as caught:
        planned("  file: [1]\nuser_parameters: [file]\nzip: [{file: a.csv}]", a="seed\n1\n")
    assert caught.value.where == "study.yaml:5: parameters.file (a.csv:2)"
