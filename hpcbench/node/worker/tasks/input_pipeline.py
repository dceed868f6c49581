"""Input pipeline: one step is the next batch of real data on the device, without a network."""

from typing import Any, Callable, Dict

from ....core.samples import Samples
from ....core.training.page_cache import COLD
from ....core.typed_json import to_json
from ...frameworks.adapter import Network
from ...host import hardware
from ...launch.rendezvous import Group
from ...measurement import timing
from ...measurement.stopping_rules import Settings
from ...workload.page_cache import DataFiles

AHEAD = 2  # batches per process or thread that decodes files, which PyTorch, Grain and MXNet keep ready


def step(network: Network) -> Callable[[], Any]:
    """Return the function that runs one step."""
    return network.fetch


def measure(network: Network, settings: Settings, group: Group, facts: Dict[str, Any]) -> Samples:
    """Time the steps, with the data files in the requested state of the page cache, which is added to the facts."""
    problem = network.problem
    assert problem.split  # noqa: S101 - this task has data
    files = DataFiles(problem.split.training, problem.parameters["page_cache"], problem.steps_per_epoch)
    run = files.counted(step(network))
    ahead = AHEAD * len(hardware.usable_cpus()) if files.state == COLD else 0

    def agree(value: Any) -> Any:
        files.prepare()  # between two windows of measurements
        for _ in range(ahead):  # batches that the pipeline read before
            run()
        network.synchronize()
        return group.agree(value)

    samples = timing.measure(run, network.synchronize, settings, agree)
    facts["page_cache"] = to_json(files.summary())
    facts["warnings"] += files.warnings()
    return samples
