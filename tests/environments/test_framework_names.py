"""The framework of an environment, by its name."""

from __future__ import annotations

import pytest

from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.environments.framework_names import framework_and_strategy
from hpcbench.errors import UserError


@pytest.mark.parametrize(
    ("name", "framework", "wanted"),
    [
        ("pytorch", None, ("pytorch", "single")),
        ("pytorch-module", None, ("pytorch", "single")),
        ("keras-torch", None, ("keras-torch", "single")),
        ("keras-tensorflow-2.21", None, ("keras-tensorflow", "single")),
        ("horovod-pytorch", None, ("pytorch", "horovod")),
        ("horovod-mxnet-x", None, ("mxnet", "horovod")),
        ("mine", "jax", ("jax", "single")),
        ("horovod-mine", "tensorflow", ("tensorflow", "horovod")),
    ],
)
def test_the_name_of_an_environment_tells_its_framework(name, framework, wanted):
    assert framework_and_strategy(name, framework) == wanted


@pytest.mark.parametrize("name", ["mine", "my-pytorch", "horovod-mine", "keras"])
def test_a_name_that_does_not_tell_needs_the_option(name):
    with pytest.raises(UserError, match="does not begin with the name of a framework") as caught:
        framework_and_strategy(name)
    assert all(framework in caught.value.hint for framework in FRAMEWORKS)


def test_the_environment_of_commands_has_no_framework():
    with pytest.raises(UserError, match="'command' has no framework"):
        framework_and_strategy("command")
