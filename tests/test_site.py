"""The links of the documentation, without a network, and the site as zensical builds it. `make site` uses MkDocs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/hpcbench/hpcbench"
OUTSIDE = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]  # MkDocs does not check these
PAGES = [*OUTSIDE, *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)]*)\)|<(https?:[^>]*)>")
HOST = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")


def links(page: Path) -> Iterator[str]:
    """Yield the targets of the links of a page, outside of code."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    yield from (found[1] or found[2] or "" for found in LINK.finditer(text))


def problem_of(link: str) -> str:
    """Return what is wrong with an external link; empty if it is well-formed."""
    parts = urlsplit(link)
    if parts.scheme != "https":
        return "not https"
    if not HOST.fullmatch(parts.netloc):
        return "not a host name"
    if re.search(r"[\s\"'<>\\^`{|}]|[.,;:]$", link):
        return "a character that a link cannot have"
    own = re.match(rf"{REPOSITORY}/(?:blob|tree)/main/([^#]*)", link)
    return "no such file in the repository" if own and not (ROOT / own[1]).exists() else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_external_links_are_well_formed(page: Path) -> None:
    external = [link for link in links(page) if "//" in link]
    assert [(link, problem_of(link)) for link in external if problem_of(link)] == []


@pytest.mark.parametrize(
    "link",
    [
        "http://example.org",
        "https://example",
        "https://example.org/a b",
        "https://example.org/a.",
        f"{REPOSITORY}/blob/main/no-such-file",
    ],
)
def test_malformed_links_are_found(link: str) -> None:
    assert problem_of(link)


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: page.name)
def test_relative_links_outside_of_the_site_have_a_target(page: Path) -> None:
    relative = [link.partition("#")[0] for link in links(page) if "//" not in link]
    assert [link for link in relative if not (page.parent / link).exists()] == []


@pytest.mark.long
@pytest.mark.integration
def test_zensical_builds_the_site(tmp_path: Path) -> None:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    zensical = shutil.which("zensical", path=places)
    if zensical is None:
        pytest.skip("zensical is not installed: make site installs it")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    built = subprocess.run([zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "index.html").is_file()
