"""Write the graph of a concrete function, a decoder that runs word by word, and say what two steps of it need: concrete_decoder.py OUT.meta.

Run by a Python with TensorFlow 2 on a BFC allocator for the CPU (TF_CPU_ALLOCATOR_USE_BFC=1 TF_CPU_BFC_MEM_LIMIT_IN_MB=16000 TF_ENABLE_ONEDNN_OPTS=0), one op at a time.
"""

import os
import sys

import tensorflow as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tfmemlens", "recording"))
import export_graph

tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)
table = tf.Variable(tf.random.normal([4000, 128]))
cell = tf.keras.layers.GRUCell(128)
cell.build((None, 128))


@tf.function
def step(words):
    with tf.GradientTape() as tape:
        state, outputs = tf.zeros([32, 128]), tf.TensorArray(tf.float32, 20)
        for i in tf.range(20):
            output, states = cell(tf.gather(table, words[:, i]), [state])
            state = states[0] if isinstance(states, (list, tuple)) else states
            outputs = outputs.write(i, output)
        logits = tf.einsum("tbd,vd->tbv", outputs.stack(), table)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.transpose(words), logits))
    variables = [table] + cell.trainable_weights
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    return loss


words = tf.zeros([32, 20], tf.int32)
export_graph.export(sys.argv[1], step.get_concrete_function(words))
step(words)
step(words)
tf.config.experimental.reset_memory_stats("CPU:0")
step(words)
step(words)
print("peak", tf.config.experimental.get_memory_info("CPU:0")["peak"])
