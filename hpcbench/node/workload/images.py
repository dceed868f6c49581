"""Image files as arrays, by Pillow: for the frameworks that have no decoder of their own."""

import numpy

from ..errors import Unsupported


def decoded(path: str, size: int) -> "numpy.ndarray":
    """(3, size, size) float32 from 0 to 1. Raises Unsupported without Pillow, OSError for a file that is no image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise Unsupported("image folders need Pillow, and this environment has none: %s" % error) from error
    with Image.open(path) as image:
        pixels = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    return numpy.asarray(pixels, numpy.float32).transpose(2, 0, 1) / numpy.float32(255)
