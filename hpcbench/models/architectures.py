"""The models, each as a list of layers: one definition for all frameworks, so that all of them do the same work."""

from typing import Any, Dict, List, Tuple

from .blocks import Branches, EncoderLayer, Residual
from .layers import (
    Attention,
    AvgPool,
    BatchNorm,
    Conv,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Gelu,
    GlobalAvgPool,
    Layer,
    LayerNorm,
    Lstm,
    MaxPool,
    Pair,
    Relu,
    TakeStep,
    Tanh,
)

Options = Dict[str, Any]
Chain = Tuple[Layer, ...]


def mlp(o: Options) -> List[Layer]:
    """Return a multilayer perceptron: `layers` fully connected layers with ReLU, and a linear classifier."""
    hidden: List[Layer] = [Dense(o["hidden_size"]), Relu()] * o["layers"]
    return [*hidden, Dense(o["classes"], gain=1.0)]


def lstm(o: Options) -> List[Layer]:
    """Return a stacked LSTM with a classifier on the last time step."""
    return [
        Lstm(o["hidden_size"], o["layers"], o["bidirectional"]),
        TakeStep(-1),
        Dense(o["classes"], gain=1.0),
    ]


def lstm_stack(o: Options) -> List[Layer]:
    """Return LSTM layers of alternating width, with a classifier on the last time step.

    Widths alternate between `hidden_size` and `narrow_size`. Each is a layer of its own, so that each can have its
    own thread count. With `attention`, self-attention follows the last LSTM layer.
    """
    widths = [o["narrow_size"] if place % 2 else o["hidden_size"] for place in range(o["layers"])]
    attention: List[Layer] = [Attention(o["heads"], 0.0)] if o["attention"] else []
    return [
        *(Lstm(width, 1, o["bidirectional"]) for width in widths),
        *attention,
        TakeStep(-1),
        Dense(o["classes"], gain=1.0),
    ]


def alexnet(o: Options) -> List[Layer]:
    """Return AlexNet with one tower.

    Source: Krizhevsky (2014), "One weird trick for parallelizing convolutional neural networks".
    """
    return [
        Conv(64, (11, 11), 4, (2, 2)),
        Relu(),
        MaxPool(3, 2),
        Conv(192, (5, 5), 1, (2, 2)),
        Relu(),
        MaxPool(3, 2),
        Conv(384, (3, 3), 1, (1, 1)),
        Relu(),
        Conv(256, (3, 3), 1, (1, 1)),
        Relu(),
        Conv(256, (3, 3), 1, (1, 1)),
        Relu(),
        MaxPool(3, 2),
        Flatten(),
        Dropout(0.5),
        Dense(4096),
        Relu(),
        Dropout(0.5),
        Dense(4096),
        Relu(),
        Dense(o["classes"], gain=1.0),
    ]


# Filters of the 3x3 convolutions of configuration D; 0 is a 2x2 max-pool.
_VGG16 = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)


def vgg16(o: Options) -> List[Layer]:
    """Return VGG-16, configuration D.

    Source: Simonyan and Zisserman (2015), "Very deep convolutional networks for large-scale image recognition".
    """
    layers: List[Layer] = []
    for filters in _VGG16:
        layers += [Conv(filters, (3, 3), 1, (1, 1)), Relu()] if filters else [MaxPool(2, 2)]
    layers.append(Flatten())
    for _ in range(2):
        layers += [Dense(4096), Relu(), Dropout(0.5)]
    return [*layers, Dense(o["classes"], gain=1.0)]


_RESNET50 = ((3, 64), (4, 128), (6, 256), (3, 512))  # blocks and inner width of each stage


def resnet50(o: Options) -> List[Layer]:
    """Return ResNet-50, version 1.5: the 3x3 convolution has the stride.

    Source: He et al. (2016), "Deep residual learning for image recognition".
    """
    layers: List[Layer] = [*_normed(64, (7, 7), 2, (3, 3)), Relu(), MaxPool(3, 2, 1)]
    for stage, (blocks, width) in enumerate(_RESNET50):
        for block in range(blocks):
            layers += _bottleneck(width, 2 if stage > 0 and block == 0 else 1, project=block == 0)
    return [*layers, GlobalAvgPool(), Dense(o["classes"], gain=1.0)]


def _normed(filters: int, kernel: Pair, stride: int = 1, padding: Pair = (0, 0), epsilon: float = 1e-5) -> Chain:
    return (Conv(filters, kernel, stride, padding, bias=False), BatchNorm(epsilon))


def _bottleneck(width: int, stride: int, project: bool) -> Chain:
    body = (
        *(*_normed(width, (1, 1)), Relu()),
        *(*_normed(width, (3, 3), stride, (1, 1)), Relu()),
        *_normed(4 * width, (1, 1)),
    )
    return (Residual(body, _normed(4 * width, (1, 1), stride) if project else ()), Relu())


def inception_v3(o: Options) -> List[Layer]:
    """Return Inception v3 without the auxiliary classifier.

    Source: Szegedy et al. (2016), "Rethinking the Inception architecture for computer vision".
    """
    stem: List[Layer] = [
        *_unit(32, (3, 3), 2),
        *_unit(32, (3, 3)),
        *_unit(64, (3, 3), 1, (1, 1)),
        MaxPool(3, 2),
        *_unit(80, (1, 1)),
        *_unit(192, (3, 3)),
        MaxPool(3, 2),
    ]
    return [
        *stem,
        *(_inception_a(pool) for pool in (32, 64, 64)),
        _inception_b(),
        *(_inception_c(width) for width in (128, 160, 160, 192)),
        _inception_d(),
        *(_inception_e(), _inception_e()),
        GlobalAvgPool(),
        Dropout(0.5),
        Dense(o["classes"], gain=1.0),
    ]


def _unit(filters: int, kernel: Pair, stride: int = 1, padding: Pair = (0, 0)) -> Chain:
    return (*_normed(filters, kernel, stride, padding, epsilon=1e-3), Relu())


def _wide(filters: int) -> Chain:
    return _unit(filters, (1, 7), 1, (0, 3))


def _tall(filters: int) -> Chain:
    return _unit(filters, (7, 1), 1, (3, 0))


def _square(filters: int) -> Chain:
    return _unit(filters, (3, 3), 1, (1, 1))


def _pooled(filters: int) -> Chain:
    return (AvgPool(3, 1, 1), *_unit(filters, (1, 1)))


def _inception_a(pool: int) -> Branches:
    """Return the block of figure 5: 35 x 35."""
    return Branches(
        (
            _unit(64, (1, 1)),
            (*_unit(48, (1, 1)), *_unit(64, (5, 5), 1, (2, 2))),
            (*_unit(64, (1, 1)), *_square(96), *_square(96)),
            _pooled(pool),
        )
    )


def _inception_b() -> Branches:
    """Return the block of figure 10: from 35 x 35 to 17 x 17."""
    return Branches(
        (
            _unit(384, (3, 3), 2),
            (*_unit(64, (1, 1)), *_square(96), *_unit(96, (3, 3), 2)),
            (MaxPool(3, 2),),
        )
    )


def _inception_c(width: int) -> Branches:
    """Return the block of figure 6: 17 x 17."""
    return Branches(
        (
            _unit(192, (1, 1)),
            (*_unit(width, (1, 1)), *_wide(width), *_tall(192)),
            (*_unit(width, (1, 1)), *_tall(width), *_wide(width), *_tall(width), *_wide(192)),
            _pooled(192),
        )
    )


def _inception_d() -> Branches:
    """Return the block from 17 x 17 to 8 x 8."""
    return Branches(
        (
            (*_unit(192, (1, 1)), *_unit(320, (3, 3), 2)),
            (*_unit(192, (1, 1)), *_wide(192), *_tall(192), *_unit(192, (3, 3), 2)),
            (MaxPool(3, 2),),
        )
    )


def _inception_e() -> Branches:
    """Return the block of figure 7: 8 x 8."""
    split = Branches((_unit(384, (1, 3), 1, (0, 1)), _unit(384, (3, 1), 1, (1, 0))))
    return Branches(
        (
            _unit(320, (1, 1)),
            (*_unit(384, (1, 1)), split),
            (*_unit(448, (1, 1)), *_square(384), split),
            _pooled(192),
        )
    )


def gpt(o: Options) -> List[Layer]:
    """Return a decoder that predicts the next token at each position: GPT-2, with an output layer of its own weights.

    Blocks normalize before attention and feed-forward network. There is no dropout, and the output layer has no bias.
    Source: Radford et al. (2019), "Language models are unsupervised multitask learners".
    """
    width, epsilon = o["hidden_size"], 1e-5
    attention = Residual((LayerNorm(epsilon), Attention(o["heads"], 0.0, causal=True)))
    feed_forward = (Dense(o["feed_forward_size"], gain=1.0), Gelu(), Dense(width, gain=1.0))
    block: List[Layer] = [attention, Residual((LayerNorm(epsilon), *feed_forward))]
    return [
        Embedding(o["vocabulary"], o["positions"], width, segments=0),
        *(block * o["layers"]),
        *(LayerNorm(epsilon), Dense(o["vocabulary"], gain=1.0, bias=False)),
    ]


def transformer(o: Options) -> List[Layer]:
    """Return BERT's encoder with a classifier: three embeddings, the encoder, a tanh pooler over the first token.

    Source: Devlin et al. (2019), "BERT".
    """
    width, dropout = o["hidden_size"], 0.1
    encoder = [EncoderLayer(width, o["heads"], o["feed_forward_size"], dropout)] * o["layers"]
    return [
        *(Embedding(o["vocabulary"], o["positions"], width), LayerNorm(), Dropout(dropout)),
        *encoder,
        *(TakeStep(0), Dense(width, gain=1.0), Tanh(), Dense(o["classes"], gain=1.0)),
    ]
