"""Which Python a case runs with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hpcbench.config.site import Environment, Site, load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.environments.build_commands import ProgramError
from hpcbench.environments.resolve import check_still_there, resolve
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.package_data import shipped

TINY = {"install": ["tiny==1.0"]}


def site(**environments: Environment) -> Site:
    return Site(name="here", scheduler="local", environments=environments)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """One with a Python of its own at bin/python, HOME pointing to it."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HPCBENCH_ENVS", raising=False)
    return Workspace(tmp_path)


@pytest.mark.parametrize("python", ["bin/python", "./bin/../bin/python", "~/bin/python", "{root}/bin/python"])
def test_a_python_is_found_from_the_workspace(python: str, workspace: Workspace) -> None:
    environment = Environment(python=python.format(root=workspace.root))
    found = resolve(site(mine=environment), "mine", workspace)
    assert found.python == str(workspace.root / "bin" / "python")


@pytest.mark.parametrize(
    ("environment", "python"),
    [
        ("{}", sys.executable),
        ("{env: {A: 1}}", sys.executable),
        ("{modules: [python]}", "python3"),
        ("{container: {runtime: charliecloud, image: /image}}", "python3"),
        ("{python: /opt/python, container: {runtime: podman, image: a}}", "/opt/python"),  # a path inside the container
        ("{python: /opt/python, modules: [python]}", "/opt/python"),  # perhaps only there on the node
        ("{python: env}", "env"),
    ],
)
def test_what_can_only_be_seen_on_the_node_is_not_looked_for(
    environment: str, python: str, workspace: Workspace
) -> None:
    text = f"name: here\nscheduler: local\nenvironments: {{mine: {environment}}}\n"
    assert resolve(load_site(parse_yaml(text, "site.yaml")), "mine", workspace).python == python


@pytest.mark.parametrize("python", [*("no-such-command", "bin", "/bin", "", "bin/python2"), "~no-such-user/bin/python"])
def test_a_python_that_is_none_is_refused(python: str, workspace: Workspace) -> None:
    with pytest.raises(UserError, match="the Python of environment 'mine' does not exist"):
        resolve(site(mine=Environment(python=python)), "mine", workspace)


def test_the_site_goes_before_what_is_built(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    assert resolve(site(), "demo", bench.workspace).python == str(bench.place("demo").python)
    assert resolve(site(demo=Environment(python="sh")), "demo", bench.workspace).python == "sh"
    assert resolve(site(demo=Environment(modules=["demo"])), "demo", bench.workspace).python == "python3"


def test_what_a_site_adds_to_a_built_environment_is_kept(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    found = resolve(site(demo=Environment(env={"A": "1"})), "demo", bench.workspace)
    assert found.python == str(bench.place("demo").python)
    assert found.environment.env == {"A": "1"}


def test_what_is_outdated_is_used_with_a_warning(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    assert resolve(site(), "demo", bench.workspace).warning == ""
    bench.recipe("demo", TINY, {"install": ["other==1.0"]})
    found = resolve(site(), "demo", bench.workspace)
    assert found.python == str(bench.place("demo").python)
    assert "has changed since it was built" in found.warning
    assert "hpcbench env build demo" in found.warning


def test_the_python_that_runs_hpcbench_will_do_where_it_has_what_the_recipe_imports(bench):
    bench.recipe("demo", TINY, imports=("json", "xml.dom"))
    assert resolve(site(), "demo", bench.workspace).python == sys.executable


@pytest.mark.parametrize("environments", [{}, {"demo": Environment(env={"A": "1"})}], ids=["unnamed", "named"])
def test_what_is_not_built_is_refused_with_the_command_that_builds_it(bench, environments):
    bench.recipe("demo", TINY)
    with pytest.raises(UserError, match="the environment 'demo' is not built") as caught:
        resolve(site(**environments), "demo", bench.workspace)
    assert "hpcbench env build demo" in caught.value.hint


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("{own}/mine.yaml", "in {own}/mine.yaml, "),
        ("{shipped}/local-slurm.yaml", "in a copy of {shipped}/local-slurm.yaml in {own}/, "),
        (None, "in the site file, key `environments` (hpcbench init writes one)"),
    ],
    ids=["own", "shipped", "none"],
)
def test_the_hint_names_the_site_file(bench, file, place):
    bench.recipe("demo", TINY)
    folders = {"own": bench.workspace.root / "configs" / "sites", "shipped": shipped("configs") / "sites"}
    here = load_site(parse_yaml("{name: a, scheduler: local}", file.format(**folders))) if file else site()
    with pytest.raises(UserError) as caught:
        resolve(here, "demo", bench.workspace)
    assert f"or name its module, container or Python {place.format(**folders)}" in caught.value.hint


def test_what_is_half_built_is_refused(bench, build):
    bench.recipe("demo", {"install": ["late==1.0"]})
    with pytest.raises(UserError):
        build("demo")
    with pytest.raises(UserError, match="the environment 'demo' is incomplete"):
        resolve(site(), "demo", bench.workspace)


def test_what_is_gone_since_it_was_found_is_told(bench, build, tmp_path):
    bench.recipe("demo", TINY)
    build("demo")
    python = str(bench.place("demo").python)
    check_still_there(site(), "demo", python, bench.workspace)
    bench.place("demo").marker.rename(bench.place("demo").progress)
    with pytest.raises(UserError, match="is incomplete"):
        check_still_there(site(), "demo", python, bench.workspace)
    bench.place("demo").progress.unlink()
    with pytest.raises(UserError, match="no longer exists") as caught:
        check_still_there(site(), "demo", python, bench.workspace)
    assert "hpcbench env build demo" in caught.value.hint


@pytest.mark.parametrize("python", ["/opt/gone/bin/python", "python3.99"])
def test_a_python_of_the_site_that_is_gone_is_told(workspace, python):
    with pytest.raises(UserError, match="no longer exists") as caught:
        check_still_there(site(demo=Environment(python=python)), "demo", python, workspace)
    assert "env build" not in caught.value.hint


@pytest.mark.parametrize(
    "says",
    ["{modules: [python]}", "{setup: ['true']}", "{container: {runtime: charliecloud, image: /image}}"],
)
def test_a_python_that_only_the_node_sees_is_not_missed(workspace, says):
    text = f"name: here\nscheduler: local\nenvironments: {{demo: {says}}}\n"
    check_still_there(load_site(parse_yaml(text, "site.yaml")), "demo", "/opt/of/the/node/bin/python", workspace)


def test_an_environment_that_nobody_knows_is_refused_with_the_nearest(workspace):
    with pytest.raises(UserError, match="environment 'pytorh' not found") as caught:
        resolve(site(), "pytorh", workspace)
    assert "did you mean 'pytorch'?" in caught.value.hint


def test_programs_of_the_user_need_no_environment(workspace):
    assert resolve(site(), "command", workspace).python == sys.executable


def test_what_is_built_stays_usable_without_its_recipe(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    (bench.workspace.root / "configs" / "environments" / "demo.yaml").unlink()
    assert resolve(site(), "demo", bench.workspace).python == str(bench.place("demo").python)


def test_what_is_half_built_is_refused_also_where_hpcbench_has_it_itself(bench, build):
    bench.recipe("demo", {"install": ["late==1.0"]}, imports=("json",))
    with pytest.raises(ProgramError):
        build("demo")
    with pytest.raises(UserError, match="is incomplete") as caught:
        resolve(site(), "demo", bench.workspace)
    assert "hpcbench env remove demo" in caught.value.hint


def test_what_is_built_and_not_used_beside_modules_is_told(bench, build):
    bench.recipe("demo", TINY)
    build("demo")
    found = resolve(site(demo=Environment(modules=["cuda"])), "demo", bench.workspace)
    assert f"to use both, set there: python: {bench.place('demo').python}" in found.warning
    both = Environment(modules=["cuda"], python=str(bench.place("demo").python))
    assert resolve(site(demo=both), "demo", bench.workspace).warning == ""
