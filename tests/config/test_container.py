from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from hpcbench.config.container import Container
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError


def container(text: str) -> Container | None:
    document = parse_yaml(
        f"name: a\nscheduler: slurm\nenvironments:\n  pytorch:\n    container: {{{text}}}\n", "site.yaml"
    )
    return load_site(document).environment("pytorch").container


def test_a_container_is_a_runtime_and_an_image() -> None:
    checked = container("runtime: apptainer, image: torch.sif")
    assert checked is not None
    assert (checked.mounts, checked.options, checked.gpu_options) == ([], [], None)


def test_a_mount_is_a_folder_and_where_it_is_seen() -> None:
    checked = container("runtime: podman, image: x, mounts: [/data, /scratch/me:/mnt, ~/envs]")
    assert checked is not None
    assert checked.mounted == [("/data", "/data"), ("/scratch/me", "/mnt"), ("~/envs", "~/envs")]


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("image: x", "site.yaml:5: environments.pytorch.container", "'environments.pytorch.container.runtime' is"),
        ("runtime: docker, image: x", "site.yaml:5: environments.pytorch.container.runtime", "'podman' or 'pyxis'"),
        ("runtime: podman", "site.yaml:5: environments.pytorch.container", "container.image' is missing"),
        ('runtime: podman, image: ""', "site.yaml:5: environments.pytorch.container.image", "at least 1"),
        ("runtime: podman, image: --rm", "site.yaml:5: environments.pytorch.container.image", "begin with '-'"),
        ("runtime: podman, image: x, mount: [/a]", "site.yaml:5: environments.pytorch.container.mount", "'mounts'"),
        ("runtime: podman, image: x, mounts: [data]", "site.yaml:5: environments.pytorch.container.mounts", "/FOLDER"),
        ('runtime: podman, image: x, mounts: ["/a:b"]', "site.yaml:5: environments.pytorch.container.mounts", "FOLDER"),
        ('runtime: podman, image: x, mounts: ["/a:/b:ro"]', "environments.pytorch.container.mounts", "FOLDER"),
        ('runtime: podman, image: x, mounts: ["/a,b"]', "environments.pytorch.container.mounts", "comma"),
        ('runtime: podman, image: x, options: ["a\\nb"]', "environments.pytorch.container.options", "several entries"),
        (
            'runtime: podman, image: x, gpu_options: ["a\\0b"]',
            "environments.pytorch.container.gpu_options",
            "cannot be used in files",
        ),
        ('runtime: podman, image: "a\\nb"', "site.yaml:5: environments.pytorch.container.image", "several entries"),
    ],
)
def test_a_mistake_in_a_container_is_refused_with_file_line_and_key(text: str, where: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        container(text)
    assert where in str(caught.value)
    assert words in str(caught.value)


def test_the_words_of_an_older_site_file_are_refused() -> None:
    with pytest.raises(UserError, match=r"environments\.pytorch\.container"):
        load_site(
            parse_yaml("name: a\nscheduler: local\nenvironments: {pytorch: {container: [ch-run, /x, --]}}", "site.yaml")
        )


def test_what_the_documentation_shows_is_a_site() -> None:
    text = (Path(__file__).parents[2] / "docs" / "guides" / "environments.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^    ```yaml\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    for block in blocks:
        load_site(parse_yaml(f"name: a\nscheduler: slurm\n{textwrap.dedent(block)}", "environments.md"))
