"""Run in MXNet's own environment: what the adapter does there, as JSON for test_mxnet.py.

PYTHONPATH=node.pyz python mxnet_probe.py PROBE EXECUTION [STRATEGY]
"""

import json
import os
import resource
from pathlib import Path
from types import SimpleNamespace

import mxnet as mx
import numpy
from hpcbench_carried.node.errors import Unsupported
from hpcbench_carried.node.host import cpuinfo
from probing import TINY, Probe, children, main, tell


class MXNet(Probe):
    framework = "mxnet"

    def threads(self):
        """What the adapter says, and how many threads the process has after an inference."""
        self.adapter.set_threads(*(int(os.environ[name]) or None for name in ("INTRA", "INTER")))
        network = self.build("alexnet", batch_size=8, task="inference")
        network.infer()
        network.synchronize()
        return {"all": len(list(Path("/proc/self/task").iterdir())), "said": self.adapter.threads()}

    def modes(self):
        """How often Python runs the model in three steps."""
        network = self.build(task="inference")
        layer, calls = type(network.model[0]), []
        forward = layer.hybrid_forward
        layer.hybrid_forward = lambda block, *given, **named: (
            calls.append(block is network.model[0]),
            forward(block, *given, **named),
        )[1]
        for _ in range(3):
            network.infer()
        return sum(calls)

    def free_memory(self):
        """The free memory of a case on the second of two GPUs, and on the CPU."""
        mx.context.num_gpus = lambda: 2
        mx.context.gpu_memory_info = lambda index: (index + 5, 80)
        ranks = SimpleNamespace(local_rank=1)
        cases = [SimpleNamespace(on_gpu=on_gpu, all_ranks=ranks) for on_gpu in (True, False)]
        return [self.adapter.operator.free_device_bytes(case) for case in cases]

    def refusals(self):
        said = {}
        servers = {"strategy": "kvstore"}
        asked = {
            "float16": {"dtype": "float16"},
            "gpu": {"device": "gpu"},
            "lstm": {"dtype": "bfloat16", "model": "lstm"},
            "transformer": {"dtype": "bfloat16", "model": "transformer"},
            "bfloat16": {"dtype": "bfloat16"},
            "adam on servers": {**servers, "optimizer": {"name": "adam"}},
            "adam on asynchronous servers": {"strategy": "kvstore_async", "optimizer": {"name": "adam"}},
            "schedule on servers": {
                "strategy": "kvstore",
                "optimizer": {"learning_rate": {"peak": 1, "warmup_steps": 2}},
            },
            "clipping on servers": {**servers, "optimizer": {"clip_norm": 1}},
            "clipping with Horovod": {"strategy": "horovod", "optimizer": {"clip_value": 1}},
        }
        for name, changes in asked.items():
            cpuinfo.computes_in = lambda dtype, name=name: name != "bfloat16"
            try:
                self.build(**changes)
            except Unsupported as error:
                said[name] = str(error)
        return said

    def bfloat16(self):
        """How far from float32 a network is that computes in bfloat16, and what oneDNN says that it does then."""
        exact = self.build("alexnet", task="inference")
        expected = exact.to_numpy(exact.infer())
        network = self.build("alexnet", task=os.environ["TASK"], dtype="bfloat16")
        network.synchronize()
        tell("bfloat16 from here on")
        found = network.to_numpy(network.infer())
        if network.problem.training:
            network.train()
            network.synchronize()
        return {"distance": float(abs(found - expected).max() / abs(expected).max()), "mode": network.work.math_mode}

    def memory(self):
        """Where too large a step fails, and whether the adapter sees why."""
        options = {**TINY["mlp"], "hidden_size": 4096}
        network = self.build(model_options=options, batch_size=16384, task="inference")
        network.synchronize()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, -1))
        network.infer()
        try:
            network.synchronize()
        except Exception as error:
            return {"out_of_memory": self.adapter.is_out_of_memory(error), "type": type(error).__name__}
        return {}

    def turns(self):
        """Ranks that take steps in turns, compared with servers in NumPy that apply each rank's gradients at once.

        Gradients are those of a network of one rank with the simulated weights of the rank.
        """
        rate, momentum, size = 0.1, 0.9, self.group.size
        network = self.build(optimizer={"name": "momentum", "learning_rate": rate, "momentum": momentum})
        alone = self.build(strategy="single", optimizer={"name": "sgd", "learning_rate": rate})
        trainer = network.parallel.trainer
        trainer._init_kvstore()
        trainer._init_params()
        servers = [numpy.float64(weight) for weight in alone.weights()]
        state, pulled = [numpy.zeros_like(weight) for weight in servers], [servers] * size
        distance = 0.0
        for turn in range(2 * size):
            gradients, rank = None, turn % size
            if rank == self.group.rank:
                for parameter, weight in zip(alone.trained, pulled[rank], strict=True):
                    parameter.set_data(mx.nd.array(weight))
                alone.train()
                after = list(alone.weights())
                gradients = [(a - b).tolist() for a, b in zip(pulled[rank], after, strict=True)]
                network.train()
                network.synchronize()
            found = [numpy.array(each) / rate for each in self.group.gather(gradients)[rank]]
            state = [momentum * old + gradient for old, gradient in zip(state, found, strict=True)]
            servers = [weight - rate * change for weight, change in zip(servers, state, strict=True)]
            pulled[rank] = servers
            if rank == self.group.rank:
                own = [parameter.data().asnumpy() for parameter in network.trained]
                distance = max(distance, *(abs(a - b).max() for a, b in zip(own, servers, strict=True)))
        own = [parameter.data().asnumpy().tolist() for parameter in network.trained]
        common = [weight.tolist() for weight in network.weights()]
        off = max(abs(numpy.array(a) - b).max() for a, b in zip(common, servers, strict=True))
        answer = {
            "distance": float(max(self.group.gather(float(distance)))),
            "of servers": float(off),
            "equal": all(each == common for each in self.group.gather(common)),
            "apart": len({json.dumps(each) for each in self.group.gather(own)}),
        }
        network.close()
        return answer

    def forever(self):
        network = self.build()
        network.train()
        network.synchronize()
        self.group.gather(None)
        tell(children())
        while True:
            network.train()
            network.synchronize()


if __name__ == "__main__":
    main(MXNet)
