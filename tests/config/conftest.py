from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.yaml_document import parse_yaml

START = "name: study\nparameters:\n  framework: pytorch\n  model: lstm\n"


@pytest.fixture
def load() -> Callable[..., Experiment]:
    """Load an experiment from a good start of four lines, the text added from line 5 on, and `--set` settings."""

    def loaded(text: str = "", *settings: str) -> Experiment:
        return load_experiment(apply_overrides(parse_yaml(START + text, "study.yaml"), list(settings)))

    return loaded
