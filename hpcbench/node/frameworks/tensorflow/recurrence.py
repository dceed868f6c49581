"""Loops over time in TensorFlow.

A recurrence has a sequence (time, batch, width), the matrix (hidden, width) of its product U h, and a function of one
step, which maps x_t, U h and the states to the new states. The first state is the result. States start at 0.
"""

from typing import Any, Callable, List, NamedTuple, Sequence

import tensorflow as tf

Tensor = Any
Step = Callable[[Tensor, Tensor, Sequence[Tensor]], List[Tensor]]


class Recurrence(NamedTuple):
    """The function of one step, and its number of states."""

    step: Step
    states: int


def over_time(recurrence: Recurrence, sequence: Tensor, kernel: Tensor, backward: bool = False) -> Tensor:
    """Return the results of all steps, (time, batch, hidden), in the order of the sequence, or `backward`."""
    if tf.executing_eagerly():
        return _listed(recurrence, sequence, kernel, backward)
    return _looped(recurrence, sequence, kernel, lambda state, product: state[:1], backward)[0]


def with_own_gradient(recurrence: Recurrence, sequence: Tensor, kernel: Tensor) -> Tensor:
    """Return what `over_time` returns, with a backward pass that XLA can compile apart from the forward pass.

    That of tf.while_loop would take lists of tensors from the forward pass, which cannot leave XLA. This one takes
    the states and products of all steps, and computes the other values of a step again.
    """

    @tf.custom_gradient
    def run(sequence: Tensor, kernel: Tensor) -> Any:
        *states, products = _looped(recurrence, sequence, kernel, lambda state, product: [*state, product])

        def gradient(cotangent: Tensor) -> Any:
            start = tf.zeros_like(states[0][:1])
            before = [tf.concat([start, each[:-1]], 0) for each in states]
            of_inputs, of_products = _reversed(recurrence.step, kernel, [cotangent, sequence, products, *before])
            hidden, width = kernel.shape
            rows, columns = tf.reshape(before[0], (-1, hidden)), tf.reshape(of_products, (-1, width))
            return of_inputs, tf.matmul(rows, columns, transpose_a=True)

        return states[0], gradient

    return run(sequence, kernel)


def _listed(recurrence: Recurrence, sequence: Tensor, kernel: Tensor, backward: bool) -> Tensor:
    """Run the steps in a Python loop, which is faster in eager execution."""
    state, results = _start(recurrence, sequence, kernel), []
    for incoming in tf.unstack(sequence)[:: -1 if backward else 1]:
        state = recurrence.step(incoming, tf.matmul(state[0], kernel), state)
        results.append(state[0])
    return tf.stack(results[:: -1 if backward else 1])


_Keep = Callable[[List[Tensor], Tensor], List[Tensor]]


def _looped(
    recurrence: Recurrence, sequence: Tensor, kernel: Tensor, keep: _Keep, backward: bool = False
) -> List[Tensor]:
    """Return what `keep` returns for the states and the product of each step, stacked over time."""
    steps, start = sequence.shape[0], _start(recurrence, sequence, kernel)
    (incoming,) = _unstacked([sequence])
    kept = [tf.TensorArray(each.dtype, steps, element_shape=each.shape) for each in keep(start, sequence[0])]

    def advance(count: Tensor, state: List[Tensor], kept: List[Any]) -> Any:
        place = steps - 1 - count if backward else count
        product = tf.matmul(state[0], kernel)
        state = recurrence.step(incoming.read(place), product, state)
        return count + 1, state, [each.write(place, value) for each, value in zip(kept, keep(state, product))]

    return [each.stack() for each in _loop(steps, advance, [start, kept])[-1]]


def _reversed(step: Step, kernel: Tensor, sequences: Sequence[Tensor]) -> List[Tensor]:
    """Return the gradients of x and U h of all steps, from cotangent, x, U h, and the states before each step."""
    steps = sequences[0].shape[0]
    unstacked = _unstacked(sequences)
    gradients = [tf.TensorArray(each.dtype, steps, element_shape=each.shape[1:]) for each in sequences[1:3]]
    start = [tf.zeros_like(each[0]) for each in sequences[3:]]

    def retreat(count: Tensor, flowing: List[Tensor], gradients: List[Any]) -> Any:
        place = steps - 1 - count
        cotangent, *given = (each.read(place) for each in unstacked)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(given)
            results = step(given[0], given[1], given[2:])
        arriving = [flowing[0] + cotangent, *flowing[1:]]
        found = tape.gradient(results, given, arriving, tf.UnconnectedGradients.ZERO)
        through_product = tf.matmul(found[1], kernel, transpose_b=True)
        flowing = [found[2] + through_product, *found[3:]]
        return count + 1, flowing, [each.write(place, value) for each, value in zip(gradients, found)]

    return [each.stack() for each in _loop(steps, retreat, [start, gradients])[-1]]


def _loop(steps: int, body: Callable[..., Any], start: List[Any]) -> Any:
    return tf.while_loop(lambda count, *_: count < steps, body, (0, *start), maximum_iterations=steps)


def _start(recurrence: Recurrence, sequence: Tensor, kernel: Tensor) -> List[Tensor]:
    return [tf.zeros((sequence.shape[1], kernel.shape[0]), sequence.dtype)] * recurrence.states


def _unstacked(sequences: Sequence[Tensor]) -> List[Any]:
    return [tf.TensorArray(each.dtype, each.shape[0], element_shape=each.shape[1:]).unstack(each) for each in sequences]


def lstm_step(incoming: Tensor, product: Tensor, state: Sequence[Tensor]) -> List[Tensor]:
    """Return hidden and cell of an LSTM, gates in the order input, forget, cell, output."""
    inward, forget, new, outward = tf.split(incoming + product, 4, 1)
    cell = tf.sigmoid(forget) * state[1] + tf.sigmoid(inward) * tf.tanh(new)
    return [tf.sigmoid(outward) * tf.tanh(cell), cell]


LSTM = Recurrence(lstm_step, 2)
