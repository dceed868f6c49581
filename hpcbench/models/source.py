"""Where the network of a case comes from: the shipped models, a library, a function of the user, or an ONNX file."""

import re
from typing import Dict, NamedTuple, Sequence, Tuple

SHIPPED, ZOO, FUNCTION, ONNX = "shipped", "zoo", "function", "onnx"
_KERAS = ("keras-torch", "keras-jax", "keras-tensorflow")
ZOOS: Dict[str, Tuple[str, ...]] = {
    "torchvision": ("pytorch",),
    "timm": ("pytorch",),
    "transformers": ("pytorch",),
    "keras-applications": _KERAS,
}
"""The frameworks of each zoo."""
FUNCTION_FRAMEWORKS = ("pytorch", *_KERAS, "jax")  # that run a model of the user's function
ONNX_FRAMEWORKS = ("onnxruntime",)  # that run ONNX files, and no other models
PATTERN = r"^(%s)/[\w.-]+$|^onnx:.*\S.*$|^(?!onnx:)[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$" % "|".join(ZOOS)

_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_FUNCTION = re.compile(r"(%s):(%s)\Z" % (_DOTTED, _DOTTED))
_NAME = re.compile(r"[\w.-]+\Z")


class Source(NamedTuple):
    """The source of a model: its kind, the zoo or module, and the name of the model or function there.

    For an ONNX file, `name` is its path.
    """

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
        if self.kind == ONNX:
            return ONNX_FRAMEWORKS
        return ZOOS[self.package] if self.kind == ZOO else FUNCTION_FRAMEWORKS


def source_of(model: str) -> Source:
    """Return the source of a model: `resnet50`, `torchvision/resnet50`, `mypackage.nets:build` or `onnx:net.onnx`.

    Raise ValueError if the text is none of these. The worker checks on the node whether the library or module has it.
    """
    if model.startswith(ONNX + ":"):
        return Source(ONNX, "", _path(model))
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


def onnx_model(path: str) -> str:
    """Return the name of the model in an ONNX file: `onnx:net.onnx`."""
    return "%s:%s" % (ONNX, path)


def _path(model: str) -> str:
    path = model[len(ONNX) + 1 :]
    if not path.strip() or "\n" in path:
        raise ValueError("invalid model '%s'; use onnx:FILE, e.g. onnx:net.onnx" % model)
    return path


def split_function(text: str) -> Tuple[str, str]:
    """Return module and function of `mypackage.nets:build`. Raise ValueError for any other text."""
    match = _FUNCTION.match(text)
    if match and match.group(1).endswith(".py"):
        raise ValueError("'%s' names a file; write the module without .py: %s" % (text, text.replace(".py:", ":")))
    if not match:
        raise ValueError("invalid function '%s'; use MODULE:FUNCTION, e.g. mypackage.nets:build" % text)
    return match.group(1), match.group(2)
