"""A program that fills the cache of torch.compile with a model as runs compile it: `prime.py DEVICE MODEL DTYPE...`."""

import sys

from hpcbench.config.parameters import Parameters
from hpcbench.node.frameworks.pytorch.adapter import ADAPTER
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem


def main(device, model, dtypes):
    """Run inference once in each dtype."""
    for dtype in dtypes:
        given = {"framework": "pytorch", "model": model, "task": "inference", "dtype": dtype, "device": device}
        more = {"gpus_per_task": int(device == "gpu"), "batch_size": 32, "execution": "compiled"}
        parameters = Parameters.model_validate({**given, **more}).model_dump()
        network = ADAPTER.build(problem.of_case(parameters, Group(Ranks(0, 1))))
        network.infer()
        network.synchronize()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
