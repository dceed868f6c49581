"""Run in a framework's own environment: what its optimizers make of a fixed sequence of gradients, and of batches.

A question to answering.py: optimizer_probe FRAMEWORK RESULT.npz EXECUTION [STRATEGY OPTIONS]
"""

import json

import numpy
from optimizer_cases import cases, gradients, start
from probing import adapter_of, case, own_group


def pytorch(problem):
    import torch
    from hpcbench_carried.node.frameworks.pytorch.update import Update

    model = torch.nn.ParameterList([torch.nn.Parameter(torch.from_numpy(weight)) for weight in start()])
    update = Update(model, problem, torch.device("cpu"))

    def step(found):
        update.begin()
        for weight, gradient in zip(model, found, strict=True):
            weight.grad = torch.from_numpy(gradient.copy())
        update.step()

    return step, lambda: [weight.detach().numpy() for weight in model]


def keras_torch(problem):
    import keras
    import torch
    from hpcbench_carried.node.frameworks.keras.optimizers import Updates

    weights = [keras.Variable(weight) for weight in start()]
    updates = Updates(problem.optimizer, weights)

    def step(found):
        with torch.no_grad():
            updates.apply([torch.from_numpy(each.copy()) for each in found], weights)

    return step, lambda: [weight.numpy() for weight in weights]


def tensorflow(problem):
    import tensorflow as tf
    from hpcbench_carried.node.frameworks.tensorflow.optimizers import Updates

    weights = [tf.Variable(weight) for weight in start()]
    updates = Updates(problem.optimizer, weights)
    apply = tf.function(lambda found: updates.apply(found, weights), autograph=False)
    return lambda found: apply([tf.constant(each) for each in found]), lambda: [weight.numpy() for weight in weights]


def keras_tensorflow(problem):
    import keras
    import tensorflow as tf
    from hpcbench_carried.node.frameworks.keras.optimizers import Updates

    weights = [keras.Variable(weight) for weight in start()]
    updates = Updates(problem.optimizer, weights)
    apply = tf.function(lambda found: updates.apply(found, weights), autograph=False)
    return lambda found: apply([tf.constant(each) for each in found]), lambda: [weight.numpy() for weight in weights]


def _jax(optimizer):
    import jax

    state = [[jax.numpy.asarray(weight) for weight in start()], optimizer.state]
    update = jax.jit(optimizer.update)

    def step(found):
        state[:] = update(*state, [jax.numpy.asarray(each) for each in found])

    return step, lambda: [numpy.asarray(weight) for weight in state[0]]


def jax(problem):
    from hpcbench_carried.node.frameworks.jax.optimizers import optimizer_of

    return _jax(optimizer_of(problem.optimizer, [numpy.asarray(weight) for weight in start()]))


def keras_jax(problem):
    import keras
    from hpcbench_carried.node.frameworks.keras.on_jax import optimizer_of

    return _jax(optimizer_of(problem.optimizer, [keras.Variable(weight) for weight in start()]))


def mxnet(problem):
    import mxnet as mx
    from hpcbench_carried.node.frameworks.mxnet.strategies import Strategy

    parameters = mx.gluon.ParameterDict()
    for place, weight in enumerate(start()):
        parameters.get(f"w{place}", shape=weight.shape, init=mx.init.Constant(mx.nd.array(weight)))
    parameters.initialize()
    strategy = Strategy(parameters, problem)
    weights = [parameters[f"w{place}"] for place in range(len(start()))]

    def step(found):
        for weight, gradient in zip(weights, found, strict=True):
            weight.data()
            weight.grad()[:] = mx.nd.array(gradient)
            weight.data()._fresh_grad = True
        strategy.update()

    return step, lambda: [weight.data().asnumpy() for weight in weights]


def trajectories(framework, arrays):
    """Add the weights after 1 and after all steps of each case."""
    make = globals()[framework.replace("-", "_")]
    for name, options in cases().items():
        step, weights = make(case(optimizer=options, strategy="single"))
        for count, found in enumerate(gradients(), 1):
            step(found)
            if count in (1, len(gradients())):
                arrays.update({f"{name}.{count}.{place}": w.copy() for place, w in enumerate(weights())})


def accumulated(adapter, execution, strategy, options, arrays):
    """Add the weights after steps on two batches for each rank, and after the same steps on one large batch."""
    group = own_group()
    asked = {"execution": execution, "group": group}
    network = adapter.build(case(optimizer={**options, "gradient_accumulation_steps": 2}, strategy=strategy, **asked))
    numbers = numpy.random.RandomState(3)
    for name in ("small", "large"):
        if name == "large":
            group.gather(None)
            network.close()
            network = adapter.build(case(optimizer=options, strategy="single", **asked))
        numbers.seed(3)
        for _ in range(3):
            inputs = numbers.standard_normal((group.size, 2, 2, 5)).astype(numpy.float32)
            labels = numbers.randint(0, 3, (group.size, 2, 2)).astype(numpy.int32)
            own = inputs[group.rank], labels[group.rank]
            batches = zip(*own, strict=True) if name == "small" else [(inputs.reshape(-1, 5), labels.reshape(-1))]
            network.learn([network.on_device(numpy.ascontiguousarray(x), y) for x, y in batches])
        network.synchronize()
        arrays.update({f"{name}.{place}": numpy.array(weight) for place, weight in enumerate(network.weights())})
    group.gather(None)


def main(framework, result, execution, *strategy_and_options):
    adapter = adapter_of(framework)
    arrays = {}
    if strategy_and_options:
        strategy, options = strategy_and_options
        accumulated(adapter, execution, strategy, json.loads(options), arrays)
    else:
        trajectories(framework, arrays)
        accumulated(adapter, execution, "single", {"name": "adam", "clip_norm": 0.1}, arrays)
    if own_group().rank == 0:
        numpy.savez(result, **arrays)
