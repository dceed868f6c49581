"""What can be asked for: frameworks, tasks, strategies, and the models with the work that each one means.

A model is defined here once, free of any framework: its options with their defaults, the shape of one input, and
the floating-point operations of one forward pass. Operations are counted for matrix products and convolutions only,
a multiplication and an addition as two; training counts three times the forward pass (Kaplan et al., 2020, "Scaling
laws for neural language models", section 2.1: the backward pass does twice the work of the forward pass).
"""

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

FRAMEWORKS = ("pytorch",)
TASKS = ("inference", "training")
DEVICES = ("cpu", "gpu")
DTYPES = ("float32", "bfloat16", "float16")
STRATEGIES = {"pytorch": ("single", "ddp", "fsdp")}

Options = Dict[str, Any]


class Model(NamedTuple):
    """One network: `options` are the defaults; the functions take the full options of a case."""

    description: str
    options: Options
    input_shape: Callable[[Options], Tuple[int, ...]]  # of one item, without the batch dimension
    forward_flops: Callable[[Options], int]  # of one item
    problem: Callable[[Options], Optional[str]] = lambda options: None  # why these options make no network


def resolved_options(model: str, given: Options) -> Options:
    """The defaults of `model` with `given` on top. Raises ValueError for an option it does not have."""
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
    problem = MODELS[model].problem(options)
    if problem:
        raise ValueError("%s: %s" % (model, problem))
    return options


def flops_per_item(model: str, options: Options, task: str) -> int:
    """Operations for one item of one step, by the convention above."""
    forward = MODELS[model].forward_flops(options)
    return 3 * forward if task == "training" else forward


def _linear(inputs: int, outputs: int) -> int:
    return 2 * inputs * outputs


def _convolution(channels: int, filters: int, kernel: int, size: int) -> int:
    """A square convolution whose output is `size` by `size`."""
    return 2 * channels * filters * kernel * kernel * size * size


def _mlp_flops(o: Options) -> int:
    widths = [o["input_size"]] + [o["hidden_size"]] * o["layers"] + [o["classes"]]
    return sum(_linear(inputs, outputs) for inputs, outputs in zip(widths, widths[1:]))


def _lstm_flops(o: Options) -> int:
    """Four gates, each with a product over the input and one over the hidden state, per layer and time step."""
    directions = 2 if o["bidirectional"] else 1
    hidden: int = o["hidden_size"]
    length: int = o["sequence_length"]
    per_step = 0
    for layer in range(o["layers"]):
        inputs = o["input_size"] if layer == 0 else hidden * directions
        per_step += directions * 4 * (_linear(inputs, hidden) + _linear(hidden, hidden))
    return per_step * length + _linear(hidden * directions, o["classes"])


# VGG-16, configuration D of Simonyan and Zisserman (2015): filters of the 3x3 convolutions, 0 is a 2x2 max-pool.
VGG16_LAYERS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)


def _vgg16_flops(o: Options) -> int:
    size, channels, total = o["image_size"], 3, 0
    for filters in VGG16_LAYERS:
        if filters:
            total += _convolution(channels, filters, 3, size)
            channels = filters
        else:
            size //= 2
    return total + _linear(512 * 7 * 7, 4096) + _linear(4096, 4096) + _linear(4096, o["classes"])


# ResNet-50 of He et al. (2016): blocks and inner width of the four stages. Version 1.5 strides in the 3x3 convolution.
RESNET50_STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))


def _halved(size: int) -> int:
    """Output size of a stride-2 convolution or pool with padding (kernel - 1) / 2."""
    return (size + 1) // 2


def _resnet50_flops(o: Options) -> int:
    size = _halved(o["image_size"])
    total = _convolution(3, 64, 7, size)
    size, channels = _halved(size), 64
    for stage, (blocks, width) in enumerate(RESNET50_STAGES):
        for block in range(blocks):
            smaller = _halved(size) if stage > 0 and block == 0 else size
            total += _convolution(channels, width, 1, size)
            total += _convolution(width, width, 3, smaller)
            total += _convolution(width, 4 * width, 1, smaller)
            if block == 0:
                total += _convolution(channels, 4 * width, 1, smaller)
            size, channels = smaller, 4 * width
    return total + _linear(channels, o["classes"])


def _transformer_flops(o: Options) -> int:
    """Per layer: four projections, the two attention products, and the feed-forward pair."""
    length: int = o["sequence_length"]
    width: int = o["hidden_size"]
    layer = length * (4 * _linear(width, width) + 2 * _linear(width, o["feed_forward_size"]))
    layer += 2 * 2 * length * length * width
    layers: int = o["layers"]
    return layers * layer + _linear(width, width) + _linear(width, o["classes"])


def _small_image(o: Options) -> Optional[str]:
    return "image_size must be 32 or more" if o["image_size"] < 32 else None


def _uneven_attention(o: Options) -> Optional[str]:
    if o["hidden_size"] % o["heads"]:
        return "heads must divide hidden_size"
    return "sequence_length is more than positions" if o["sequence_length"] > o["positions"] else None


def _image_shape(o: Options) -> Tuple[int, ...]:
    return (3, o["image_size"], o["image_size"])


MODELS: Dict[str, Model] = {
    "mlp": Model(
        "fully connected layers with ReLU",
        {"input_size": 784, "hidden_size": 1024, "layers": 2, "classes": 10},
        lambda o: (o["input_size"],),
        _mlp_flops,
    ),
    "lstm": Model(
        "stacked LSTM layers, the last time step classified",
        {
            "input_size": 128,
            "hidden_size": 256,
            "layers": 2,
            "sequence_length": 64,
            "bidirectional": False,
            "classes": 10,
        },
        lambda o: (o["sequence_length"], o["input_size"]),
        _lstm_flops,
    ),
    "vgg16": Model(
        "VGG-16 with 13 convolutions (configuration D)",
        {"image_size": 224, "classes": 1000},
        _image_shape,
        _vgg16_flops,
        _small_image,
    ),
    "resnet50": Model(
        "ResNet-50, version 1.5: the 3x3 convolution strides",
        {"image_size": 224, "classes": 1000},
        _image_shape,
        _resnet50_flops,
        _small_image,
    ),
    "transformer": Model(
        "encoder of BERT-base shape with a pooler and a classifier",
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
        _transformer_flops,
        _uneven_attention,
    ),
}
