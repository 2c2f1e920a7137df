"""The real runs of estimate.py: estimate_run.py OUT.json CASES.json, with the Python of a TensorFlow
environment.

Each case runs in a process of its own, under a BFC allocator on the CPU: build, compile, a first step, then
seven more; the peak of each is the allocator's own. They differ, since ops that run at the same time differ.
A mode that ends in `-1` gives the executor one thread, so that they do not.
"""

import json
import os
import sys

os.environ.update(
    TF_CPP_MIN_LOG_LEVEL="3",
    TF_ENABLE_ONEDNN_OPTS="0",
    TF_CPU_ALLOCATOR_USE_BFC="1",
    TF_CPU_BFC_MEM_LIMIT_IN_MB="9000",
)
import numpy as np
import tensorflow as tf

keras = tf.keras
L = keras.layers
STEPS = 7


def lenet():
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            L.Conv2D(32, 5, padding="same", activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(64, 5, padding="same", activation="relu"),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dense(1024, activation="relu"),
            L.Dropout(0.4),
            L.Dense(10, activation="softmax"),
        ]
    )


def perceptron():
    return keras.Sequential(
        [
            keras.Input((256,)),
            L.Dense(2048, activation="relu"),
            L.Dropout(0.5),
            L.Dense(1024, activation="relu"),
            L.Dense(10, activation="softmax"),
        ]
    )


def vgg():
    layers = [keras.Input((64, 64, 3))]
    for width in (32, 64, 128):
        layers += [
            L.Conv2D(width, 3, padding="same", activation="relu"),
            L.Conv2D(width, 3, padding="same", activation="relu"),
            L.MaxPooling2D(),
        ]
    return keras.Sequential(
        [*layers, L.Flatten(), L.Dense(256, activation="relu"), L.Dense(10, activation="softmax")]
    )


def swish():
    layers = [keras.Input((64, 64, 3))]
    for width in (16, 32, 64):
        layers += [
            L.Conv2D(width, 3, padding="same"),
            L.BatchNormalization(),
            L.Activation("swish"),
            L.AveragePooling2D(2),
        ]
    return keras.Sequential([*layers, L.GlobalAveragePooling2D(), L.Dense(10, activation="softmax")])


def unet():
    x = keras.Input((96, 96, 3))
    skips, y = [], x
    for width in (16, 32, 64):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same")(y)))
        skips.append(y)
        y = L.MaxPooling2D()(y)
    y = L.Conv2D(128, 3, padding="same", activation="relu")(y)
    for width, skip in zip((64, 32, 16), reversed(skips)):
        y = L.Concatenate()([L.Conv2DTranspose(width, 2, strides=2)(y), skip])
        y = L.Conv2D(width, 3, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2D(1, 1)(y))


def autoencoder():
    x = keras.Input((64, 64, 3))
    y = L.Conv2D(64, 3, strides=2, padding="same", activation="relu")(
        L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    )
    y = L.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, L.Conv2DTranspose(3, 3, strides=2, padding="same")(y))


def volume():
    return keras.Sequential(
        [
            keras.Input((24, 24, 24, 1)),
            L.Conv3D(16, 3, activation="relu"),
            L.MaxPooling3D(),
            L.Conv3D(32, 3, activation="relu"),
            L.GlobalAveragePooling3D(),
            L.Dense(10, activation="softmax"),
        ]
    )


def lstm():
    return keras.Sequential(
        [
            keras.Input((60, 32)),
            L.LSTM(128, return_sequences=True),
            L.LSTM(64),
            L.Dense(10, activation="softmax"),
        ]
    )


def gru():
    return keras.Sequential(
        [
            keras.Input((100, 16)),
            L.GRU(96, return_sequences=True),
            L.Bidirectional(L.GRU(32)),
            L.Dense(10, activation="softmax"),
        ]
    )


def text():
    x = keras.Input((100,), dtype="int32")
    y = L.Embedding(20000, 64)(x)
    y = L.GlobalMaxPooling1D()(L.Conv1D(128, 5, activation="relu")(y))
    return keras.Model(x, L.Dense(10, activation="softmax")(y))


def transformer():
    x = keras.Input((128, 64))
    y = x
    for _ in range(2):
        y = L.LayerNormalization()(L.Add()([y, L.MultiHeadAttention(4, 16)(y, y)]))
        y = L.LayerNormalization()(L.Add()([y, L.Dense(64)(L.Dense(256, activation="gelu")(y))]))
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling1D()(y)))


def generator():
    """As a GAN's: from noise to an image."""
    layers = [
        keras.Input((100,)),
        L.Dense(8 * 8 * 128, use_bias=False),
        L.BatchNormalization(),
        L.LeakyReLU(),
        L.Reshape((8, 8, 128)),
    ]
    for width in (64, 32):
        layers += [
            L.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False),
            L.BatchNormalization(),
            L.LeakyReLU(),
        ]
    return keras.Sequential([*layers, L.Conv2DTranspose(3, 5, strides=2, padding="same", activation="tanh")])


def encoder():
    """Words to a class, by attention with dropout."""
    x = keras.Input((64,), dtype="int32")
    y = L.Embedding(10000, 128)(x)
    for _ in range(2):
        y = L.LayerNormalization()(
            L.Add()([y, L.Dropout(0.1)(L.MultiHeadAttention(8, 16, dropout=0.1)(y, y))])
        )
        y = L.LayerNormalization()(
            L.Add()([y, L.Dropout(0.1)(L.Dense(128)(L.Dense(512, activation="relu")(y)))])
        )
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling1D()(y)))


def bilstm():
    return keras.Sequential(
        [
            keras.Input((80,), dtype="int32"),
            L.Embedding(5000, 64),
            L.Bidirectional(L.LSTM(64, return_sequences=True)),
            L.Bidirectional(L.LSTM(32)),
            L.Dropout(0.3),
            L.Dense(10, activation="softmax"),
        ]
    )


def waves():
    """One-dimensional convolutions over a signal."""
    layers = [keras.Input((1024, 4))]
    for width in (32, 64, 128):
        layers += [L.Conv1D(width, 7, padding="same"), L.BatchNormalization(), L.ReLU(), L.MaxPooling1D(4)]
    return keras.Sequential(
        [
            *layers,
            L.Flatten(),
            L.Dense(128, activation="relu"),
            L.Dropout(0.5),
            L.Dense(10, activation="softmax"),
        ]
    )


def squeezed():
    """Inverted bottlenecks with squeeze and excitation, as in MobileNetV3."""
    x = keras.Input((96, 96, 3))
    y = L.Activation("swish")(
        L.BatchNormalization()(L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x))
    )
    for width, wide, stride in ((16, 48, 1), (24, 72, 2), (24, 96, 1), (40, 120, 2)):
        z = L.ReLU()(L.BatchNormalization()(L.Conv2D(wide, 1, use_bias=False)(y)))
        z = L.ReLU()(
            L.BatchNormalization()(L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(z))
        )
        gate = L.Conv2D(wide, 1, activation="sigmoid")(
            L.Conv2D(wide // 4, 1, activation="relu")(L.GlobalAveragePooling2D(keepdims=True)(z))
        )
        z = L.BatchNormalization()(L.Conv2D(width, 1, use_bias=False)(L.Multiply()([z, gate])))
        y = L.Add()([y, z]) if stride == 1 and y.shape[-1] == width else z
    return keras.Model(x, L.Dense(10, activation="softmax")(L.Dropout(0.2)(L.GlobalAveragePooling2D()(y))))


def residual():
    """Pre-activated residual blocks from 48 to 12 pixels."""
    x = keras.Input((48, 48, 3))
    y = L.Conv2D(32, 3, padding="same")(x)
    for width, stride in ((32, 1), (64, 2), (128, 2)):
        z = L.Activation("elu")(L.BatchNormalization()(y))
        shortcut = L.Conv2D(width, 1, strides=stride)(z)
        z = L.Conv2D(width, 3, strides=stride, padding="same")(z)
        z = L.Conv2D(width, 3, padding="same")(L.Activation("elu")(L.BatchNormalization()(z)))
        y = L.Add()([shortcut, z])
    return keras.Model(x, L.Dense(10, activation="softmax")(L.GlobalAveragePooling2D()(y)))


def mobilenet():
    return keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, classes=10)


def resnet():
    return keras.applications.ResNet50(input_shape=(64, 64, 3), weights=None, classes=10)


def densenet():
    return keras.applications.DenseNet121(input_shape=(64, 64, 3), weights=None, classes=10)


def efficientnet():
    return keras.applications.EfficientNetB0(input_shape=(64, 64, 3), weights=None, classes=10)


def xception():
    return keras.applications.Xception(input_shape=(96, 96, 3), weights=None, classes=10)


def run(name, batch, optimizer, mode):
    if mode.endswith("-1"):
        tf.config.threading.set_inter_op_parallelism_threads(1)
    model = globals()[name]()
    x = [np.random.rand(batch, *[int(part) for part in each.shape[1:]]) for each in model.inputs]
    x = [
        np.asarray(each * 99, np.int32) if "int" in str(kind.dtype) else np.asarray(each, np.float32)
        for each, kind in zip(x, model.inputs)
    ][0]
    shape = [int(part) for part in model.outputs[0].shape[1:]]
    several = len(shape) > 1
    y = (
        np.random.rand(batch, *shape).astype(np.float32)
        if several
        else np.random.randint(0, 10, batch).astype(np.int32)
    )
    steps = keras.optimizers.SGD(momentum=0.9) if optimizer == "momentum" else optimizer
    model.compile(steps, "mse" if several else "sparse_categorical_crossentropy")
    call = (
        (lambda: model.train_on_batch(x, y))
        if mode.startswith("training")
        else (lambda: model.predict_on_batch(x))
    )
    call()
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    peaks = []
    for _ in range(STEPS):
        tf.config.experimental.reset_memory_stats("CPU:0")
        call()
        peaks.append(tf.config.experimental.get_memory_info("CPU:0")["peak"])
    return {"before": before, "peaks": peaks, "model": model.to_json(), "parameters": model.count_params()}


def main(out, cases):
    known = json.load(open(out)) if os.path.exists(out) else {}
    found, models = known.get("runs", {}), known.get("models", {})
    for case in json.load(open(cases)):
        key = "/".join(map(str, case))
        if key in found:
            continue
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                open(f"{out}.{os.getpid()}", "w").write(json.dumps(run(*case)))
                os.write(send, str(os.getpid()).encode())
            finally:
                os._exit(0)
        os.close(send)
        with os.fdopen(receive, "rb") as pipe:
            pid = pipe.read().decode()
        os.waitpid(child, 0)
        if pid:
            found[key] = json.load(open(f"{out}.{pid}"))
            models[case[0]] = found[key].pop("model")
            os.remove(f"{out}.{pid}")
            print(key, found[key]["peaks"], flush=True)
        else:
            print(key, "failed", flush=True)
        with open(out, "w") as file:
            json.dump(
                {"tensorflow": tf.__version__, "runs": found, "models": models},
                file,
                indent=0,
                sort_keys=True,
            )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
