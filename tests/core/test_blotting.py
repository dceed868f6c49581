"""What looks like a secret does not stay in a text, and what does not stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.core.redaction import REDACTED, without_secrets

SECRET = "s3cr3t-of-mine"  # noqa: S105 - made up
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n+{SECRET}\n+AAAA\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    "line",
    [
        f"API_KEY={SECRET}",
        f"+export HF_TOKEN='{SECRET}'",
        f"  password: {SECRET}",
        f'{{"db_passwd": "{SECRET}", "n": 1}}',
        f"aws_secret_access_key = {SECRET}",
        f'auth := "{SECRET}"',
        f'if token == "{SECRET}":',
        f"git clone https://me:{SECRET}@example.org/x.git",
        f"hf_{'a' * 20}{SECRET}",
        f"-old ghp_{'a' * 20}{SECRET}",
        f"Password   = {SECRET}",
        f"-API_KEY={SECRET}",
        f"-db.password: {SECRET}",
        f"prog --api-key={SECRET}",
        f'os.environ["HF_TOKEN"] = "{SECRET}"',
        f'API_KEY: str = "{SECRET}"',
        f"${{API_KEY:-{SECRET}}}",
        f"password: ab;{SECRET}",
        f"password: hf_{'a' * 20}({SECRET}",
        KEY,
    ],
)
def test_a_secret_is_blotted(line: str) -> None:
    text, count = without_secrets(f"before\n{line}\nafter", {})
    assert SECRET not in text
    assert REDACTED in text
    assert count == 1
    assert text.startswith("before\n")
    if line is not KEY:
        assert text.endswith("after")


@pytest.mark.parametrize(
    "value",
    [
        *("abc(defghijk", "hunter2long(x", "abc{def}ghijk", "a,bcdefghij", "ab;cdefgh", "abc", "!!str hf_xxx"),
        *("'ab'cd", f"hf_{'a' * 20}(rest"),
    ],
)
@pytest.mark.parametrize("start", ["DB_PASSWORD=", "+export API_KEY=", "-  HF_TOKEN: ", "me@x:~$ MY_SECRET ="])
def test_of_a_variable_all_to_the_end_of_the_line_is_blotted(start: str, value: str) -> None:
    assert without_secrets(f"before\n{start}{value}\nafter", {}) == (f"before\n{start}{REDACTED}\nafter", 1)


@pytest.mark.parametrize(
    "line",
    [
        "tokenizer = AutoTokenizer.from_pretrained(name)",
        "keys = sorted(found)",
        "for key in table: print(key)",
        "token = next_of(line)",
        "token = names.next_of(line, 1234567)",
        "keys = [first, second]",
        "TOKENIZERS_PARALLELISM=false",
        "author: somebody-else",
        "git clone git@example.org:x.git",
        "batch_size: 123456789",
        "see https://example.org/a:b",
        'API_KEY=""',
        "+++ b/keyboard.py",
    ],
)
def test_what_is_none_stays(line: str) -> None:
    assert without_secrets(line, {}) == (line, 0)


def test_the_content_of_a_variable_with_a_secret_name_is_found_anywhere() -> None:
    text, count = without_secrets(f"curl -H 'X: {SECRET}' {SECRET}", {"MY_TOKEN": SECRET, "HOME": "/home/me"})
    assert text == f"curl -H 'X: {REDACTED}' {REDACTED}"
    assert count == 2


@given(st.text())
def test_it_takes_any_text_and_has_nothing_to_do_twice(text: str) -> None:
    once, _ = without_secrets(text, {})
    assert without_secrets(once, {})[0] == once


@pytest.mark.parametrize(
    "text",
    [
        *("a" * 10**6, "key=" * 250_000 + "(", "-----BEGIN PRIVATE KEY" * 45_000, "://a:" * 200_000),
        *("-" * 10**6, "a-" * 500_000, "KEY " * 250_000, "KEY" + " " * 10**6, "=".join("X" * 500_000)),
    ],
)
def test_a_text_of_one_line_is_no_trap(text: str) -> None:
    assert len(without_secrets(text, {})[0]) <= len(text), "and it ends: no part is looked at again and again"
