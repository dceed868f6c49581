"""A template of the workspace is a program of the user's: it gets data, and ends."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.experiment import Measure
from hpcbench.errors import UserError
from hpcbench.submit import template
from hpcbench.submit.template import OF_FOLLOW_ON, OF_SEARCH, Template
from hpcbench.util.package_data import shipped


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "MAX_S", 1.0)


def rendered(tmp_path: Path, text: str, **values: Any) -> str:
    file = tmp_path / "job.sh.j2"
    file.write_text(text)
    return Template(file).render(**values)


EACH = "{% for n in range(99999) %}"
LONG = f"{EACH}{EACH}{EACH}BODY{'{% endfor %}' * 3}"
ENDLESS = {
    "a loop that prints nothing": LONG.replace("BODY", "{% set x = 1 %}"),
    "a loop that prints": LONG.replace("BODY", "x" * 1000),
    "a loop of empty lines": LONG.replace("BODY", "\n"),
    "a text that doubles": "{% set s = namespace(x='x') %}" + LONG.replace("BODY", "{% set s.x = s.x ~ s.x %}"),
    "a list that doubles": "{% set s = namespace(x=[1]) %}" + LONG.replace("BODY", "{% set s.x = s.x + s.x %}"),
    "a number that squares": "{% set s = namespace(x=9) %}" + LONG.replace("BODY", "{% set s.x = s.x * s.x %}"),
    "a power of powers": "{{ 9 ** (9 ** (9 ** 9)) }}",
    "a text of many": "{{ 'x' * 10 ** 12 }}",
    "a wide field": "{{ '%0999999999999d' % 1 }}",
    "another wide field": "{{ 'x'.ljust(10 ** 12) }}",
    "a filter that pads": "{{ 'x' | center(10 ** 12) }}",
    "a block of much": "{% set x %}" + LONG.replace("BODY", "x" * 1000) + "{% endset %}",
    "a macro that calls itself": "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}",
    "a template that includes itself": "{% include 'job.sh.j2' %}{% include 'job.sh.j2' %}",
    "words without end": "{{ lipsum(n=10 ** 9) }}",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_template_without_end_is_ended_and_named(what: str, tmp_path: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(UserError, match=r"cannot be rendered: .") as caught:
        rendered(tmp_path, ENDLESS[what])
    assert caught.value.where == str(tmp_path / "job.sh.j2")
    assert time.monotonic() - began_s < 60


@pytest.mark.parametrize(
    "text",
    [
        "{{ folder.write_text('x') }}",
        "{{ folder.unlink() }}",
        "{{ folder.parent }}",
        "{{ measure.model_dump_json() }}",
        "{{ measure.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ words.append('x') }}",
        "{% include '../secret' %}",
        "{% include '/etc/passwd' %}",
    ],
)
def test_a_template_gets_data_and_can_do_nothing_but_print_them(text: str, tmp_path: Path) -> None:
    (tmp_path.parent / "secret").write_text("x")
    with pytest.raises(UserError):
        rendered(tmp_path, text, folder=tmp_path / "x", measure=Measure(), words=["a"])


def test_values_are_there_as_before(tmp_path: Path) -> None:
    text = "{{ folder }} {{ measure.idle_node }} {{ words | join(',') }}"
    assert rendered(tmp_path, text, folder=Path("/x"), measure=Measure(), words=["a", "b"]) == "/x ignore a,b"


def test_a_template_with_a_secret_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefgh")
    with pytest.raises(UserError, match=r"HF_TOKEN, which the sweep would store") as caught:
        rendered(tmp_path, "curl -H 'Bearer hf_abcdefgh'")
    assert "hf_abcdefgh" not in str(caught.value)
    assert rendered(tmp_path, "curl -H $HF_TOKEN") == "curl -H $HF_TOKEN"


@pytest.mark.parametrize("name", [OF_FOLLOW_ON, OF_SEARCH])
def test_variables_for_options_of_resume_do_not_reach_the_hpcbench_of_a_job(name: str) -> None:
    """They are for the user's own commands: --interference cannot be used with the --missing of a continuation job."""
    text = (shipped("templates") / name).read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("unset ")]
    variables = {"HPCBENCH_RESUME_INTERFERENCE": "1", "HPCBENCH_ENVS": "kept", "PATH": os.environ["PATH"]}
    done = subprocess.run(["bash", "-c", f"{line}\nenv"], env=variables, capture_output=True, text=True, check=True)
    assert "HPCBENCH_RESUME" not in done.stdout
    assert "HPCBENCH_ENVS=kept" in done.stdout
