"""A library that an adapter is written for."""

from typing import NamedTuple


class SupportedLibrary(NamedTuple):
    """A library that an adapter is written for, with its installed version."""

    name: str
    version: str
    first: str  # the first supported version
    beyond: str  # the first unsupported version
