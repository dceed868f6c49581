"""Real data through tf.data, which also decodes images."""

from typing import Any

import tensorflow as tf

from ...workload.data import Items
from ...workload.problem import Problem, channels_last

Tensor = Any


def batches(problem: Problem, items: Items, forever: bool, dtype: Any) -> tf.data.Dataset:
    """Return batches of inputs in `dtype` (token ids unchanged) and labels, on the rank's device."""
    with tf.device("/CPU:0"):  # otherwise TensorFlow copies all data to the GPU at once
        dataset = _on_host(problem, items, forever, dtype)
    if problem.on_gpu:
        return dataset.apply(tf.data.experimental.prefetch_to_device("/GPU:0"))
    return dataset.prefetch(tf.data.AUTOTUNE)


def _on_host(problem: Problem, items: Items, forever: bool, dtype: Any) -> tf.data.Dataset:
    given = items.inputs if isinstance(items.inputs, list) else channels_last(items.inputs)
    dataset = tf.data.Dataset.from_tensor_slices((given, items.labels))
    if forever:
        dataset = dataset.shuffle(len(items.labels), problem.parameters["seed"] + problem.group.rank)
    if items.are_files:
        size = problem.item_shape[-1]
        dataset = dataset.map(lambda path, label: (_decoded(path, size), label), num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(problem.parameters["batch_size"], drop_remainder=True)
    dataset = dataset.map(lambda inputs, labels: in_format(inputs, labels, dtype))
    return dataset.repeat() if forever else dataset


def in_format(inputs: Tensor, labels: Tensor, dtype: Any) -> Any:
    """Return a batch in the dtypes of a step. Integers have 64 bits: TensorFlow places 32-bit ones in host memory."""
    return tf.cast(inputs, dtype if inputs.dtype.is_floating else tf.int64), tf.cast(labels, tf.int64)


def _decoded(path: Tensor, size: int) -> Tensor:
    """Return an image as (size, size, 3) float32 from 0 to 1, resized with antialiasing as by Pillow."""
    pixels = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    return tf.image.resize(pixels, (size, size), antialias=True) / 255
