from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.plan.plan import Plan, make_plan

START = "name: study\nparameters:\n  framework: pytorch\n  model: lstm\n"
SITE = "name: cluster\nscheduler: slurm\nenvironments:\n  pytorch: {}\n"


@pytest.fixture
def plan() -> Callable[..., Plan]:
    """Plan an experiment: a good start of four lines, the text added from line 5 on, and `--set` settings."""

    def planned(text: str = "", *settings: str, site: str = "", limit: int | None = None) -> Plan:
        document = apply_overrides(parse_yaml(START + text, "study.yaml"), list(settings))
        return make_plan(load_experiment(document), document, load_site(parse_yaml(SITE + site, "site.yaml")), limit)

    return planned
