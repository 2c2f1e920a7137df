"""TensorFlow 1.15 programs that run out of memory, written to try whether the page's first remedy suffices: fitting_tf1.py FUNCTION [key=value ...].

The defaults run out of memory; programs.txt names the culprit and the arguments that take it away.
"""
import ast
import sys

import numpy as np
import tensorflow as tf

RNG = np.random.RandomState(1)


def run_steps(train_op, loss, feed, steps=3):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(steps):
            _, value = sess.run([train_op, loss], feed_dict=feed())
            print("step %d loss %.4f" % (step, value))


def optimizer_named(name):
    return {"adam": tf.train.AdamOptimizer, "sgd": lambda: tf.train.GradientDescentOptimizer(0.01)}[name]()


def road_signs(batch=192, size=64, width=32, optimizer="adam"):
    """A plain net in a Session whose batch is more than ten times too large for the limit."""
    images = tf.placeholder(tf.float32, [None, size, size, 3], "frames")
    labels = tf.placeholder(tf.int32, [None], "signs")
    net = images
    for number in range(5):
        net = tf.layers.conv2d(net, width, 3, padding="same", activation=tf.nn.relu, name="road%d" % number)
    logits = tf.layers.dense(tf.reduce_mean(net, [1, 2]), 43, name="sign")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    run_steps(optimizer_named(optimizer).minimize(loss), loss,
              lambda: {images: RNG.rand(batch, size, size, 3), labels: RNG.randint(0, 43, batch)})


def slots_of_a_ranker(rows=400000, width=64, optimizer="adam", batch=64):
    """The table fits, its two slots of Adam do not; the batch is small."""
    ids = tf.placeholder(tf.int32, [None, 10], "clicked")
    table = tf.get_variable("offer_table", [rows, width])
    score = tf.layers.dense(tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1), 1, name="rank")
    loss = tf.reduce_mean(tf.square(score - 1.0))
    run_steps(optimizer_named(optimizer).minimize(loss), loss, lambda: {ids: RNG.randint(0, rows, (batch, 10))})


def crops_of_proposals(proposals=1500, crop=14, depth=64, size=64):
    """Features of every proposal of a picture cut out at once."""
    image = tf.placeholder(tf.float32, [1, size, size, 3], "page")
    boxes = tf.placeholder(tf.float32, [None, 4], "proposals")
    features = tf.layers.conv2d(image, depth, 3, padding="same", activation=tf.nn.relu, name="backbone")
    cut = tf.image.crop_and_resize(features, boxes, tf.zeros([tf.shape(boxes)[0]], tf.int32), [crop, crop], name="cut_boxes")
    x = tf.layers.conv2d(cut, depth, 3, padding="same", activation=tf.nn.relu, name="box_head")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.reduce_mean(x, [1, 2]), 5, name="box_scores")))
    corners = RNG.rand(proposals, 4) * 0.5
    corners[:, 2:] += 0.5
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss, lambda: {image: RNG.rand(1, size, size, 3), boxes: corners})


def penalised_critic(batch=96, size=48, width=32, penalty=True):
    """A Wasserstein critic with a penalty on the gradient of its input."""
    real = tf.placeholder(tf.float32, [None, size, size, 3], "real")

    def critic(x):
        with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
            for number in range(3):
                x = tf.nn.leaky_relu(tf.layers.conv2d(x, width, 3, padding="same", name="judge%d" % number))
            return tf.layers.dense(tf.reduce_mean(x, [1, 2]), 1, name="verdict")

    loss = -tf.reduce_mean(critic(real))
    if penalty:
        slope = tf.gradients(critic(real), real)[0]
        loss += 10.0 * tf.reduce_mean(tf.square(tf.sqrt(tf.reduce_sum(tf.square(slope), [1, 2, 3]) + 1e-8) - 1.0))
    run_steps(tf.train.AdamOptimizer().minimize(loss), loss, lambda: {real: RNG.rand(batch, size, size, 3)})


def main():
    arguments = (word.split("=", 1) for word in sys.argv[2:])
    globals()[sys.argv[1]](**{key: ast.literal_eval(value) for key, value in arguments})


if __name__ == "__main__":
    main()
