"""A run that succeeds, and logs that optional scratch memory was not to be had: oom_soft.py LIBRARY.so."""
import sys

import numpy as np

from oom_kit import note_truth, tf, tf1


def main(library):
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    scratch = tf1.load_op_library(library).optional_scratch
    note_truth(failures=0, culprit="nothing failed: an op tried optional scratch memory of 2 GiB and 300 MiB and did "
               "without it")
    x = tf1.placeholder(tf.float32, [1024, 64], "x")
    y = scratch(scratch(x, megabytes=2048, name="conv_fast"), megabytes=300, name="conv_faster")
    with tf1.Session() as session:
        for step in range(2):
            print("step %d loss %.4f" % (step, session.run(tf1.reduce_mean(y), {x: np.ones([1024, 64])})))
    print("finished")


if __name__ == "__main__":
    main(sys.argv[1])
