"""Train one small network in a v1 Session until memory runs out: oom_graph.py MODEL [--report] [key=number ...]."""
import argparse

import common_models_v1
from oom_kit import note_truth, noting_failure, report_options, tf, tf1, v1_variable_facts

OPTIMIZERS = {
    "sgd": lambda: tf1.train.GradientDescentOptimizer(0.01),
    "momentum": lambda: tf1.train.MomentumOptimizer(0.01, 0.9),
    "adam": lambda: tf1.train.AdamOptimizer(0.001),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("sizes", nargs="*", help="the model's parameters, as key=number")
    parser.add_argument("--optimizer", default="adam", choices=sorted(OPTIMIZERS))
    parser.add_argument("--report", action="store_true", help="set report_tensor_allocations_upon_oom")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--devices", type=int, default=1, help="number of CPU devices")
    parser.add_argument("--threads", type=int, default=0, help="inter-op threads")
    parser.add_argument("--workspace", action="store_true",
                        help="the failing tensor is a temporary, not the failing op's output")
    return parser.parse_args()


def main():
    args = arguments()
    if tf.__version__.startswith("2"):
        tf1.disable_v2_behavior()
    sizes = {key: int(number) for key, number in (pair.split("=") for pair in args.sizes)}
    net = getattr(common_models_v1, args.model)(**sizes)
    optimizer = OPTIMIZERS[args.optimizer]()
    train_op = optimizer.minimize(net.loss, colocate_gradients_with_ops=args.devices > 1)
    note_truth(batch=net.batch, optimizer=args.optimizer, user_layer=net.user_layer, culprit=net.culprit,
               **v1_variable_facts(optimizer))
    config = tf1.ConfigProto(device_count={"CPU": args.devices}, inter_op_parallelism_threads=args.threads)
    options = report_options() if args.report else None
    with tf1.Session(config=config) as session:
        session.run(tf1.global_variables_initializer())
        for step in range(args.steps):
            _, loss = noting_failure(lambda: session.run([train_op, net.loss], net.feed, options=options),
                                     static_shape=not args.workspace)
            print("step %d loss %.4f" % (step, loss))


if __name__ == "__main__":
    main()
