"""tools/words.py finds excluded words in each kind of file, and long sentences of Markdown, but skips code."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).parents[1] / "tools" / "words.py"
MARKDOWN = """\
# Title

The user is
told of an error, and `nobody` reads it, nor ``say `anew` ``.

```console
$ beside
```

- A [link to nobody](anew.md "anew").
    ~~~
    anew
    ~~~
- Next to it: beside.
"""
TEMPLATE = """\
<p class="anew">Start {{ anew }} here</p>
{% if a > anew %}
<style>.anew { color: red }</style>
<p>Start anew</p>
"""
YAML = """\
anew: "beside"  # start anew
description: Start
  it anew, not `anew`
other: anew
text:
  description: |
    Beside this
  more: anew
"""
PYTHON = '''\
"""Start anew."""

VALUE = "anew"  # a key
# Start it
# anew, not with `anew`
def message(anew):
    """Start it.

    It begins anew.
    """
    return f"nobody reads {anew} here" + "beside this"
'''


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = spec_from_file_location("words", PROGRAM)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["words"] = module  # dataclasses look their module up
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("page.md", MARKDOWN, ["3 is told", "10 nobody", "14 beside"]),
        ("page.html.j2", TEMPLATE, ["4 anew"]),
        ("experiment.yaml", YAML, ["1 anew", "3 anew", "7 Beside"]),
        ("module.py", PYTHON, ["1 anew", "5 anew", "9 anew", "11 beside", "11 nobody"]),
    ],
)
def test_excluded_words_are_listed(
    words: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    source: str,
    expected: list[str],
) -> None:
    (tmp_path / name).write_text(source)
    assert words.main([str(tmp_path)]) == 1
    *findings, summary = capsys.readouterr().out.splitlines()
    assert [_line_and_word(finding) for finding in findings] == expected
    assert summary.startswith(f"{len(expected)} findings in 1 files")


def _line_and_word(finding: str) -> str:
    _, line, word, _ = finding.split(":", 3)
    return f"{line} {word.strip(' ').strip(chr(39))}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A case has five repetitions.", ["repetitions"]),
        ("The key `repetitions`, measure.repetitions and --repetitions.", []),
        ("Look at two parts of it.", ["of it"]),
        ("The median of its times, of it all.", []),
        ("Use a number, say, two.", [", say,"]),
        ("Disturbed by others, it was mended.", ["Disturbed", "mended"]),
        ("The 95 % interval, or 95% intervals.", ["95 % interval", "95% intervals"]),
        ("Amend a commit recommended anew.py and renew it.", []),
    ],
)
def test_only_whole_words_are_listed(
    words: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, found: list[str]
) -> None:
    (tmp_path / "page.md").write_text(text)
    assert words.main([str(tmp_path)]) == bool(found)
    assert [line.split("'")[1] for line in capsys.readouterr().out.splitlines()[:-1]] == found


def test_long_sentences_are_listed(words: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short, long, longest = (" ".join(["word"] * count) for count in (25, 40, 41))
    page = tmp_path / "page.md"
    page.write_text(f"Short, e.g. this. {short}. {long}!\n\n- {longest}\n\n| {long} | {long} |\n| --- | --- |\n")
    assert words.main([str(page)]) == 1
    finding, summary = capsys.readouterr().out.splitlines()
    assert finding == f"{page}:3: sentence of 41 words: use at most 25"
    assert summary.endswith("66.7 % of 6 sentences in Markdown have more than 25 words")


def test_a_path_that_does_not_exist_is_a_usage_error(words: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        words.main(["nowhere"])
    assert ended.value.code == 2
    assert "'nowhere' not found" in capsys.readouterr().err
