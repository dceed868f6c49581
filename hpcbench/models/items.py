"""The items that each model processes, for the unit of the throughput: images/s, sequences/s, tokens/s or samples/s."""

from typing import Optional

ITEMS = {
    "mlp": "sample",
    "lstm": "sequence",
    "lstm_stack": "sequence",
    "alexnet": "image",
    "vgg16": "image",
    "resnet50": "image",
    "inception_v3": "image",
    "transformer": "sequence",
    "gpt": "token",
}
_OF_ZOOS = {"torchvision": "image", "timm": "image", "keras-applications": "image"}
_OF_VIDEOS = ("r3d", "mc3", "r2plus1d", "mvit", "s3d", "swin3d")  # prefixes of torchvision's networks


def item_of(model: str) -> Optional[str]:
    """Return what a model processes, e.g. `image` or `sequence`; None if that is unknown."""
    zoo, _, name = model.partition("/")
    if zoo == "torchvision" and name.startswith(_OF_VIDEOS):
        return "video"
    return ITEMS.get(model) or _OF_ZOOS.get(zoo)
