"""The report through a SessionRunHook (TensorFlow 1.15, 2.4): oom_hooks.py estimator|monitored."""
import sys

import common_models_v1
from oom_kit import note_truth, noting_failure, report_options, tf, tf1, v1_variable_facts


class ReportHook(tf1.train.SessionRunHook):
    """Asks for the list of live tensors in every step."""

    def before_run(self, run_context):
        return tf1.train.SessionRunArgs(fetches=[], options=report_options())


def build():
    net = common_models_v1.im2col(batch=8, side=128, channels=32)
    optimizer = tf1.train.MomentumOptimizer(0.01, 0.9)
    train_op = optimizer.minimize(net.loss, global_step=tf1.train.get_or_create_global_step())
    note_truth(batch=net.batch, optimizer="momentum", user_layer="features", culprit="the activations of features and "
               "refine, [8,128,128,32] float32, and the patch matrices of their gradients",
               **v1_variable_facts(optimizer))
    return net, train_op


def monitored():
    net, train_op = build()
    with tf1.train.MonitoredTrainingSession(hooks=[ReportHook()]) as session:
        while not session.should_stop():
            noting_failure(lambda: session.run(train_op, net.feed), static_shape=False)


def estimator():
    def model_fn(features, labels, mode):
        del labels, features
        net, train_op = build()
        (placeholder, value), = net.feed.items()
        feed = tf1.train.FeedFnHook(lambda: {placeholder: value})
        return tf1.estimator.EstimatorSpec(mode, loss=net.loss, train_op=train_op, training_hooks=[ReportHook(), feed])

    def input_fn():
        return tf1.data.Dataset.from_tensors(0.0).repeat()

    noting_failure(lambda: tf1.estimator.Estimator(model_fn, "model").train(input_fn, steps=3), static_shape=False)


if __name__ == "__main__":
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    tf1.logging.set_verbosity(tf1.logging.INFO)
    globals()[sys.argv[1]]()
