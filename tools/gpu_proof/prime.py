"""A program: compile a model as hpcbench's runs do, to fill torch.compile's cache: `prime.py MODEL DTYPE...`."""

import sys

from hpcbench.config.parameters import Parameters
from hpcbench.node.frameworks.pytorch.adapter import ADAPTER
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem


def main(model, dtypes):
    """Infer once in each dtype."""
    for dtype in dtypes:
        given = {"framework": "pytorch", "model": model, "task": "inference", "dtype": dtype, "device": "gpu"}
        more = {"gpus_per_task": 1, "batch_size": 32, "execution": "compiled"}
        parameters = Parameters.model_validate({**given, **more}).model_dump()
        network = ADAPTER.build(problem.of_case(parameters, Group(Ranks(0, 1))))
        network.infer()
        network.synchronize()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
