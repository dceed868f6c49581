"""The files with the data of a case."""

from __future__ import annotations

from pydantic import Field, model_validator

from hpcbench.config.yaml_document import Model


class DataSource(Model):
    """The files with the data of a case. Paths are relative to the workspace."""

    npz: str | None = Field(
        default=None,
        min_length=1,
        description="a NumPy file with `x` of shape (items, *shape of one item) and `y` of shape "
        "(items,), or (items, sequence_length) for gpt",
    )
    imagefolder: str | None = Field(
        default=None, min_length=1, description="a directory with one subdirectory of PNG or JPEG files per class"
    )

    @model_validator(mode="after")
    def _one(self) -> DataSource:
        if (self.npz is None) == (self.imagefolder is None):
            raise ValueError("give either npz or imagefolder")
        return self
