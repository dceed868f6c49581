from __future__ import annotations

import pytest

from hpcbench.util.fast_json import decoded


def test_lines_that_the_fast_parser_refuses_are_read_all_the_same() -> None:
    assert decoded(rb'{"message": "\ud83d half"}') == {"message": "\ud83d half"}


def test_what_is_no_json_is_said() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        decoded(b'{"cut off": ')


@pytest.mark.parametrize("text", [b"[" * 200_000, "[" * 200_000, b'{"a":' * 200_000])
def test_what_is_nested_too_deeply_is_no_json_either(text: bytes | str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        decoded(text)
