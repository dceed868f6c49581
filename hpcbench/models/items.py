"""The items that each model processes, for the unit of the throughput: images/s, sequences/s or samples/s."""

ITEMS = {
    "mlp": "sample",
    "lstm": "sequence",
    "lstm_stack": "sequence",
    "alexnet": "image",
    "vgg16": "image",
    "resnet50": "image",
    "inception_v3": "image",
    "transformer": "sequence",
}
