"""Where the network of a case comes from: the shipped models, the zoo of a library, or a function of the user."""

import re
from typing import Dict, NamedTuple, Sequence, Tuple

SHIPPED, ZOO, FUNCTION = "shipped", "zoo", "function"
_KERAS = ("keras-torch", "keras-jax", "keras-tensorflow")
ZOOS: Dict[str, Tuple[str, ...]] = {
    "torchvision": ("pytorch",),
    "timm": ("pytorch",),
    "transformers": ("pytorch",),
    "keras-applications": _KERAS,
}
"""The frameworks of each zoo."""
FUNCTION_FRAMEWORKS = ("pytorch", *_KERAS, "jax")  # that run a model of the user's function
PATTERN = r"^(%s)/[\w.-]+$|^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$" % "|".join(ZOOS)

_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_FUNCTION = re.compile(r"(%s):(%s)\Z" % (_DOTTED, _DOTTED))
_NAME = re.compile(r"[\w.-]+\Z")


class Source(NamedTuple):
    """The source of a model: its kind, the zoo or module, and the name of the model or function there."""

    kind: str
    package: str
    name: str

    @property
    def is_external(self) -> bool:
        """Return whether the model is not one of the shipped ones, which all frameworks have."""
        return self.kind != SHIPPED

    @property
    def needs_zoo(self) -> bool:
        """Return whether the library is not included in its framework, and has an environment of its own."""
        return self.kind == ZOO and self.package != "keras-applications"

    @property
    def frameworks(self) -> Sequence[str]:
        """Return the frameworks that run an external model."""
        return ZOOS[self.package] if self.kind == ZOO else FUNCTION_FRAMEWORKS


def source_of(model: str) -> Source:
    """Return the source of a model: `resnet50`, `torchvision/resnet50` or `mypackage.nets:build`.

    Raise ValueError if the text is none of these. The worker checks on the node whether the library or module has it.
    """
    if ":" in model:
        module, function = split_function(model)
        return Source(FUNCTION, module, function)
    zoo, slash, name = model.partition("/")
    if not slash:
        return Source(SHIPPED, "", model)
    if zoo not in ZOOS:
        raise ValueError("unknown library '%s'; use one of: %s" % (zoo, ", ".join(ZOOS)))
    if not _NAME.match(name):
        raise ValueError("invalid model name '%s'; use %s/NAME" % (model, zoo))
    return Source(ZOO, zoo, name)


def split_function(text: str) -> Tuple[str, str]:
    """Return module and function of `mypackage.nets:build`. Raise ValueError for any other text."""
    match = _FUNCTION.match(text)
    if not match:
        raise ValueError("invalid function '%s'; use MODULE:FUNCTION, e.g. mypackage.nets:build" % text)
    return match.group(1), match.group(2)
