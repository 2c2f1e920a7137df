"""Predicted against measured peaks: estimate.py [PEAKS.json.gz ...], by default those kept in sample_models/.

`estimate.py --run PYTHON OUT.json.gz [CASE ...]` measures anew: real TensorFlow in the given Python trains
each model under a BFC allocator on the CPU (estimate_run.py). A step's peak differs from step to step as ops
overlap, so the median of seven is compared, and its range printed. Beside it stands the formula that many
use: weights, gradients and slots, plus the outputs of all layers, 4 bytes each.
"""

import gzip
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tfmemlens.estimation.keras_step import optimizers
from tfmemlens.estimation.keras_step.capture import error_shares
from tfmemlens.estimation.keras_step.prediction import predict
from tfmemlens.knowledge.keras_layers.model_types import complete
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.keras_models._documents import network_of

HERE = Path(__file__).parent
BATCHES = {
    "lenet": (16, 64, 256), "perceptron": (32, 256, 2048), "vgg": (4, 16, 64), "swish": (8, 32, 64),
    "unet": (2, 4, 8), "autoencoder": (4, 16, 64),
    "volume": (2, 4, 8), "lstm": (8, 32, 64), "gru": (8, 32, 64), "text": (16, 64, 256),
    "transformer": (4, 16, 32), "mobilenet": (2, 8, 16),
    "resnet": (2, 8, 16), "densenet": (2, 8, 16), "efficientnet": (2, 8, 16), "xception": (2, 4, 8),
    "generator": (8, 32, 64), "encoder": (4, 16, 32), "bilstm": (8, 32, 64), "waves": (8, 32, 128),
    "squeezed": (4, 16, 32), "residual": (4, 16, 32),
}  # fmt: skip


def cases() -> Iterator[tuple[str, int, str, str]]:
    for name, batches in BATCHES.items():
        for optimizer in ("adam", "momentum"):
            yield name, batches[1], optimizer, "training-1"
            yield from ((name, batch, optimizer, "training") for batch in batches)
        yield name, batches[1], "adam", "inference"
    for optimizer in ("sgd", "rmsprop", "adagrad", "nadam", "adadelta"):
        yield "lenet", BATCHES["lenet"][1], optimizer, "training-1"
    for optimizer in ("sgd", "rmsprop", "adadelta", "lion"):
        yield "perceptron", BATCHES["perceptron"][1], optimizer, "training-1"


def measure(python: str, out: str, wanted: list[str]) -> None:
    chosen = [
        case for case in cases() if not wanted or "/".join(map(str, case)) in wanted or case[0] in wanted
    ]
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "cases.json").write_text(json.dumps(chosen))
        subprocess.run(
            [python, HERE / "estimate_run.py", Path(work) / "out.json", Path(work) / "cases.json"], check=True
        )
        Path(out).write_bytes(gzip.compress((Path(work) / "out.json").read_bytes(), mtime=0))


def summary_formula(network: Network, batch: int, optimizer: str) -> int:
    slots = optimizers.optimizer(optimizer).slots
    outputs = sum(
        kind.bytes or 0 for layer in complete(network, batch) for call in layer.calls for kind in call.outputs
    )
    return 4 * (network.frozen_parameters + network.trainable_parameters * (2 + slots)) + outputs


def compare(path: Path) -> None:
    told = json.loads(gzip.decompress(path.read_bytes()))
    errors: dict[str, list[float]] = {}
    covered: dict[str, list[bool]] = {}
    formula: list[float] = []
    print(
        f"TensorFlow {told['tensorflow']}: measured median [range] MiB, predicted MiB, error; the summary"
        " formula's error"
    )
    for key, run in sorted(told["runs"].items()):
        name, batch, optimizer, mode = key.split("/")
        network = network_of(json.loads(told["models"][name]), name)
        training = mode != "inference"
        settings = StepSettings(
            int(batch),
            optimizer,
            training=training,
            threads=4,
            workers=1 if mode.endswith("-1") else 4,
            l3_bytes=384 << 20,
            onednn=False,  # as on the machine of the runs
        )
        found = predict(network, settings)
        predicted = found.timeline.peak_bytes
        middle, low, high = statistics.median(run["peaks"]), min(run["peaks"]), max(run["peaks"])
        error = predicted / middle - 1
        errors.setdefault(mode, []).append(abs(error))
        below, above = error_shares(found, settings) or (1.0, 1.0)
        covered.setdefault(mode, []).append(predicted * (1 - below) <= middle <= predicted * (1 + above))
        beside = summary_formula(complete(network), int(batch), optimizer) / middle - 1 if training else None
        formula += [abs(beside)] if beside is not None else []
        print(
            f"{key:36} {middle / 2**20:9.2f} [{low / 2**20:8.2f} {high / 2**20:8.2f}]"
            f" {predicted / 2**20:9.2f} {error:+7.1%}" + (f" {beside:+8.1%}" if beside is not None else "")
        )
    for mode, shares in errors.items():
        print(
            f"{mode:12} {len(shares):3} runs: median {statistics.median(shares):.1%}, 90th percentile"
            f" {percentile(shares, 0.9):.1%}; {statistics.mean(covered[mode]):.0%} within their error bars"
        )
    print(
        f"summary formula: median {statistics.median(formula):.1%}, 90th percentile"
        f" {percentile(formula, 0.9):.1%}"
    )


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        measure(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        runs = sorted((HERE / ".." / ".." / "sample_models").glob("peaks-*.json.gz"))
        for each in [Path(name) for name in sys.argv[1:]] or runs:
            compare(each)
