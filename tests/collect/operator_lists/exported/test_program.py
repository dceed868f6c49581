"""Exported programs: their batches, weights and operators, and files that are not programs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hpcbench.collect.operator_lists.exported import archive
from hpcbench.collect.operator_lists.exported.program import exported_program
from hpcbench.errors import UserError
from tests.collect.operator_lists.exported.made_program import (
    BFLOAT16,
    TWICE,
    linear,
    meta,
    node,
    program,
    saved,
    tensor,
)


def test_a_dynamic_batch_can_be_chosen(tmp_path: Path) -> None:
    found = exported_program(saved(tmp_path / "net.pt2", linear()))
    assert (found.name, found.batch_size, found.batch_symbol, found.dtype) == ("net", 4, "s77", "float32")
    usual, large = found.operators(), found.operators(32)
    assert [each.operator for each in usual.operators] == ["aten.linear.default", "aten.relu.default"]
    assert '"shape":[4,16]' in usual.operators[0].arguments
    assert '"shape":[32,16]' in large.operators[0].arguments
    assert usual.parameter_count == 128
    product = usual.operators[0]
    assert product.bytes_moved == 4 * (4 * 16 + 8 * 16 + 4 * 8)
    assert (product.weight_bytes, product.output_bytes) == (4 * 8 * 16, 4 * 4 * 8)


def test_the_dtype_is_that_of_the_weights(tmp_path: Path) -> None:
    found = exported_program(saved(tmp_path / "net.pt2", linear(dtype=BFLOAT16)))
    assert found.dtype == "bfloat16"
    assert found.operators().operators[0].bytes_moved == 2 * (4 * 16 + 8 * 16 + 4 * 8)


def test_a_fixed_batch_and_its_limit_are_kept(tmp_path: Path) -> None:
    fixed = exported_program(saved(tmp_path / "fixed.pt2", linear(8)))
    assert fixed.operators(8).operators == fixed.operators().operators
    with pytest.raises(UserError, match="the program has a fixed batch size of 8, not 9"):
        fixed.operators(9)
    with pytest.raises(UserError, match="the batch size 65 exceeds 64, the maximum of the program"):
        exported_program(saved(tmp_path / "net.pt2", linear())).operators(65)


def test_sizes_may_be_expressions_of_the_batch(tmp_path: Path) -> None:
    nodes = [node("torch.ops.aten.relu.default", "a", self=tensor("x"))]
    made = program(nodes, {"x": linear()["graph_module"]["graph"]["tensor_values"]["x"], "a": meta(TWICE, 8)}, ())
    found = exported_program(saved(tmp_path / "net.pt2", made)).operators(3)
    assert found.operators[0].output_bytes == 4 * 6 * 8


def test_a_size_that_depends_on_values_is_an_error(tmp_path: Path) -> None:
    unknown = {"as_expr": {"expr_str": "Symbol('u0', integer=True)", "hint": None}}
    nodes = [node("torch.ops.aten.relu.default", "a", self=tensor("x"))]
    made = program(nodes, {"x": meta(4, 8), "a": meta(unknown, 8)}, ())
    with pytest.raises(UserError, match="the size 'u0' of a tensor is unknown") as error:
        exported_program(saved(tmp_path / "net.pt2", made)).operators()
    assert "fixed sizes" in error.value.hint


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"{", "net/models/model.json", "the graph is not valid JSON"),
        (b"[1]", "net/models/model.json", "the graph is not a JSON object"),
        (b"{}", "net/models/model.json", "unexpected content: KeyError"),
        (b'{"graph_module": 3}', "net/models/model.json", "unexpected content: TypeError"),
        (b"", "net/code/__torch__.py", "it is a TorchScript archive"),
        (b"", "net/data/aotinductor/model/a.so", "compiled code only"),
        (b"", "other/file", "the archive has no graph"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        exported_program(saved(tmp_path / "net.pt2", content, name))
    assert error.value.hint


def test_files_that_are_no_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.pt2").write_text("hello")
    whole = saved(tmp_path / "net.pt2", linear()).read_bytes()
    (tmp_path / "cut.pt2").write_bytes(whole[: len(whole) // 2])
    for name in ("text.pt2", "cut.pt2"):
        with pytest.raises(UserError, match="not an exported program"):
            exported_program(tmp_path / name)
    with pytest.raises(UserError, match="not found"):
        exported_program(tmp_path / "none.pt2")
    monkeypatch.setattr(archive, "MAX_BYTES", 100)
    with pytest.raises(UserError, match="the graph is larger than"):
        exported_program(tmp_path / "net.pt2")


def test_several_programs_in_a_file_are_refused(tmp_path: Path) -> None:
    file = saved(tmp_path / "net.pt2", linear())
    with zipfile.ZipFile(file, "a") as zipped:
        zipped.writestr("net/models/other.json", "{}")
    with pytest.raises(UserError, match="several programs: model, other"):
        exported_program(file)


def test_no_pickle_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read: list[str] = []
    original = zipfile.ZipFile.open

    def seen(self: zipfile.ZipFile, name: Any, *arguments: Any, **options: Any) -> Any:
        read.append(str(name))
        return original(self, name, *arguments, **options)

    file = saved(tmp_path / "net.pt2", linear())
    monkeypatch.setattr(zipfile.ZipFile, "open", seen)
    exported_program(file).operators()
    assert read == ["net/models/model.json"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_without_a_limit_of_memory_is_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "net.pt2", "w", method) as zipped:
        zipped.writestr("net/models/model.json", json.dumps(linear()))
    with pytest.raises(UserError, match="compressed in another way") as error:
        exported_program(tmp_path / "net.pt2")
    assert error.value.hint


@pytest.mark.parametrize(
    ("sizes", "what", "hint"),
    [
        ((-4,), "unexpected content: ValueError: a tensor has a size below 0", "save it again"),
        ((2**40, 2**40), "a tensor has more than 2^53 elements", "use a smaller batch size"),
    ],
)
def test_impossible_sizes_are_refused(tmp_path: Path, sizes: tuple[int, ...], what: str, hint: str) -> None:
    nodes = [node("torch.ops.aten.relu.default", "a", self=tensor("x"))]
    made = program(nodes, {"x": meta(4, 8), "a": meta(*sizes)}, ())
    with pytest.raises(UserError) as error:
        exported_program(saved(tmp_path / "net.pt2", made)).operators()
    assert what in error.value.what
    assert hint in error.value.hint


def test_an_infinite_size_is_refused(tmp_path: Path) -> None:
    content = json.dumps(linear()).replace('"hint": {"as_int": 4}', '"hint": {"as_int": 1e999}')
    with pytest.raises(UserError, match="unexpected content: OverflowError"):
        exported_program(saved(tmp_path / "net.pt2", content.encode()))
