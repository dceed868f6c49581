"""Run in a framework's own environment: an inference under the settings of a case, and what is in effect, as JSON.

PYTHONPATH=node.pyz python settings_probe.py FRAMEWORK EXECUTION
"""

import json
import os
import sys

from hpcbench_carried.node import frameworks
from hpcbench_carried.node.launch import dynamic_linker
from probing import case, tell


def main(framework, execution):
    adapter = frameworks.load(framework)
    asked = json.loads(os.environ["SETTINGS"])
    adapter.set_settings(asked)
    network = adapter.build(case("alexnet", task="inference", framework=framework, execution=execution))
    network.infer()
    network.synchronize()
    tell({**dynamic_linker.in_effect(), **adapter.settings(), "threads": adapter.threads()["intra_op"]})


if __name__ == "__main__":
    main(*sys.argv[1:])
