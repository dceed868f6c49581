"""Models as users write them, for Keras and for Flax."""


def dense(width=8):
    """Return a model without shapes: a hidden layer, and 3 classes."""
    from keras import layers

    return _sequential(layers.Flatten(), layers.Dense(width, "relu"), layers.Dropout(0.5), layers.Dense(3))


def convolutions(initializer="glorot_uniform"):
    """Return all kinds of convolutions, with normalization. On JAX, random initial values take seconds."""
    import keras
    from keras import layers

    own = {"kernel_initializer": initializer}
    start = keras.Input((8, 8, 4))
    x = layers.Conv2D(8, 3, strides=2, padding="same", **own)(start)
    x = layers.BatchNormalization()(x)
    x = layers.Conv2D(8, 3, groups=2, **own)(x)
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, depthwise_initializer=initializer)(x)
    separate = {"depthwise_initializer": initializer, "pointwise_initializer": initializer}
    x = layers.SeparableConv2D(6, 3, padding="same", **separate)(x)
    x = layers.Conv2DTranspose(4, 2, strides=2, **own)(x)
    return keras.Model(start, layers.Dense(3, **own)(layers.GlobalAveragePooling2D()(x)))


def recurrent(initializer="glorot_uniform"):
    """Return an LSTM, a GRU in both directions and a simple RNN."""
    from keras import layers

    own = {"kernel_initializer": initializer}
    return _sequential(
        layers.LSTM(6, return_sequences=True, **own),
        layers.Bidirectional(layers.GRU(5, return_sequences=True, **own)),
        layers.SimpleRNN(4, **own),
        layers.Dense(3, **own),
    )


def attention(initializer="glorot_uniform"):
    """Return attention with a shortcut, which has two inputs and two outputs by name."""
    import keras
    from keras import layers

    own = {"kernel_initializer": initializer}
    ids, mask = keras.Input((7,), dtype="int32", name="ids"), keras.Input((7,), name="mask")
    x = layers.Embedding(11, 8, initializer)(ids) * keras.ops.expand_dims(mask, -1)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4, **own)(x, x))
    x = layers.EinsumDense("abc,cd->abd", output_shape=(None, 6), **own)(x)
    return keras.Model({"ids": ids, "mask": mask}, {"hidden": x, "logits": layers.Dense(5, **own)(x)})


def own_relu():
    """Return a layer of the user, whose configuration does not describe its operations."""
    import keras

    class Own(keras.layers.Layer):
        def call(self, batch):
            return keras.ops.relu(batch)

    return _of_own(Own())


def own_gelu():
    """Return the model of `own_relu` with another operation."""
    import keras

    class Own(keras.layers.Layer):
        def call(self, batch):
            return keras.ops.gelu(batch)

    return _of_own(Own())


def _of_own(layer):
    from keras import layers

    return _sequential(layers.Flatten(), layer, layers.Dense(3, kernel_initializer="zeros"))


def two_heads():
    """Return a model whose loss depends on the logits only, not on the weights of the other head."""
    import keras
    from keras import layers

    start = keras.Input((3, 4))
    x = layers.Dropout(0.5)(layers.Flatten()(start))
    return keras.Model(start, {"other": layers.Dense(2)(x), "logits": layers.Dense(3)(x)})


def loss_of_logits(outputs, targets):
    """Return the cross entropy, in the operations of Keras."""
    import keras

    losses = keras.losses.sparse_categorical_crossentropy(targets, outputs["logits"], from_logits=True)
    return keras.ops.mean(losses)


def nnx_convolutions(rngs, width=8):
    """Return a module of nnx with statistics and random numbers."""
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            self.body = nnx.Conv(4, width, (3, 3), feature_group_count=2, rngs=rngs)
            self.norm, self.dropout = nnx.BatchNorm(width, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)
            self.head = nnx.Linear(width, 3, rngs=rngs)

        def __call__(self, x):
            return self.head(self.dropout(nnx.relu(self.norm(self.body(x))).mean((1, 2))))

    return Net()


def linen_convolutions(width=8):
    """Return the same network as a module of linen."""
    from flax import linen

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x, train: bool):
            x = linen.Conv(width, (3, 3), feature_group_count=2)(x)
            x = linen.relu(linen.BatchNorm(use_running_average=not train)(x)).mean((1, 2))
            return linen.Dense(3)(linen.Dropout(0.1, deterministic=not train)(x))

    return Net()


def linen_lstm():
    """Return an LSTM, and a transposed convolution over its output."""
    from flax import linen

    return linen.Sequential([linen.RNN(linen.OptimizedLSTMCell(6)), linen.ConvTranspose(2, (3,), (2,))])


def linen_attention():
    """Return attention with inputs by name."""
    from flax import linen

    class Net(linen.Module):
        @linen.compact
        def __call__(self, ids, mask, deterministic: bool):
            x = linen.Embed(11, 8)(ids) * mask[..., None]
            x = linen.MultiHeadDotProductAttention(2, dropout_rate=0.1, deterministic=deterministic)(x)
            return {"logits": linen.Dense(5)(x)}

    return Net()


def ends():
    """Exit, with the variable that turns downloads of Hugging Face libraries off."""
    import os

    raise SystemExit("HF_HUB_OFFLINE=" + os.environ["HF_HUB_OFFLINE"])


def text():
    """Return no model."""
    return "a network"


def _sequential(*layers):
    import keras

    return keras.Sequential(layers)
