"""A CSV file as a zip group of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.config.matrix.axes import UNSET
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.yaml_document import Document, parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.matrix import count_points, points
from tests.config.conftest import START

SHAPES = """set,batch_size,model_options.hidden_size,gflop
small,1,64,0.5
small,2,,1.5
large,4,128,4
"""
GROUP = "zip:\n- file: shapes.csv\n  where: "
Read = Callable[..., Document]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read an experiment with the file shapes.csv: a good start of four lines, the text added, `--set` settings."""

    def document(text: str, *settings: str, shapes: str = SHAPES) -> Document:
        (tmp_path / "shapes.csv").write_text(shapes)
        given = apply_overrides(parse_yaml(START + text, "study.yaml"), list(settings))
        return with_csv_files(given, lambda path: tmp_path / path)

    return document


def loaded(document: Document) -> Experiment:
    return load_experiment(document)


def values(document: Document) -> list[dict[str, Any]]:
    return [point.values for point in points(loaded(document))]


def warnings(document: Document) -> Sequence[str]:
    return [warning for rows in document.csv_rows for warning in rows.warnings]


def test_each_row_is_a_point_and_each_parameter_an_axis(read: Read) -> None:
    document = read(GROUP + "{set: small}")
    assert values(document) == [
        {"batch_size": 1, "model_options.hidden_size": 64},
        {"batch_size": 2},  # an empty cell sets nothing
    ]
    assert loaded(document).axis_names == ["batch_size", "model_options.hidden_size"]
    assert loaded(document).zip[0]["model_options.hidden_size"] == [64, UNSET]
    assert loaded(document).model_dump(mode="json")["zip"][0]["model_options.hidden_size"] == [64, None]


def test_a_group_is_combined_with_the_matrix_and_other_groups(read: Read) -> None:
    document = read(GROUP + '"{{ gflop < 2 }}"\n- {nodes: [1, 2], seed: [3, 4]}\nmatrix: {dtype: [float32, bfloat16]}')
    assert count_points(loaded(document)) == 2 * 2 * 2
    assert values(document)[1] == {
        "dtype": "float32",
        "batch_size": 1,
        "model_options.hidden_size": 64,
        "nodes": 2,
        "seed": 4,
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["set", "gflop"]),
        ("  where: {set: small}", ["gflop"]),
        ('  where: "{{ gflop < 2 and set }}"', []),
        ("user_parameters: [gflop, set]", []),
    ],
)
def test_a_column_without_a_use_has_a_warning(text: str, found: list[str], read: Read) -> None:
    document = read(f"zip:\n- file: shapes.csv\n{text}")
    assert [each in " ".join(warnings(document)) for each in ("'set'", "'gflop'")] == [
        name in found for name in ("set", "gflop")
    ]
    assert len(warnings(document)) == bool(found)
    loaded(document)


def test_a_warning_has_the_parameter_that_is_probably_meant(read: Read) -> None:
    (warning,) = warnings(read("zip: [{file: shapes.csv}]", shapes="seed,batchsize,cpus-per-task,note\n1,2,3,4\n"))
    assert "'batchsize' (did you mean 'batch_size'?), 'cpus-per-task' (did you mean 'cpus_per_task'?)" in warning
    assert "and 'note' are ignored" in warning


def test_columns_that_the_command_or_user_parameters_name_are_axes(read: Read) -> None:
    text = "  command: run {{ size }} {{ text }}\nzip: [{file: shapes.csv}]\nuser_parameters: [week]"
    document = read(text, "framework=command", shapes="size,text,week\n1,a b,7\n")
    assert values(document) == [{"size": 1, "text": "a b", "week": 7}]
    assert loaded(document).all_user_parameters == ("week", "size", "text")


def test_a_column_that_an_expression_uses_without_a_declaration_is_an_error(read: Read) -> None:
    with pytest.raises(UserError, match="unknown parameter 'gflop'") as caught:
        loaded(read(GROUP + '{set: small}\nexclude: ["{{ gflop > 2 }}"]'))
    assert caught.value.where == "shapes.csv:1: zip[0].gflop"
    assert "user_parameters: [gflop]" in caught.value.hint


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("batch_size=8", [{"model_options.hidden_size": 64}, {}]),
        ("model_options.hidden_size=8", [{"batch_size": 1}, {"batch_size": 2}]),
        ("model_options={hidden_size: 8}", [{"batch_size": 1}, {"batch_size": 2}]),
        ('zip=[{"file": "shapes.csv", "where": {"gflop": 4}}]', [{"batch_size": 4, "model_options.hidden_size": 128}]),
    ],
)
def test_a_setting_fixes_a_column_or_replaces_the_group(setting: str, found: list[dict[str, Any]], read: Read) -> None:
    assert values(read(GROUP + "{set: small}", setting)) == found


def test_a_setting_of_a_parameter_file_leaves_the_group(read: Read) -> None:
    document = read("  command: run {{ file }}\n" + GROUP + "{gflop: 4}", "file=3")
    assert loaded(document).parameters["file"] == 3
    assert values(document) == [{"batch_size": 4, "model_options.hidden_size": 128}]


@pytest.mark.parametrize(
    ("text", "shapes", "what", "where"),
    [
        ("zip: [{file: none.csv}]", SHAPES, "CSV file 'none.csv' not found", "study.yaml:5: zip[0].file"),
        ("zip: [{file: ''}]", SHAPES, "is a directory", "study.yaml:5: zip[0].file"),
        ("zip: [{file: shapes.csv, wher: {}}]", SHAPES, "unknown key 'wher'", "study.yaml:5: zip[0].wher"),
        ("zip: [{file: shapes.csv, seed: [1]}]", SHAPES, "unknown key 'seed'", "study.yaml:5: zip[0].seed"),
        ("zip: [{file: shapes.csv, where: 3}]", SHAPES, "3 is not valid", "study.yaml:5: zip[0].where"),
        (GROUP + "gflop < 2", SHAPES, "is not valid: it is not a condition", "study.yaml:7: zip[0].where"),
        (GROUP + "{sett: 1}", SHAPES, "column 'sett' not found", "study.yaml:7: zip[0].where"),
        (GROUP + "{set: 1}", SHAPES, "no row matches", "study.yaml:7: zip[0].where"),
        (GROUP + '"{{ set < 2 }}"', SHAPES, "cannot be evaluated", "shapes.csv:2: zip[0].where"),
        ("zip: [{file: shapes.csv}]", "a,b\n1,2\n", "no column is a parameter", "shapes.csv:1: zip[0].file"),
        ("zip: [{file: shapes.csv}]", "seed,seed\n1,2\n", "duplicate column 'seed'", "shapes.csv:1: zip[0].seed"),
        ("zip: [{file: shapes.csv}]", "seed,a\n1,2\n3\n", "the row has 1 cell", "shapes.csv:3: zip[0].file"),
        ("zip: [{file: shapes.csv}]", "seed\n1e999\n", "too large a number", "shapes.csv:2: zip[0].seed"),
        (GROUP + "{}\nmatrix: {batch_size: [1]}", SHAPES, "duplicate axis", "shapes.csv:1: zip[0].batch_size"),
        (GROUP + "{}\n- file: shapes.csv", SHAPES, "duplicate axis", "shapes.csv:1: zip[1].batch_size"),
    ],
)
def test_a_mistake_is_located_in_the_file_or_the_experiment(
    text: str, shapes: str, what: str, where: str, read: Read
) -> None:
    with pytest.raises(UserError) as caught:
        loaded(read(text, shapes=shapes))
    assert what in caught.value.what
    assert caught.value.where == where


def test_a_missing_file_has_the_path_that_was_tried(read: Read, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read("zip: [{file: data/none.csv}]")
    assert f"tried {tmp_path}/data/none.csv" in caught.value.hint


def test_an_axis_of_the_name_file_is_a_list(read: Read) -> None:
    document = read("  command: run {{ file }}\nzip: [{file: [a.csv, b.csv], nodes: [1, 2]}]")
    assert document.csv_rows == ()
    assert [each["file"] for each in values(document)] == ["a.csv", "b.csv"]


def test_the_rows_of_a_list_of_files_follow_one_another(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("gflop,seed,batch_size\n1,7,8\n9,9,9\n")
    document = read('zip: [{file: [shapes.csv, more.csv], where: "{{ gflop < 2 }}"}]')
    assert values(document) == [
        {"batch_size": 1, "model_options.hidden_size": 64},
        {"batch_size": 2},
        {"batch_size": 8, "seed": 7},  # a column of the other file is not set
    ]
    assert list(document.data["zip"][0]) == ["batch_size", "model_options.hidden_size", "seed"]
    assert document.csv_files == {"shapes.csv": SHAPES, "more.csv": "gflop,seed,batch_size\n1,7,8\n9,9,9\n"}
    assert warnings(document)[0].startswith("shapes.csv: column 'set' is ignored: ")


def test_a_column_that_a_file_lacks_is_none_in_a_condition(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("seed\n7\n8\n")
    group = "zip: [{file: [shapes.csv, more.csv], where: "
    assert (
        values(read(group + "{set: null}}]"))
        == values(read(group + '"{{ set is none }}"}]'))
        == [{"seed": 7}, {"seed": 8}]
    )
    with pytest.raises(UserError, match="'gflop' is unset") as caught:
        read(group + '"{{ gflop < 2 }}"}]')
    assert caught.value.where == "more.csv:2: zip[0].where"


def test_a_setting_may_be_a_list_of_files(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("batch_size\n8\n")
    document = read(
        GROUP + "{set: large}", 'zip=[{"file": ["more.csv", "shapes.csv"], "where": {"set": [null, "large"]}}]'
    )
    assert [point["batch_size"] for point in values(document)] == [8, 4]


@pytest.mark.parametrize(
    ("more", "what", "where"),
    [
        ("seed,a\n1,2\n3\n", "the row has 1 cell", "more.csv:3: zip[0].file"),
        ("seed,seed\n1,2\n", "duplicate column 'seed'", "more.csv:1: zip[0].seed"),
        ("", "the file is empty", "study.yaml:5: zip[0].file[1]"),
        ("seed\n1\n", "duplicate axis", "more.csv:1: zip[0].seed"),
    ],
)
def test_a_mistake_in_a_list_of_files_is_located(more: str, what: str, where: str, read: Read, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text(more)
    with pytest.raises(UserError) as caught:
        loaded(read("zip: [{file: [shapes.csv, more.csv]}]\nmatrix: {seed: [1]}"))
    assert what in caught.value.what
    assert caught.value.where == where


def test_the_warning_names_only_the_files_that_have_the_column(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("seed,note\n1,a\n")
    found = warnings(read("zip: [{file: [shapes.csv, more.csv]}]\nmatrix: {batch_size: [1]}"))
    assert [warning.partition(":")[0] for warning in found] == ["shapes.csv", "more.csv"]
    assert "columns 'set' and 'gflop' are ignored" in found[0]
    assert "column 'note' is ignored" in found[1]
    (tmp_path / "more.csv").write_text("seed,set\n1,a\n")
    found = warnings(read("zip: [{file: [shapes.csv, more.csv]}]\nmatrix: {batch_size: [1]}"))
    assert found[0].startswith("shapes.csv and more.csv: column 'set' is ignored")


def test_a_dotted_column_with_a_misspelt_parameter_is_an_error(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("\nseed,size.k,time.ms\n1,2,3\n")
    with pytest.raises(UserError) as caught:
        read("zip: [{file: more.csv}]")
    assert caught.value.what == "column 'size.k' is not a parameter"
    assert caught.value.hint == "did you mean 'sizes.k'?"
    assert caught.value.where == "more.csv:2: zip[0].size.k"
    found = warnings(read("zip: [{file: more.csv, where: {size.k: 2}}]"))
    assert ["column 'time.ms' is ignored" in each for each in found] == [True]


@pytest.mark.parametrize("section", ["  task: operator", "matrix: {task: [train, operator]}"])
def test_the_size_of_an_operator_without_its_prefix_has_a_hint(read: Read, tmp_path: Path, section: str) -> None:
    (tmp_path / "more.csv").write_text("m,k\n1,2\n")
    with pytest.raises(UserError, match="no column is a parameter") as caught:
        read(f"{section}\nzip: [{{file: more.csv}}]")
    assert "did you mean 'sizes.m'?\ndid you mean 'sizes.k'?" in (caught.value.hint or "")
    with pytest.raises(UserError, match="no column is a parameter") as caught:
        read("zip: [{file: more.csv}]")
    assert "sizes" not in (caught.value.hint or "")


def test_a_file_of_two_groups_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("seed,nodes,set\n1,,x\n,2,y\n")
    asked = []
    text = "zip: [{file: a.csv, where: {set: x}}, {file: a.csv, where: {set: y}}]"
    with pytest.raises(UserError, match="duplicate axis"):
        loaded(
            with_csv_files(parse_yaml(START + text, "study.yaml"), lambda path: asked.append(path) or tmp_path / path)
        )
    assert asked == ["a.csv"]


def test_a_document_keeps_the_text_of_its_files_and_of_itself(read: Read) -> None:
    text = GROUP + "{set: small}"
    document = read(text)
    assert document.csv_files == {"shapes.csv": SHAPES}
    assert document.text == START + text
