"""Real data: the items for training, and the held-out items. Each framework has its own input pipeline.

An npz file has `x`, (items, *shape of one item) in the order of layers.py, and `y`, (items,) integers from 0; 8-bit
numbers are divided by 255. An image folder has one folder of PNG or JPEG files per class.
"""

import os
import zipfile
import zlib
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple, Union

import numpy

from ...models.initial_weights import Numbers
from ...models.layers import Shape
from ..errors import BadData

IMAGES = (".png", ".jpg", ".jpeg")
# Errors of numpy.load: not a file, not a zip archive, a truncated or damaged one, or one without an array.
_UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, ValueError, AttributeError)
_STREAM = (0, 1)  # differs from that of the weights and those of the ranks' synthetic input, see problem.py


class Items(NamedTuple):
    """Inputs, either (items, *shape) or as many paths of images, and labels, (items,) int32."""

    inputs: Union["numpy.ndarray", List[str]]
    labels: "numpy.ndarray"

    @property
    def are_files(self) -> bool:
        """Return whether the inputs are paths of images."""
        return isinstance(self.inputs, list)

    def loaders(self, cpus: Sequence[int]) -> int:
        """Return how many threads or processes decode files; one CPU is left to the training."""
        return len(cpus) - 1 if self.are_files else 0

    def chosen(self, places: "numpy.ndarray") -> "Items":
        """Return the items at `places`, in that order."""
        if isinstance(self.inputs, list):
            return Items([self.inputs[place] for place in places], self.labels[places])
        return Items(self.inputs[places], self.labels[places])


class Split(NamedTuple):
    """One rank's share of the data. `held_out` is filled up to whole batches; only its first `counted` items count."""

    training: Items
    held_out: Items
    counted: int


def load(data: Dict[str, str], shape: Shape, tokens: int, classes: int, label_shape: Shape = ()) -> Items:
    """Return the checked items of an npz file or an image folder.

    `tokens` is the size of the vocabulary, 0 for a model without one; `label_shape` is the shape of the labels of an
    item. Raise BadData if the data do not fit the model.
    """
    if data.get("npz"):
        return _npz(data["npz"], shape, tokens, classes, label_shape)
    return _image_folder(data["imagefolder"], shape, classes)


def split(items: Items, held_out: float, batch_size: int, batches: int, rank: int, size: int, seed: int) -> Split:
    """Return one rank's share of the data, from a split that is the same on every rank and in every framework.

    `held_out` is the fraction of held-out items. Raise BadData if the training items of a rank are fewer than the
    `batches` of one step.
    """
    test, training = _split_places(len(items.labels), held_out, seed)
    share = len(training) // size
    if share < batch_size * batches:
        step = "a batch of %d" % batch_size if batches == 1 else "%d batches of %d" % (batches, batch_size)
        raise BadData("%d items for training are fewer than %s for each of %d ranks" % (len(training), step, size))
    own = test[rank::size]
    longest = -(-len(test) // size)  # the same number of batches on all ranks
    padded = _whole_batches(own if len(own) else training, longest, batch_size)
    return Split(items.chosen(training[rank : share * size : size]), items.chosen(padded), len(own))


def block(items: Items, held_out: float, batch_size: int, rank: int, size: int, seed: int) -> Tuple[Items, int]:
    """Return a block of the training items for a check of what the ranks get, and the number of items that count.

    Blocks are consecutive, unlike the shares of `split`; the last batch is filled up.
    """
    _, training = _split_places(len(items.labels), held_out, seed)
    own = numpy.array_split(training, size)[rank]
    return items.chosen(_whole_batches(own if len(own) else training, len(own), batch_size)), len(own)


def _split_places(count: int, held_out: float, seed: int) -> "Tuple[numpy.ndarray, numpy.ndarray]":
    """Return the places of the items for the validation and for the training."""
    order = numpy.argsort(Numbers(seed, *_STREAM).integers((count,), 2**31 - 1), kind="stable")
    test_count = round(held_out * count)
    return order[:test_count], order[test_count:]


def _whole_batches(places: "numpy.ndarray", count: int, batch_size: int) -> "numpy.ndarray":
    """Return `count` places, repeated to fill whole batches."""
    return numpy.resize(places, -(-count // batch_size) * batch_size)


def _npz(path: str, shape: Shape, tokens: int, classes: int, label_shape: Shape) -> Items:
    arrays = _read_npz(path)
    for name in ("x", "y"):
        if name not in arrays:
            raise BadData("%s has no array '%s'; it has: %s" % (path, name, ", ".join(sorted(arrays)) or "none"))
    inputs, labels = arrays["x"], arrays["y"]
    if inputs.shape[1:] != shape:
        raise BadData("%s has items of shape %s, but the model requires %s" % (path, inputs.shape[1:], shape))
    if not len(inputs):
        raise BadData("%s has no items (x is empty)" % path)
    if labels.shape != (*inputs.shape[:1], *label_shape) or labels.dtype.kind not in "iu":
        each = "a row of %d whole numbers" % label_shape[0] if label_shape else "one whole number"
        raise BadData("%s: y must be %s for each of the %d items of x" % (path, each, len(inputs)))
    if not 0 <= labels.min() <= labels.max() < classes:
        found = (path, labels.min(), labels.max(), classes)
        raise BadData("%s has labels from %d to %d, and the model has %d classes" % found)
    if tokens:
        if inputs.dtype.kind not in "iu" or not 0 <= inputs.min() <= inputs.max() < tokens:
            raise BadData("%s: x must be token numbers from 0 to %d" % (path, tokens - 1))
        return Items(inputs.astype(numpy.int32), labels.astype(numpy.int32))
    if inputs.dtype.kind not in "iuf" or not numpy.isfinite(inputs).all():
        raise BadData("%s: x must be finite numbers" % path)
    scale = numpy.float32(1 / 255 if inputs.dtype == numpy.uint8 else 1)
    return Items(inputs.astype(numpy.float32) * scale, labels.astype(numpy.int32))


def _read_npz(path: str) -> Dict[str, Any]:
    try:
        with numpy.load(path, allow_pickle=False) as file:  # a pickle could run any code
            return {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise BadData("%s is not an npz file of plain arrays: %s" % (path, error)) from error


def _image_folder(path: str, shape: Shape, classes: int) -> Items:
    if len(shape) != 3:
        raise BadData("%s holds images, and the model requires items of shape %s" % (path, shape))
    try:
        names = sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    except OSError as error:
        raise BadData("%s cannot be read: %s" % (path, error.strerror)) from error
    found: List[Tuple[str, int]] = []
    for label, name in enumerate(names):
        folder = os.path.join(path, name)
        files = sorted(file for file in os.listdir(folder) if file.lower().endswith(IMAGES))
        found += [(os.path.join(folder, file), label) for file in files]
    if not found:
        raise BadData("%s has no folders with PNG or JPEG files, one for each class" % path)
    if len(names) > classes:
        raise BadData("%s has %d classes, and the model %d" % (path, len(names), classes))
    return Items([file for file, _ in found], numpy.array([label for _, label in found], numpy.int32))
