"""Cases in real containers of Charliecloud. Their image has a Python of its own."""

from __future__ import annotations

import json
import sys
import sysconfig

import pytest

pytestmark = pytest.mark.system


@pytest.fixture
def in_container(command_line, container_image):
    """The command line, on a site whose environments are containers of Charliecloud."""
    # The host's PyTorch is lent to the Python of the image. /mnt/0 is a folder of the image.
    packages = sysconfig.get_path("purelib")
    container = {"runtime": "charliecloud", "image": str(container_image), "mounts": [f"{packages}:/mnt/0"]}
    variables = {"PYTHONPATH": "/mnt/0", "OMP_MINE": "a 'b' $HOME"}
    environments = {
        "pytorch": {"container": container, "env": variables},
        "command": {"container": container},
        "gone": {"container": {**container, "image": "./no-such-image"}},
    }
    command_line.environment = {"HPCBENCH_SITE": command_line.site(environments=environments)}
    return command_line


def of_the_image_s_python():
    return pytest.mark.skipif(
        sys.version_info[:2] != (3, 11), reason="PyTorch here is not for Python 3.11, the image's"
    )


def test_a_command_runs_in_the_container_and_in_the_workspace(in_container):
    command = 'echo "debian: $(cat /etc/debian_version)"; echo {{ seed }} > from-inside; ! type ch-run'
    content = {
        "name": "inside",
        "parameters": {"framework": "command", "command": command, "seed": 7},
        "metrics": {"debian": {"regex": r"debian: (12\.\d+)"}},
        "measure": {"repetitions": 1},
    }
    (in_container.workspace / "inside.yaml").write_text(json.dumps(content))
    in_container("sweep", "inside.yaml")
    (record,) = in_container.records()
    assert record["status"] == "completed"
    assert record["metrics"]["debian"]["value"] > 0
    assert (in_container.workspace / "from-inside").read_text() == "7\n"
    (told,) = in_container.workspace.glob("results/*/environments/command.json")
    assert json.loads(told.read_text())["executable"] == "/usr/bin/python3", "its packages are told from within"


@of_the_image_s_python()
@pytest.mark.torch
def test_a_case_runs_with_the_python_of_the_image(in_container):
    in_container("sweep", in_container.experiment())
    (record,) = in_container.records()
    assert record["status"] == "completed"
    assert record["executable"] == "/usr/bin/python3"
    assert record["environment"]["OMP_MINE"] == "a 'b' $HOME"
    assert in_container.report()[0]["framework_version"].startswith("2.")


@of_the_image_s_python()
@pytest.mark.torch
def test_tasks_in_containers_find_each_other(in_container):
    parameters = {"strategy": "ddp", "tasks_per_node": 2, "intra_op_threads": 1}
    in_container("sweep", in_container.experiment(parameters=parameters))
    (record,) = in_container.records()
    assert [rank["status"] for rank in record["ranks"]] == ["completed", "completed"]


def test_an_image_that_is_not_there_is_told_in_the_runtime_s_own_words(in_container):
    in_container("sweep", in_container.experiment(parameters={"environment": "gone"}), expect=1)
    (record,) = in_container.records()
    assert record["status"] == "failed"
    assert "1 of 1 tasks left no result" in record["error"]["message"]
    assert "the log ends: ch-run" in record["error"]["message"]
    assert f"{in_container.workspace}/no-such-image" in record["error"]["message"]
