"""Decode image files into arrays by Pillow, for frameworks without a decoder of their own."""

import numpy

from ..errors import Unsupported


def decoded(path: str, size: int) -> "numpy.ndarray":
    """Return an image as (3, size, size) float32 from 0 to 1.

    Raise Unsupported without Pillow, OSError if the file is not an image.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise Unsupported("image folders require Pillow, which this environment does not have: %s" % error) from error
    with Image.open(path) as image:
        pixels = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    return numpy.asarray(pixels, numpy.float32).transpose(2, 0, 1) / numpy.float32(255)
