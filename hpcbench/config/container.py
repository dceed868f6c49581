"""The container of an environment in the site file: runtime, image, mounts and options."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from hpcbench.config.environment_variables import check_no_given_secret
from hpcbench.config.yaml_document import Model

_MOUNT = re.compile(r"(?P<source>~?/[^:]*)(?::(?P<target>/[^:]*))?\Z")


def check_single_lines(values: list[str]) -> list[str]:
    """Return the values. Raise ValueError if one has more than one line, since each is part of a line of a script."""
    for value in values:
        if "\n" in value or "\0" in value:
            raise ValueError(f"{value!r} has more than one line: write several entries")
    return values


def check_no_options(values: list[str]) -> list[str]:
    """Return the values. Raise ValueError if one is empty or begins with `-`, as an option of the called program."""
    for value in values:
        if not value or value.startswith("-"):
            raise ValueError(f"{value!r} cannot be empty or begin with '-'")
    return values


class Container(Model):
    """The container in which the Python of an environment runs."""

    runtime: Literal["apptainer", "singularity", "charliecloud", "podman", "pyxis"] = Field(
        description="the container runtime"
    )
    image: str = Field(
        min_length=1,
        description="a file, a directory or a name, as the runtime expects; a path that begins with `.` is relative "
        "to the workspace",
    )
    mounts: list[str] = Field(
        default_factory=list,
        description="folders to mount in addition to the workspace, e.g. [/data, /scratch/me:/mnt]",
    )
    options: list[str] = Field(default_factory=list, description="additional options of the runtime, e.g. [--no-home]")
    gpu_options: list[str] | None = Field(
        default=None,
        description="options of the runtime for a case with GPUs; unset: those for NVIDIA GPUs, e.g. `--nv`; AMD GPUs "
        "require [--rocm]",
    )

    @field_validator("image")
    @classmethod
    def _no_option(cls, value: str) -> str:
        if value.startswith("-"):
            raise ValueError("an image cannot begin with '-': write options under `options`")
        return check_single_lines([value])[0]

    @field_validator("options", "gpu_options")
    @classmethod
    def _single_lines(cls, value: list[str] | None) -> list[str] | None:
        return value if value is None else [check_no_given_secret(word) for word in check_single_lines(value)]

    @field_validator("mounts")
    @classmethod
    def _folders(cls, value: list[str]) -> list[str]:
        for text in check_single_lines(value):
            if not _MOUNT.match(text):
                raise ValueError(f"{text!r} is not a mount: write /FOLDER or /FOLDER:/INSIDE")
            if "," in text:
                raise ValueError(f"{text!r} has a comma, which separates mounts in container runtimes")
        return value

    @property
    def mounted(self) -> list[tuple[str, str]]:
        """Return the mounts as pairs of a folder of the node and a folder in the container."""
        found = [_MOUNT.match(text) for text in self.mounts]
        return [(match["source"], match["target"] or match["source"]) for match in found if match]
