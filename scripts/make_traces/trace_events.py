"""Write traced steps into an event file: trace_events.py OUTPUT. In TF1 with FileWriter.add_run_metadata, in TF2 with tf.summary.trace_export."""
import glob
import json
import shutil
import sys

import numpy as np

from oom_kit import tf, tf1


def v1_steps(folder):
    """Three tagged steps of batches 1, 2 and 4."""
    x = tf1.placeholder(tf.float32, [None, 64], "features")
    with tf1.variable_scope("layer_a"):
        h = tf1.nn.relu(tf1.matmul(x, tf1.get_variable("weights", [64, 128])))
    with tf1.variable_scope("layer_b"):
        y = tf1.matmul(h, tf1.get_variable("weights", [128, 8]))
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(tf1.reduce_mean(tf1.square(y)))
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    writer = tf1.summary.FileWriter(folder, tf1.get_default_graph())
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for step, batch in enumerate((64, 128, 256)):
            metadata = tf1.RunMetadata()
            session.run(train, {x: np.random.rand(batch, 64).astype(np.float32)}, options=options, run_metadata=metadata)
            writer.add_run_metadata(metadata, "step%03d" % step, step)
    writer.close()
    return {"tags": ["step000", "step001", "step002"], "batches": [64, 128, 256]}


def v2_export(folder):
    """What trace_export leaves: graphs, and no step statistics."""
    @tf.function
    def step(x):
        return tf.reduce_sum(tf.nn.relu(tf.matmul(x, x)))

    writer = tf.summary.create_file_writer(folder)
    tf.summary.trace_on(graph=True)
    step(tf.ones([32, 32]))
    with writer.as_default():
        tf.summary.trace_export("step", step=0)
    writer.close()
    return {"step_stats": False}


def main(output):
    truth = {"tf": tf.__version__}
    truth.update(v2_export("events") if tf.__version__.startswith("2") else v1_steps("events"))
    shutil.copy(sorted(glob.glob("events/events.out.tfevents.*"))[0], output + ".tfevents")
    with open(output + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
