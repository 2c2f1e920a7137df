"""Train a Keras model until memory runs out: oom_keras.py MODEL [key=number ...] [options]."""
import argparse

import numpy as np

import common_models_keras
from oom_kit import MIB, note_truth, noting_failure, report_options, tf, tf1

SLOTS_PER_WEIGHT = {"sgd": 0, "adam": 2}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("sizes", nargs="*", help="the model's parameters, as key=number")
    parser.add_argument("--optimizer", default="adam", choices=sorted(SLOTS_PER_WEIGHT))
    parser.add_argument("--policy", help="mixed precision policy")
    parser.add_argument("--report", action="store_true", help="TensorFlow 1 only: compile(options=, run_metadata=)")
    parser.add_argument("--fits", type=int, default=1, help="build and fit that many models, keeping all")
    parser.add_argument("--call", action="store_true", help="call the model eagerly instead of fitting it")
    return parser.parse_args()


def compile_model(net, args):
    extra = {}
    if args.report:
        extra = {"options": report_options(), "run_metadata": tf1.RunMetadata()}
    optimizer = {"sgd": tf.keras.optimizers.SGD, "adam": tf.keras.optimizers.Adam}[args.optimizer]()
    net.model.compile(optimizer=optimizer, loss=net.loss, **extra)


def weight_bytes(weights):
    return int(sum(np.prod([int(n) for n in w.shape], dtype=np.int64) * 4 for w in weights))


def fit_models(args, sizes):
    """The ordinary case is one model; --fits keeps the earlier ones alive, as a search over settings does."""
    kept = []
    for trial in range(args.fits):
        net = getattr(common_models_keras, args.model)(**sizes)
        compile_model(net, args)
        slots = SLOTS_PER_WEIGHT[args.optimizer] * weight_bytes(net.model.trainable_weights)
        note_truth(batch=batch_of(net, sizes), optimizer=args.optimizer, user_layer=net.user_layer, policy=args.policy,
                   culprit=net.culprit, variables_bytes=weight_bytes(net.model.weights) * (trial + 1),
                   slots_bytes=slots * (trial + 1), **({"models_in_process": trial + 1} if args.fits > 1 else {}))
        if args.fits > 1:
            note_truth(culprit="the models of the earlier trials are still alive: %d of %d bytes of weights, with their "
                       "slots; each trial adds as much" % (trial + 1, weight_bytes(net.model.weights)))
            print("trial %d: %.1f MiB of weights" % (trial + 1, weight_bytes(net.model.weights) / MIB))
        kept.append(net.model)
        if args.call:
            noting_failure(lambda: net.model(net.x))
        else:
            noting_failure(lambda: net.model.fit(net.x, net.y, batch_size=batch_of(net, sizes), epochs=1, verbose=2))


def batch_of(net, sizes):
    """The batch size given, or the one the model function chose."""
    from inspect import signature
    return sizes.get("batch") or signature(getattr(common_models_keras, ARGS.model)).parameters["batch"].default


if __name__ == "__main__":
    ARGS = arguments()
    if ARGS.policy:
        set_policy = getattr(tf.keras.mixed_precision, "set_global_policy", None)
        set_policy(ARGS.policy)
    fit_models(ARGS, {key: int(number) for key, number in (pair.split("=") for pair in ARGS.sizes)})
