"""Under TensorFlow 1.15: trace one training step of an unrolled LSTM: big_trace.py OUTPUT.pb STEPS
[--graphs]. 2,550 steps make 300,000 node executions.

With --graphs the trace holds its partition graphs as well. The graph goes to OUTPUT.pb.graph, since tfprof
wants one.

Grappler and XLA's clustering are off (run with TF_XLA_FLAGS=--tf_xla_clustering_fuel=0): both take hours on a
graph of this size.
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2


def main(output, steps, graphs=False, batch=2, units=8):
    inputs = tf.placeholder(tf.float32, [steps, batch, units])
    cell = tf.nn.rnn_cell.LSTMCell(units)
    state = cell.zero_state(batch, tf.float32)
    loss = 0.0
    for moment in tf.unstack(inputs):
        y, state = cell(moment, state)
        loss += tf.reduce_mean(tf.square(y))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    feed = {inputs: np.random.rand(steps, batch, units).astype(np.float32)}
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            metadata = tf.RunMetadata()
            session.run(
                train,
                feed,
                options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=graphs),
                run_metadata=metadata,
            )
    with open(output, "wb") as out:
        out.write(metadata.SerializeToString())
    with open(output + ".graph", "wb") as out:
        out.write(tf.get_default_graph().as_graph_def().SerializeToString())
    print(output, sum(len(device.node_stats) for device in metadata.step_stats.dev_stats), "node executions")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), graphs="--graphs" in sys.argv)
