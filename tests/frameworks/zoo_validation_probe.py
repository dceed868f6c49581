"""Run in the environment of a framework with libraries of models: the validation of models, given as JSON.

A question to answering.py: zoo_validation_probe '[PARAMETERS, ...]'
"""

import json

from hpcbench_carried.node.launch.ranks import Ranks
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.worker.validation.external_networks import validate_external
from hpcbench_carried.node.workload import problem
from probing import adapter_of


def main(cases):
    answers = []
    for parameters in json.loads(cases):
        adapter = adapter_of(parameters["framework"])
        network = adapter.build(problem.of_case(parameters, Group(Ranks(0, 1))))
        found = validate_external(adapter, network, None, [])
        ratio = found.worst and found.worst.ratio
        error = found.gradient_check and found.gradient_check.error
        answers.append([parameters["model"], parameters["task"], found.verdict, found.reason, ratio, error])
    return answers
