"""The commands of the tutorials work in the order of each page, in a new home folder."""

from __future__ import annotations

import pytest

from tools import transcripts

PAGES = [page for page in transcripts.PAGES if page.parent.name == "getting-started"]
LOCAL = [page for page in PAGES if not transcripts.on_slurm(page)]
PAGE = """Text.

```yaml title="bench.yaml"
b: [3]
```

<!-- show: 2|3 -->
```console
$ echo nothing of interest
$ cat bench.yaml; echo; echo x; cat bench.yaml
old output
$ export x=5
```

=== "tab"

    <!-- status: 4 -->
    ```console
    $ (exit 4)
    ```

    <!-- skip: a reason -->
    ```console
    $ exit 3
    ```

<!-- show: . -->
```console
$ echo ~ \\
>     "$x"
```
"""
WRITTEN = """$ echo nothing of interest
$ cat bench.yaml; echo; echo x; cat bench.yaml
b: [3]
...
b: [3]
$ export x=5
"""


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.integration
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", LOCAL, ids=[page.stem for page in LOCAL])
def test_the_commands_of_a_tutorial_work(page, tmp_path):
    transcripts.run_page(page, tmp_path, {})


def test_every_page_but_the_concepts_has_commands():
    found = {page.stem: [block["text"] for block in transcripts.BLOCK.finditer(page.read_text())] for page in PAGES}
    without = [page for page, texts in found.items() if not any("$ hpcbench" in text for text in texts)]
    assert without == ["concepts"]


@pytest.fixture
def run(tmp_path):
    def run_text(text: str) -> str:
        page = tmp_path / "page.md"
        page.write_text(text)
        return transcripts.run_page(page, tmp_path, {})

    return run_text


@pytest.mark.integration
def test_a_page_is_written_with_the_output_of_its_commands(run, tmp_path):
    (tmp_path / "bench.yaml").write_text("a: 1\nb:\n  c: 2\nd:\n  e: 5\n")
    written = run(PAGE)
    assert WRITTEN in written
    assert '$ echo ~ \\\n>     "$x"\n~ 5\n```\n' in written
    assert "old output" not in written
    assert (tmp_path / "bench.yaml").read_text() == "a: 1\nd:\n  e: 5\nb: [3]\n"


def test_a_sentence_that_a_terminal_wrapped_is_shown_whole_and_a_row_of_a_table_is_not():
    sentence = [f"best: {'a' * 90}", "nodes=2.", "case: done"]
    table = [f"  1 {'#' * 95}", "  2 ####"]
    assert transcripts.shown([*sentence, *table], "^best|^  1") == [*sentence[:2], "...", table[0]]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("```console\n$ (exit 4)\n```", "'(exit 4)' ended with exit status 4"),
        ("<!-- show: b -->\n```console\n$ echo a\n```", "no line of the output matches 'b': [('echo a', ['a'])]"),
    ],
)
def test_a_page_that_shows_what_does_not_happen_is_an_error(run, block, reason):
    with pytest.raises(transcripts.TranscriptError) as caught:
        run(block)
    assert reason in str(caught.value)
