"""A recipe: the file with the steps to build the environment of a framework."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from pydantic import AfterValidator, Field, field_validator

from hpcbench.config.environment_variables import Variables
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document, Model

DIGITS = 12


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a requirement for pip such as numpy==2.4.6") from error


def _check_packages(texts: list[str]) -> list[str]:
    for text in texts:
        _requirement(text)
    return texts


Packages = Annotated[list[str], AfterValidator(_check_packages)]


class Compile(Model):
    """The compilation of packages on this machine against the packages of earlier steps."""

    tools: Packages = Field(default_factory=list, description="packages needed only for compiling")
    needs: list[str] = Field(
        default_factory=list, description="required programs and headers of the system, e.g. [g++, make, Python.h]"
    )
    cxx_standard: int | None = Field(
        default=None,
        description="the oldest C++ standard to compile with, e.g. 17, even if the package requests an older one",
    )

    @field_validator("cxx_standard")
    @classmethod
    def _known_standard(cls, value: int | None) -> int | None:
        if value not in (None, 11, 14, 17, 20, 23):
            raise ValueError("C++ has the standards 11, 14, 17, 20 and 23")
        return value


class Step(Model):
    """Packages that are installed together."""

    install: Packages = Field(min_length=1, description="requirements for pip, with versions")
    index: str | None = Field(
        default=None, description="an additional package index, used only if the default one does not have all packages"
    )
    env: Variables = Field(default_factory=dict, description="environment variables during installation and checks")
    compile: Compile | None = Field(
        default=None,
        description="compile the packages on this machine, without their dependencies; hpcbench caches the wheels",
    )

    @property
    def packages(self) -> list[str]:
        """Return the canonical names of the packages that the step installs."""
        return [canonicalize_name(_requirement(text).name) for text in self.install]

    @property
    def pinned(self) -> bool:
        """Return whether each package has an exact version."""
        pins = [list(_requirement(text).specifier) for text in self.install]
        return all(any(pin.operator == "==" and "*" not in pin.version for pin in found) for found in pins)


class Recipe(Model):
    """A checked recipe."""

    description: str = Field(description="one-line description")
    python: str = Field(description='supported versions of Python, e.g. ">=3.8,<3.12"')
    imports: list[str] = Field(min_length=1, description="modules that the finished environment must import")
    steps: list[Step] = Field(min_length=1, description="installation steps, in order")

    @field_validator("python")
    @classmethod
    def _versions(cls, value: str) -> str:
        try:
            SpecifierSet(value)
        except InvalidSpecifier as error:
            raise ValueError('write versions like ">=3.8,<3.12"') from error
        return value

    def allows(self, version: str) -> bool:
        """Return whether the recipe supports a version of Python, for example 3.11.7."""
        return SpecifierSet(self.python).contains(version, prereleases=True)

    @property
    def packages(self) -> list[str]:
        """Return the canonical names of the packages of all steps."""
        return list(dict.fromkeys(name for step in self.steps for name in step.packages))

    @property
    def digest(self) -> str:
        """Return 12 hexadecimal digits of the SHA-256 of the steps, which identify the contents of a build."""
        content = [step.model_dump(mode="json", exclude_defaults=True) for step in self.steps]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGITS]


def load_recipe(document: Document) -> Recipe:
    """Return the checked recipe of a document. Raise UserError with all its errors, with file, line and key."""
    findings = Findings(document)
    return findings.checked(findings.validated(Recipe, document.data))
