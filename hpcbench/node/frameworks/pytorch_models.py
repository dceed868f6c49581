"""The models of the catalog in PyTorch. torchvision is not used: it does not import beside a CPU-only PyTorch."""

from typing import Any, Dict, List

import torch
from torch import nn

from ..catalog import RESNET50_STAGES, VGG16_LAYERS

Options = Dict[str, Any]


def mlp(o: Options) -> nn.Module:
    widths = [o["input_size"]] + [o["hidden_size"]] * o["layers"]
    layers: List[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], o["classes"]))


class Lstm(nn.Module):
    def __init__(self, o: Options) -> None:
        super().__init__()
        directions = 2 if o["bidirectional"] else 1
        self.lstm = nn.LSTM(
            o["input_size"],
            o["hidden_size"],
            num_layers=o["layers"],
            batch_first=True,
            bidirectional=o["bidirectional"],
        )
        self.classifier = nn.Linear(o["hidden_size"] * directions, o["classes"])

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        outputs, _ = self.lstm(batch)
        return self.classifier(outputs[:, -1])


def vgg16(o: Options) -> nn.Module:
    features: List[nn.Module] = []
    channels = 3
    for filters in VGG16_LAYERS:
        if filters:
            features += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(inplace=True)]
            channels = filters
        else:
            features.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *features,
        nn.AdaptiveAvgPool2d(7),
        nn.Flatten(),
        nn.Linear(512 * 7 * 7, 4096),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(4096, 4096),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(4096, o["classes"]),
    )


class Bottleneck(nn.Module):
    """1x1 down, 3x3 (which strides: version 1.5), 1x1 up, and the shortcut."""

    def __init__(self, channels: int, width: int, stride: int, project: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False),
            nn.BatchNorm2d(4 * width),
        )
        self.shortcut: nn.Module = nn.Identity()
        if project:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride=stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(batch) + self.shortcut(batch))


def resnet50(o: Options) -> nn.Module:
    layers: List[nn.Module] = [
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    channels = 64
    for stage, (blocks, width) in enumerate(RESNET50_STAGES):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Bottleneck(channels, width, stride, project=block == 0))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, o["classes"]))


class Transformer(nn.Module):
    """BERT's encoder (Devlin et al., 2019): three embeddings, post-norm layers, tanh pooler, and a classifier."""

    def __init__(self, o: Options) -> None:
        super().__init__()
        width = o["hidden_size"]
        self.tokens = nn.Embedding(o["vocabulary"], width)
        self.positions = nn.Embedding(o["positions"], width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(
            width,
            o["heads"],
            dim_feedforward=o["feed_forward_size"],
            dropout=0.1,
            activation="gelu",
            layer_norm_eps=1e-12,
            batch_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, o["layers"], enable_nested_tensor=False)
        self.pooler = nn.Linear(width, width)
        self.classifier = nn.Linear(width, o["classes"])
        self.register_buffer("order", torch.arange(o["sequence_length"]), persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        embedded = self.tokens(tokens) + self.positions(self.order) + self.segments.weight[0]
        hidden = self.encoder(self.dropout(self.norm(embedded)))
        return self.classifier(torch.tanh(self.pooler(hidden[:, 0])))


_BUILDERS = {"mlp": mlp, "lstm": Lstm, "vgg16": vgg16, "resnet50": resnet50, "transformer": Transformer}


def build(model: str, options: Options) -> nn.Module:
    """The model with random weights, by the global seed."""
    return _BUILDERS[model](options)


def synthetic_batch(model: str, options: Options, shape: Any, generator: torch.Generator) -> torch.Tensor:
    """A seeded batch on the CPU: token numbers for the transformer, normal noise for the others."""
    if model == "transformer":
        return torch.randint(0, options["vocabulary"], shape, generator=generator)
    return torch.randn(shape, generator=generator)
