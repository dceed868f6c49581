"""The gallery lists the pages that tools/examples makes, and the page on citing has the version of CITATION.cff."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import hpcbench

ROOT = Path(__file__).parents[2]


def test_the_gallery_lists_the_pages_that_the_examples_make():
    script = (ROOT / "tools" / "examples").read_text(encoding="utf-8").replace("\\\n", "")
    made = re.search(r"^    set -- (.+)$", script, re.MULTILINE)
    listed = re.findall(
        r"^\| \[?`([\w-]+)\.html`", (ROOT / "docs/gallery/index.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert made is not None
    assert sorted(listed) == sorted(made[1].split())


def test_the_citation_has_the_current_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page = (ROOT / "docs/help/citing.md").read_text(encoding="utf-8")
    assert citation["version"] == hpcbench.__version__
    assert f"version = {{{citation['version']}}}" in page
    assert citation["url"] in page
