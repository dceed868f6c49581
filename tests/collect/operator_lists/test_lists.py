"""The operators of cases from the environment of their framework: a stand-in for its Python writes the lists."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.collect.operator_lists import cache, lists, node_process, run_node
from hpcbench.collect.operator_lists.lists import operator_lists
from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.plan.case import Case
from hpcbench.plan.plan import make_plan
from hpcbench.store.workspace import Workspace

# Lists one operator per case, named after its batch size. A batch of 13 ends it, one of 14 has a reason, one of 16 no
# text, and one of 17 no end before the file go.txt exists.
STAND_IN = """#!{python}
import json, os, sys, time
with open("pid.txt", "w") as file:
    file.write(str(os.getpid()))
_, flags, zipapp, command, job, result = sys.argv
assert (flags, command) == ("-Es", "list-operators"), sys.argv
assert "PYTHONPATH" not in os.environ or {keeps}
with open("started.txt", "a") as file:
    file.write("started\\n")
for line in open(job):
    planned = json.loads(line)
    size = planned["parameters"]["batch_size"]
    if size == 16:
        with open(result, "ab") as file:
            file.write(b"\\xff\\n")
        break
    if size == 13:
        sys.exit("out of luck")
    while size == 17 and not os.path.exists("go.txt"):
        time.sleep(0.01)
    fixed = dict(kind="gemm", phase="forward", arguments="{{}}", bytes_moved=1, weight_bytes=0, output_bytes=1)
    operator = dict(fixed, operator=f"aten.mm.{{size}}", calls=1, is_view=False)
    found = dict(case_id=planned["case_id"], operators=[] if size == 14 else [operator])
    found.update(reason="it is odd" if size == 14 else "", lacks_input=[])
    with open(result, "a") as file:
        file.write(json.dumps(found) + "\\n")
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(run_node, "node_zipapp", lambda: b"")
    monkeypatch.setenv("PYTHONPATH", "/of/the/shell")
    return Workspace(tmp_path)


@pytest.fixture
def site(workspace: Workspace) -> Callable[..., Site]:
    def make(**environment: object) -> Site:
        python = workspace.root / "python"
        python.write_text(STAND_IN.format(python=sys.executable, keeps="setup" in environment), encoding="utf-8")
        python.chmod(0o755)
        environments = {name: {"python": str(python), **environment} for name in ("pytorch", "pytorch-zoo")}
        return Site.model_validate({"name": "here", "scheduler": "local", "environments": environments})

    return make


def cases(text: str, site: Site) -> tuple[Case, ...]:
    document = parse_yaml(f"name: test\nparameters: {{task: inference}}\n{text}", "test.yaml")
    return make_plan(load_experiment(document), document, site).cases


def starts(workspace: Workspace) -> int:
    """How often the framework was started."""
    file = workspace.root / "started.txt"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def test_cases_with_equal_operators_are_listed_once(workspace: Workspace, site: Callable[..., Site]) -> None:
    here, told = site(), list[tuple[str, int]]()
    text = "matrix: {framework: [pytorch, jax], model: [mlp], batch_size: [4, 8], seed: [0, 1]}"
    asked = cases(text, here)
    found = operator_lists(asked, here, workspace, lambda *each: told.append(each))
    sizes = [case.parameters.batch_size for case in asked]
    assert [found[case.id].operators[0].operator for case in asked] == [f"aten.mm.{size}" for size in sizes]
    assert [found[case.id].case_id for case in asked] == [case.id for case in asked]
    assert told == [("pytorch", 2)]
    assert starts(workspace) == 1


def test_a_second_prediction_starts_no_framework(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    asked = cases("matrix: {framework: [pytorch], model: [mlp], batch_size: [4]}", here)
    first = operator_lists(asked, here, workspace)
    assert operator_lists(asked, here, workspace) == first
    assert starts(workspace) == 1
    other = site(env={"SOME": "setting"})  # another environment may list other operators
    operator_lists(asked, other, workspace)
    assert starts(workspace) == 2


def test_a_damaged_file_is_listed_again(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    asked = cases("matrix: {framework: [pytorch], model: [mlp], batch_size: [4]}", here)
    first = operator_lists(asked, here, workspace)
    for file in workspace.operator_lists.glob("*.json"):
        file.write_text('{"case_id": 3}', encoding="utf-8")
    assert operator_lists(asked, here, workspace) == first
    assert starts(workspace) == 2


def test_code_of_the_user_may_change(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    asked = cases(OWN, here)
    operator_lists(asked, here, workspace)
    operator_lists(asked, here, workspace)
    assert starts(workspace) == 2


OWN = "include: [{framework: pytorch, model: 'nets:build', input: {shape: [3]}, batch_size: 4}]"


def test_lists_that_were_listed_before_an_interrupt_are_kept(
    workspace: Workspace, site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = site()
    asked = cases("matrix: {framework: [pytorch], model: [mlp], batch_size: [4, 8, 17]}", here)
    kept: list[str] = []

    def keep(folder: Path, identity: str, found: OperatorList) -> None:
        cache.keep(folder, identity, found)
        kept.extend(each.operator for each in found.operators)
        if len(kept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(lists, "keep", keep)
    with pytest.raises(KeyboardInterrupt):
        operator_lists(asked, here, workspace)
    assert kept == ["aten.mm.4", "aten.mm.8"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((workspace.root / "pid.txt").read_text(encoding="utf-8")), 0)
    assert not list(workspace.operator_lists.glob(".list-*"))
    (workspace.root / "go.txt").touch()
    counts: list[int] = []
    found = operator_lists(asked, here, workspace, lambda environment, count: counts.append(count))
    assert counts == [1], "a second run lists the rest"
    assert [found[case.id].operators[0].operator for case in asked] == ["aten.mm.4", "aten.mm.8", "aten.mm.17"]


def test_networks_that_take_too_long_have_a_reason(
    workspace: Workspace, site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = site()
    asked = cases("matrix: {framework: [pytorch], model: [mlp], batch_size: [17, 4]}", here)
    monkeypatch.setattr(node_process, "TIMEOUT_S", 0.2)
    found = operator_lists(asked, here, workspace)
    assert {found[case.id].reason for case in asked} == {"its operators were not listed within 0 s"}


def test_what_cannot_be_listed_has_a_reason(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    text = """include:
  - {framework: pytorch, model: mlp, batch_size: [4, 14, 13, 15]}
  - {framework: keras-torch, model: keras-applications/ResNet50, batch_size: 4}
"""
    asked = cases(text, here)
    found = operator_lists(asked, here, workspace)
    reasons = [found[case.id].reason for case in asked]
    assert reasons[:2] == ["", "it is odd"]
    assert reasons[2] == reasons[3] == "the node code ended with status 1: out of luck"
    assert "keras-torch cannot be listed" in reasons[4]
    operator_lists(asked, here, workspace)
    assert starts(workspace) == 2  # reasons are not kept


def test_a_python_that_cannot_be_started_is_a_reason(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    (workspace.root / "python").write_bytes(b"\x7fELF")  # of another machine
    (asked,) = cases("include: [{framework: pytorch, model: mlp, batch_size: 4}]", here)
    (found,) = operator_lists([asked], here, workspace).values()
    assert "cannot be started: [Errno 8] Exec format error" in found.reason


def test_a_result_that_is_no_text_is_a_reason(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    asked = cases("include: [{framework: pytorch, model: mlp, batch_size: [4, 16]}]", here)
    found = operator_lists(asked, here, workspace)
    assert [found[case.id].reason for case in asked] == ["", "the node code ended early"]


def test_an_environment_that_is_not_built(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCBENCH_ENVS", str(workspace.root / "none"))
    here = Site.model_validate({"name": "here", "scheduler": "local"})
    (asked,) = cases("include: [{framework: pytorch, model: timm/vit_tiny_patch16_224, batch_size: 4}]", here)
    (found,) = operator_lists([asked], here, workspace).values()
    assert "'pytorch-zoo' is not built" in found.reason
    assert "hpcbench env build pytorch-zoo" in found.hint


def test_shell_lines_set_an_environment_up(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site(setup=["touch set-up.txt"])
    asked = cases("matrix: {framework: [pytorch], model: [mlp], batch_size: [4]}", here)
    assert operator_lists(asked, here, workspace)[asked[0].id].operators
    assert (workspace.root / "set-up.txt").exists()
    fails = site(setup=["false"])
    assert "ended with status 1" in operator_lists(asked, fails, workspace)[asked[0].id].reason


def test_the_file_of_the_node_code_is_that_of_this_code(workspace: Workspace, site: Callable[..., Site]) -> None:
    here = site()
    operator_lists(cases("include: [{framework: pytorch, model: mlp, batch_size: 4}]", here), here, workspace)
    (kept,) = workspace.operator_lists.glob("node-*.pyz")
    assert kept.read_bytes() == b""
    assert json.loads(next(iter(workspace.operator_lists.glob("*.json"))).read_text(encoding="utf-8"))["operators"]
