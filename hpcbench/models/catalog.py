"""The models and their options.

The work of a model is counted from its layers, independently of any framework. Training counts three times the
forward pass: the backward pass does twice the work of the forward pass (Kaplan et al., 2020, "Scaling laws for neural
language models", section 2.1).
"""

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import architectures, blocks
from .layers import Embedding, Layer, Shape

Options = Dict[str, Any]


class Model(NamedTuple):
    """One network. `options` are its defaults; `input_shape` and `build` take the complete options of a case."""

    description: str
    options: Options
    input_shape: Callable[[Options], Shape]  # of one input; layers.py defines the order of dimensions
    build: Callable[[Options], List[Layer]]
    predicts_tokens: bool = False  # at each position of its input; then an item is a token, otherwise an input

    @property
    def takes_tokens(self) -> bool:
        """Return whether an input is a row of token IDs, each below the option `vocabulary`."""
        return "vocabulary" in self.options

    def items_per_input(self, options: Options) -> int:
        """Return the items of one input: its tokens if the model predicts tokens, otherwise 1."""
        return int(options["sequence_length"]) if self.predicts_tokens else 1


def resolved_options(model: str, given: Options) -> Options:
    """Return the default options of `model`, overridden by `given`.

    Raise ValueError if an option is unknown or has a wrong type, or if the options do not make a valid network.
    """
    defaults = MODELS[model].options
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise ValueError(
            "the model %s has no option '%s'; it has: %s" % (model, unknown[0], ", ".join(sorted(defaults)))
        )
    for name, value in given.items():
        default = defaults[name]
        if isinstance(default, bool) and not isinstance(value, bool):
            raise ValueError("the option '%s' of %s must be true or false, not %r" % (name, model, value))
        if not isinstance(default, bool) and (type(value) is not int or value < 1):
            raise ValueError("the option '%s' of %s must be a whole number above 0, not %r" % (name, model, value))
    options = {**defaults, **given}
    problem = _problem(model, options)
    if problem:
        raise ValueError("%s: %s" % (model, problem))
    return options


def network(model: str, options: Options) -> Tuple[List[Layer], Shape]:
    """Return the layers of a model, and the shape of one item of its input."""
    return MODELS[model].build(options), MODELS[model].input_shape(options)


def flops_per_item(model: str, options: Options, training: bool) -> int:
    """Return the FLOPs for one item of one step of a model (1 MAC = 2 FLOPs)."""
    return flops_of(*network(model, options), training) // MODELS[model].items_per_input(options)


def flops_of(chain: List[Layer], shape: Shape, training: bool) -> int:
    """Return the FLOPs for one input of one step of a list of layers; training counts three forward passes."""
    forward = blocks.total_flops(chain, shape)
    return 3 * forward if training else forward


def parameters_without_embeddings(model: str, options: Options) -> int:
    """Return the number of parameters without embeddings of tokens and positions, the N of the 6N rule.

    Training takes about 6 N FLOPs per token (Kaplan et al., 2020, section 2.1).
    """
    layers, shape = network(model, options)
    total = blocks.parameter_count(layers, shape)
    tables = (layer.weights(shape).values() for layer in layers if isinstance(layer, Embedding))
    return total - sum(math.prod(weight.shape) for weights in tables for weight in weights)


def _problem(model: str, options: Options) -> Optional[str]:
    """Return why these options do not make a valid network, or None."""
    smallest = _SMALLEST_IMAGE.get(model)
    if smallest and options["image_size"] < smallest:
        return "image_size must be %d or more" % smallest
    if model == "lstm_stack" and options["attention"]:
        last = "hidden_size" if options["layers"] % 2 else "narrow_size"
        if options[last] * (1 + options["bidirectional"]) % options["heads"]:
            return "heads must divide the width of the last layer, which %s makes" % last
    if model in ("transformer", "gpt"):
        if options["hidden_size"] % options["heads"]:
            return "heads must divide hidden_size"
        if options["sequence_length"] > options["positions"]:
            return "sequence_length is more than positions"
    return None


_SMALLEST_IMAGE = {"alexnet": 63, "vgg16": 32, "resnet50": 32, "inception_v3": 75}


def _image_shape(o: Options) -> Shape:
    return (3, o["image_size"], o["image_size"])


MODELS: Dict[str, Model] = {
    "mlp": Model(
        "fully connected layers with ReLU",
        {"input_size": 784, "hidden_size": 1024, "layers": 2, "classes": 10},
        lambda o: (o["input_size"],),
        architectures.mlp,
    ),
    "lstm": Model(
        "stacked LSTM layers with a classifier on the last time step",
        {
            "input_size": 128,
            "hidden_size": 256,
            "layers": 2,
            "sequence_length": 64,
            "bidirectional": False,
            "classes": 10,
        },
        lambda o: (o["sequence_length"], o["input_size"]),
        architectures.lstm,
    ),
    "lstm_stack": Model(
        "alternately wide and narrow LSTM layers, optional self-attention, and a classifier on the last time step",
        {
            "input_size": 128,
            "hidden_size": 512,
            "narrow_size": 64,
            "layers": 4,
            "sequence_length": 64,
            "bidirectional": False,
            "attention": False,
            "heads": 4,
            "classes": 10,
        },
        lambda o: (o["sequence_length"], o["input_size"]),
        architectures.lstm_stack,
    ),
    "alexnet": Model(
        "AlexNet with one tower", {"image_size": 224, "classes": 1000}, _image_shape, architectures.alexnet
    ),
    "vgg16": Model(
        "VGG-16 with 13 convolutions (configuration D)",
        {"image_size": 224, "classes": 1000},
        _image_shape,
        architectures.vgg16,
    ),
    "resnet50": Model(
        "ResNet-50, version 1.5: the stride is in the 3x3 convolution",
        {"image_size": 224, "classes": 1000},
        _image_shape,
        architectures.resnet50,
    ),
    "inception_v3": Model(
        "Inception v3 without the auxiliary classifier",
        {"image_size": 299, "classes": 1000},
        _image_shape,
        architectures.inception_v3,
    ),
    "transformer": Model(
        "encoder with the shape of BERT-base, a pooler and a classifier",
        {
            "hidden_size": 768,
            "layers": 12,
            "heads": 12,
            "feed_forward_size": 3072,
            "vocabulary": 30522,
            "positions": 512,
            "sequence_length": 128,
            "classes": 2,
        },
        lambda o: (o["sequence_length"],),
        architectures.transformer,
    ),
    "gpt": Model(
        "decoder-only language model with the shape of GPT-2 (small); its throughput is in tokens/s",
        {
            "hidden_size": 768,
            "layers": 12,
            "heads": 12,
            "feed_forward_size": 3072,
            "vocabulary": 50257,
            "positions": 1024,
            "sequence_length": 1024,
        },
        lambda o: (o["sequence_length"],),
        architectures.gpt,
        predicts_tokens=True,
    ),
}
