"""Run in TensorFlow's own environment: what the adapter does there, as JSON for test_tensorflow.py.

PYTHONPATH=node.pyz python tensorflow_probe.py PROBE EXECUTION [STRATEGY]
"""

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy
import tensorflow as tf
from hpcbench_carried.node.errors import Unsupported
from hpcbench_carried.node.frameworks.tensorflow import data, settings, strategies
from hpcbench_carried.node.host import cpuinfo
from hpcbench_carried.node.workload.data import Items
from probing import Probe, main


class TensorFlow(Probe):
    framework = "tensorflow"

    def threads(self):
        """What the adapter says, and the threads that there are: those that execute operations, and XLA's."""
        self.adapter.set_threads(*(int(os.environ[name]) or None for name in ("INTRA", "INTER")))
        before = names_of_threads().count(own_name())
        self.build(task="inference").infer()
        names = names_of_threads()
        return {
            "said": self.adapter.threads(),
            "inter_op": names.count("tf_Compute"),
            "intra_op": names.count("tf_XLAEigen") or names.count(own_name()) - before,
        }

    def modes(self):
        """By way of execution: how often Python runs the model in three steps, and whether XLA has a program."""
        return {execution: self.mode(execution) for execution in ("eager", "graph", "compiled")}

    def mode(self, execution):
        network = self.build(task="inference", execution=execution)
        model, calls = network.model, []
        call = type(model).__call__

        def counted(*arguments):
            calls.append(1)
            return call(*arguments)

        with mock.patch.object(type(model), "__call__", counted):
            for _ in range(3):
                network.infer()
        inputs = network.on_device(*network.problem.batch())[0]
        try:
            program = network._predict.experimental_get_compiler_ir(inputs)("hlo")
        except (AttributeError, ValueError):
            program = ""
        return {"calls": len(calls), "compiled": "HloModule" in program}

    def memory(self):
        """Which errors of real operations are told from others as a lack of memory."""
        shape = (10**7, 10**6)
        asked = {
            "eager": lambda: tf.zeros(shape) + 1,
            "compiled": tf.function(lambda: tf.random.uniform(shape), jit_compile=True),
            "disk": lambda: tf.io.write_file("/dev/full", "x" * 10**6),
            "shapes": lambda: tf.zeros((2, 3)) + tf.zeros((4, 5)),
        }
        said = {}
        for name, call in asked.items():
            try:
                call()
            except tf.errors.OpError as error:
                said[name] = (type(error).__name__, self.adapter.is_out_of_memory(error))
        return said

    def refusals(self):
        cpuinfo.computes_in = lambda dtype: False
        asked = {"bfloat16": {"dtype": "bfloat16"}, "gpu": {"device": "gpu"}}
        asked["float16"] = {"dtype": "float16", "task": "training"}
        said = {}
        for name, changes in asked.items():
            try:
                self.build(**changes)
            except Unsupported as error:
                said[name] = str(error)
        return said

    def places(self):
        """Where weights of a case for a GPU must not be, what a strategy is told of GPUs, and where data are put."""
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        said = {}
        try:
            settings.check_places(self.build(task="inference").trained)
        except RuntimeError as error:
            said["weights"] = str(error)
        tf.distribute.MultiWorkerMirroredStrategy = lambda cluster: cluster.num_accelerators()
        for device in ("cpu", "gpu"):
            asked = SimpleNamespace(group=self.group, on_gpu=device == "gpu")
            said[device] = strategies.MultiWorkerMirrored(asked).strategy
        tf.data.Dataset.from_tensor_slices = lambda tensors: said.update(data=tf.constant(1.0).device)
        items = Items(numpy.zeros((1, 5)), numpy.zeros(1))
        with tf.device("/CPU:1"), contextlib.suppress(AttributeError):  # takes the part of a GPU; it gives no data set
            data.batches(None, items, False, tf.float32)
        return said


def names_of_threads():
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


def own_name():
    """Also of TensorFlow's intra-op threads: the name that it gives them is too long for the kernel."""
    return Path("/proc/self/comm").read_text().strip()


if __name__ == "__main__":
    main(TensorFlow)
