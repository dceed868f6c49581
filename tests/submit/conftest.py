from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.loading import parse_yaml
from hpcbench.config.site import load_site
from hpcbench.plan.plan import make_plan
from hpcbench.submit import sweep
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import Workspace
from tests.submit.around import Around

START = "name: study\nparameters:\n  framework: pytorch\n  model: lstm\n"
# The Python that runs the tests will do, whether it has PyTorch or not.
RECIPE = 'description: for tests\npython: ">=3.8"\nimports: [json]\nsteps: [{install: [a==1]}]\n'
SITE = "name: cluster\nscheduler: {}\nenvironments:\n  pytorch:\n    "


@pytest.fixture
def make_sweep(tmp_path: Path) -> Callable[..., Sweep]:
    """Write the folder of a sweep of one case.

    `text` goes on with the experiment, `site` with the site's environment `pytorch`.
    """

    def make(
        text: str = "", site: str = "{}", *, scheduler: str = "slurm", root: Path | None = None, name: str = "study-1"
    ) -> Sweep:
        workspace = Workspace(root or tmp_path / "workspace")
        recipe = workspace.root / "configs" / "environments" / "pytorch.yaml"
        recipe.parent.mkdir(parents=True, exist_ok=True)
        recipe.write_text(RECIPE)
        source = tmp_path / "study.yaml"
        source.write_text(START + text)
        document = parse_yaml(START + text, "study.yaml")
        where = load_site(parse_yaml(SITE.format(scheduler) + site, "site.yaml"))
        plan = make_plan(load_experiment(document), document, where)
        return sweep.create(workspace, workspace.paths(name), plan, source)

    return make


@pytest.fixture
def around(make_sweep: Callable[..., Sweep], tmp_path: Path) -> Callable[..., Around]:
    def make(scheduler: str = "local", parameters: str = "", **measure: object) -> Around:
        text = f"{parameters}\nmeasure: {json.dumps(measure)}\nslurm: {{time: '00:10:00'}}"
        return Around(make_sweep(text, scheduler=scheduler), tmp_path)

    return make
