from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpcbench.config import yaml_document
from hpcbench.config.yaml_document import MAX_DEPTH, MAX_FILE_BYTES, load_yaml, parse_value, parse_yaml
from hpcbench.errors import UserError
from tests.examples import examples

ALIAS_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        ("-8", -8),
        ("0x10", 16),
        ("010", 10),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("00:10:00", "00:10:00"),  # 600 in YAML 1.1
        ("1-00:00:00", "1-00:00:00"),
        ("on", "on"),  # true in YAML 1.1
        ("no", "no"),
        ("2026-11-01", "2026-11-01"),
        ('"8"', "8"),
        ("'true'", "true"),
        ("[1, a]", [1, "a"]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)
def test_a_value_is_read_by_the_rules_of_yaml_1_2(text: str, value: object) -> None:
    read = parse_yaml(f"key: {text}\n", "f.yaml").data["key"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\nb: [1, 2", "f.yaml:3"),  # the end of the file, after line 2
        ("a: 1\nb: [1, 2\n", "f.yaml:3"),
        ("a: 1\nb: 'no end", "f.yaml:2"),
        ("a: *nothing\n", "f.yaml:1"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2"),
        ("a: 1\n b: 2\n", "f.yaml:2"),
    ],
)
def test_bad_syntax_is_refused_with_file_and_line(text: str, place: str) -> None:
    assert refusal(text).startswith(f"{place}: not valid YAML: ")


def test_an_alias_without_its_anchor_is_named() -> None:
    assert refusal("a: [1, *nothing]\n").startswith("f.yaml:1: not valid YAML: found undefined alias *nothing")


def test_a_tab_is_refused_and_named() -> None:
    message = refusal("a:\n\tb: 1\n")
    assert message.startswith("f.yaml:2: ")
    assert "does not allow tabs" in message


@pytest.mark.parametrize(
    ("text", "where", "first"),
    [("a: 1\nb: 2\na: 3\n", "f.yaml:3: a", 1), ("x:\n  a: 1\n  'a': 2\n", "f.yaml:3: x.a", 2)],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(text: str, where: str, first: int) -> None:
    message = refusal(text)
    assert message.startswith(f"{where}: duplicate key 'a'")
    assert f"first on line {first}" in message


def test_an_alias_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "MAX_VALUES", 5_000)  # the true limit takes seconds: test_bad_input.py
    assert "once aliases are expanded" in refusal(ALIAS_BOMB)


MERGED = """\
base: &base {x: 1, y: {deep: [1]}}
other: &other {x: 5, z: 6}
used: %s
"""


@pytest.mark.parametrize(
    ("used", "data"),
    [
        ("{<<: *base, x: 2}", {"x": 2, "y": {"deep": [1]}}),
        ("{x: 2, <<: *base}", {"x": 2, "y": {"deep": [1]}}),
        ("{<<: [*base, *other]}", {"x": 1, "y": {"deep": [1]}, "z": 6}),
        ("{<<: [*other, *base]}", {"x": 5, "y": {"deep": [1]}, "z": 6}),
        ("{<<: [], x: 3}", {"x": 3}),
        ("{<<: {<<: *other, x: 7}, a: 1}", {"x": 7, "z": 6, "a": 1}),
        ("{<<: *base, y: *other}", {"x": 1, "y": {"x": 5, "z": 6}}),
        ("[{<<: *base}, {<<: *base}]", [{"x": 1, "y": {"deep": [1]}}] * 2),
        ("{'<<': 1}", {"<<": 1}),
        ("<<", "<<"),
    ],
)
def test_a_merge_key_adds_the_keys_that_a_mapping_does_not_have_itself(used: str, data: object) -> None:
    assert parse_yaml(MERGED % used, "f.yaml").data["used"] == data


@pytest.mark.parametrize(
    ("used", "keys"), [("{a: 1, <<: *base, b: 2}", "axyb"), ("{y: 1, <<: *base}", "yx"), ("{<<: *base, x: 1}", "xy")]
)
def test_merged_keys_are_at_the_position_of_their_merge_key(used: str, keys: str) -> None:
    """The order of axes is the order of cases."""
    assert "".join(parse_yaml(MERGED % used, "f.yaml").data["used"]) == keys


def test_the_place_of_a_merged_key_is_the_line_on_which_it_was_written() -> None:
    document = parse_yaml("a: &a\n  x: 1\n  y: {b: 1}\nu:\n  <<: *a\n  z: 2\n", "f.yaml")
    assert document.where(("u", "x")) == "f.yaml:2: u.x"
    assert document.where(("u", "y", "b")) == "f.yaml:3: u.y.b"
    assert document.where(("u", "z")) == "f.yaml:6: u.z"


@pytest.mark.parametrize(
    ("used", "words"),
    [
        ("{<<: 1}", "f.yaml:3: used.<<: a merge key requires a mapping or a list of mappings"),
        ("{<<: [*base, 1]}", "f.yaml:3: used.<<: a merge key requires a mapping or a list of mappings"),
        ("{<<: [[*base]]}", "f.yaml:3: used.<<: a merge key requires a mapping or a list of mappings"),
        ("{<<: *base, x: 1, x: 2}", "f.yaml:3: used.x: duplicate key 'x'"),
        ("{<<: *base, <<: *other}", "f.yaml:3: used.<<: duplicate key '<<'"),
        ("&u {<<: *u}", "contains itself"),
        ("&u {<<: {b: *u}}", "contains itself"),
        ("&u {<<: [{c: [*u]}]}", "contains itself"),
        ("{<<: !!set {x}}", "is not allowed"),
    ],
)
def test_a_merge_of_anything_but_mappings_is_refused(used: str, words: str) -> None:
    assert words in refusal(MERGED % used)


@pytest.mark.parametrize("ends", ["", ", k: 1"])
def test_a_bomb_of_merge_keys_is_refused(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "MAX_VALUES", 5_000)
    bomb = "a: &a {x: 1}\n" + "".join(
        f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]{ends}}}\n"
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    assert "once aliases are expanded" in refusal(bomb)


def test_a_long_chain_of_merge_keys_is_refused() -> None:
    chain = "n0: &n0 {x: 1}\n" + "".join(f"n{n}: &n{n} {{<<: *n{n - 1}}}\n" for n in range(1, 1000))
    assert f"deeper than {MAX_DEPTH} levels" in refusal(chain)


def test_an_alias_that_is_used_twice_is_data() -> None:
    assert parse_yaml("a: &x [1]\nb: [*x, *x]\n", "f.yaml").data == {"a": [1], "b": [[1], [1]]}


@pytest.mark.parametrize("text", ["a: &x [*x]", "a: &x {b: *x}", "a: &x [1, {b: [*x]}]"])
def test_an_alias_that_contains_itself_is_refused(text: str) -> None:
    assert "contains itself" in refusal(text)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!mine", "!!binary", "!!set"])
def test_a_tag_that_makes_anything_but_plain_data_is_refused(tag: str) -> None:
    kind = "{a}" if tag == "!!set" else "[ls]"
    assert "is not allowed" in refusal(f"a: {tag} {kind}\n")


def test_a_key_that_is_no_text_is_refused_with_the_hint_that_an_expression_needs_quotes() -> None:
    assert '"{{ ... }}"' in refusal("nodes: {{ tasks }}\n")


def test_a_number_that_no_float_holds_is_refused() -> None:
    assert refusal("a: 1e999\n").startswith("f.yaml:1: a: ")


def test_nesting_ends_at_a_limit() -> None:
    assert parse_yaml(f"a: {'[' * 30}{']' * 30}", "f.yaml").data
    assert f"deeper than {MAX_DEPTH} levels" in refusal(f"a: {'[' * 50}{']' * 50}")


@pytest.mark.integration
@pytest.mark.parametrize("opening", ["a: [", "a: {b: ", "- "])
@pytest.mark.parametrize(
    "levels",
    [
        10_000,
        100_000,
    ],
)
def test_deep_nesting_does_not_crash_the_interpreter(opening: str, levels: int, tmp_path: Path) -> None:
    file = tmp_path / "deep.yaml"
    prefix, repeated = ("", "- ") if opening == "- " else ("a: ", opening[3:])
    file.write_text(prefix + repeated * levels)
    program = (
        "import sys, pathlib\n"
        "from hpcbench.config.yaml_document import load_yaml\n"
        "from hpcbench.errors import UserError\n"
        "try: load_yaml(pathlib.Path(sys.argv[1]))\n"
        "except UserError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-500:]


@pytest.mark.parametrize("text", ["", "# only a comment\n", "- a\n", "just text\n", "8\n"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    assert refusal(text).startswith("f.yaml")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"a: \xff\n", "not UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), "larger than"),
    ],
    ids=["missing", "not UTF-8", "too large"],
)
def test_a_file_that_cannot_be_read_is_refused(content: bytes | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=words) as caught:
        load_yaml(file)
    assert caught.value.where == str(file)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="directory"):
        load_yaml(tmp_path)


def test_the_place_of_a_key_is_the_line_of_the_closest_key_that_was_written() -> None:
    document = parse_yaml("a:\n  b:\n    - c: 1\n", "f.yaml")
    assert document.where(("a", "b", 0, "c")) == "f.yaml:3: a.b[0].c"
    assert document.where(("a", "b", "nowhere")) == "f.yaml:2: a.b.nowhere"
    assert document.where(("nowhere",)) == "f.yaml: nowhere"


def test_bytes_of_the_command_line_that_are_no_text_are_refused() -> None:
    with pytest.raises(UserError):
        parse_value(os.fsdecode(b"lstm\xff"), "--set model")


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(st.text("ab01:-[]{}&*!<|>'\"\n\t #?,%@\\~.\r\x00\x85\u2028é", max_size=40))
@example('a: "\\x"\n')
@example("a: !<\n")
@example("%YAML 9.9\n---\na: 1\n")
def test_any_text_is_either_data_or_refused(text: str) -> None:
    try:
        outcome: object = parse_yaml(text, "f.yaml").data
    except UserError as error:
        outcome = str(error)
    assert isinstance(outcome, dict) or str(outcome).startswith("f.yaml")


def test_an_empty_file_has_a_hint_that_fits_each_kind_of_file() -> None:
    with pytest.raises(UserError, match="the file is empty") as error:
        parse_yaml("", "devices.yaml")
    assert error.value.hint == "write one `key: value` per line"
