"""Where a remedy applies, as data: framework, version, device, what the run is and what it does already.

A remedy whose slug is not in the table may not be offered; tests/golden/remedies.txt shows the table as users
meet it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfmemlens.findings.support.situation import BUILT_IN, JAX, TENSORFLOW, TORCH_XLA, Situation, situation
from tfmemlens.findings.support.tried import edits_no_program
from tfmemlens.knowledge.device_names import CPU, GPU, TPU
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, replace

_INFERENCE = ("Java", "Node", "TensorFlow.js", "C++", "C#", "Go", "TensorFlow Serving", "Triton", BUILT_IN)
"""Programs that run a model which was trained elsewhere."""
_FIRST, _LAST = (0, 0), (2, 99)
_ALL = frozenset({TENSORFLOW, JAX, TORCH_XLA})
_DEVICES = frozenset({CPU, GPU, TPU})


@dataclass(frozen=True, slots=True)
class Applicability:
    """Where a remedy applies. What is not known of a run rules nothing out."""

    frameworks: frozenset[str] = _ALL
    since: tuple[int, int] = _FIRST
    """The first TensorFlow that has it."""
    since_off_gpu: tuple[int, int] = _FIRST
    """The first TensorFlow that has it on other devices than GPUs."""
    until: tuple[int, int] = _LAST
    """The last TensorFlow in which it helps."""
    devices: frozenset[str] = _DEVICES
    session: bool | None = None
    """Whether it is for graphs run by sessions, or for programs without any; None is for both."""
    training: bool = False
    """Whether it helps training alone."""
    shown: bool = False
    """Whether something must show training."""
    wide: bool = False
    """Whether activations must be in 32 bits."""
    optimizer: bool = False
    """Whether it is idle when the optimizer is known to keep no slots."""
    python: bool = False
    """Whether it is of Python programs alone."""
    program: frozenset[str] | None = None
    """The programs of other kinds that have it; None of what is not theirs alone."""
    done: str = ""
    """A pattern of settings, `name=value`, that say that it is done already, or that it cannot be done."""
    shell: bool = False
    """Whether its code is a shell's or another program's own, so that no Python is needed."""
    code: frozenset[str] = _ALL
    """The frameworks in which its code runs; the others are offered the words alone."""

    cuda: bool = False
    """Whether it is of CUDA, so that Apple's GPUs have none of it."""

    not_in: frozenset[str] = frozenset()
    """Libraries on top of JAX whose users cannot do it, or whose own code does it already."""

    def holds(self, run: Situation) -> bool:
        """Whether the remedy applies to the run."""
        return (
            self.is_of(run.framework)
            and run.library not in self.not_in
            and (self.program is None or run.program in self.program)
            and not (run.program in _INFERENCE and (self.training or self.python))
            and (run.framework != TENSORFLOW or (run.newest >= self.since and run.oldest <= self.until))
            and self.is_on(run)
            and (self.session is None or run.framework != TENSORFLOW or self.session == run.session)
            and not (self.training and run.training is False)
            and not (self.shown and run.training is not True)
            and not (self.wide and run.half)
            and not (self.optimizer and run.optimizer is False)
            and not (self.cuda and "gpu=Apple" in run.settings)
            and not self.is_done(run.settings)
        )

    def is_of(self, framework: str | None) -> bool:
        """Whether users of the framework have it; of an unknown one all must."""
        return self.frameworks == _ALL if framework is None else framework in self.frameworks

    def is_on(self, run: Situation) -> bool:
        """Whether the run's device has it."""
        if run.device is None:
            return True
        late = run.framework == TENSORFLOW and run.device != GPU and run.newest < self.since_off_gpu
        return run.device in self.devices and not late

    def is_done(self, settings: Iterable[str]) -> bool:
        """Whether one of the settings says that it is done already."""
        return bool(self.done) and any(re.fullmatch(self.done, setting) for setting in settings)

    def runs_code(self, run: Situation) -> bool:
        """Whether its code runs there; of an unknown framework it must run in all."""
        if run.program or run.no_python:
            return self.shell
        return self.code == _ALL if run.framework is None else run.framework in self.code


_TENSORFLOW, _OF_JAX, _HOST = frozenset({TENSORFLOW}), frozenset({JAX}), frozenset({CPU})
_ACCELERATORS, _ON_GPU = frozenset({GPU, TPU}), frozenset({GPU})
_NAMED = _TENSORFLOW | _OF_JAX
"""Where a snippet is known for each."""
_ANYWHERE = Applicability()
_IN_TENSORFLOW = Applicability(_TENSORFLOW)
_TENSORFLOW_CODE = Applicability(code=_TENSORFLOW)
_IN_TRAINING = Applicability(training=True)
_WITH_BFC = _ON_GPU | _HOST
"""Devices with an allocator and a graph of TensorFlow's own. The layout pass needs a GPU among the devices;
its copies may lie on the CPU.
"""
_IN_THE_LAYOUT_PASS = Applicability(
    _TENSORFLOW, since=(1, 4), devices=_WITH_BFC, done="layout_optimizer=(?:OFF|False)"
)
_HALVED = "mixed_precision=(?!False\\Z|fp32\\Z|float32\\Z).*"
_ONE_THREAD = "inter_op_parallelism_threads=1|jit_compile=True"

TABLE: dict[str, Applicability] = {
    # What several rules offer, and the what-if engine knows.
    "smaller-batch": _ANYWHERE,
    "mixed-precision": Applicability(
        since=(1, 14), since_off_gpu=(2, 4), shown=True, wide=True, python=True,
        done=f"{_HALVED}|tensor_cores=False", code=_NAMED,
    ),
    "recompute": Applicability(since=(1, 4), training=True, shown=True, done="recompute=(?!False\\Z).*"),
    "lighter-optimizer": Applicability(training=True, optimizer=True),
    "gradient-accumulation": Applicability(
        training=True, shown=True, done=r"gradient_accumulation=(?!0\Z|1\Z).*|batch_size=1"
    ),
    "smaller-input": _ANYWHERE,
    "no-layout-copies": _IN_THE_LAYOUT_PASS,
    # Of allocators and devices.
    "growth": Applicability(
        cuda=True, devices=_ON_GPU, done="allow_growth=True|XLA_PYTHON_CLIENT_PREALLOCATE=False", code=_NAMED
    ),
    "async-allocator": Applicability(
        _TENSORFLOW, cuda=True, since=(2, 5), devices=_ON_GPU, done="TF_GPU_ALLOCATOR=cuda_malloc_async"
    ),
    "larger-pool": Applicability(
        _OF_JAX, cuda=True, devices=_ON_GPU,
        done="XLA_PYTHON_CLIENT_MEM_FRACTION=.*|XLA_PYTHON_CLIENT_ALLOCATOR=platform",
    ),
    "smaller-fraction": Applicability(_NAMED, cuda=True, devices=_ON_GPU),
    "constant-shapes": _ANYWHERE,
    "large-tensors-first": Applicability(devices=_ON_GPU | _HOST),
    "ask-for-a-gpu": Applicability(shell=True),
    "drop-the-cache": Applicability(shell=True),
    "smallest-program": Applicability(devices=_ON_GPU, shell=True),
    "see-device-users": Applicability(devices=_ON_GPU, shell=True, done="nvidia-smi=shown"),
    "fewer-processes": Applicability(devices=_ON_GPU),
    "one-device-each": Applicability(cuda=True, devices=_ON_GPU),
    "cudnn-workspace-limit": Applicability(
        _TENSORFLOW, cuda=True, since=(1, 1), devices=_ON_GPU, done="TF_CUDNN_WORKSPACE_LIMIT_IN_MB=.*"
    ),
    "matching-driver": _ANYWHERE,
    "start-it-again": _ANYWHERE,
    "why-it-went": Applicability(shell=True),
    "shorter-parts": Applicability(shell=True),
    "without-the-filter": _ANYWHERE,
    "other-arena": Applicability(shell=True),
    "read-in-parts": Applicability(shell=True),
    "in-batches-of-r": Applicability(shell=True),
    "compute-mode": Applicability(cuda=True, devices=_ON_GPU, shell=True),
    "another-gpu": Applicability(cuda=True, devices=_ON_GPU),
    "blocking-launches": Applicability(cuda=True, devices=_ON_GPU, done="CUDA_LAUNCH_BLOCKING=.*"),
    "smaller-gpu-blocks": Applicability(devices=_ON_GPU),
    "more-shared-memory": _ANYWHERE,
    "fewer-threads": _ANYWHERE,
    "as-a-script": _ANYWHERE,
    "keep-off-the-device": Applicability(code=_TENSORFLOW, devices=_ACCELERATORS),
    "find-the-reader": _TENSORFLOW_CODE,
    "check-the-device": Applicability(code=_NAMED, done=r"jax\.devices=.*|CUDA_VISIBLE_DEVICES=.*"),
    "free-shared-ram": Applicability(shell=True),
    "add-swap": Applicability(shell=True),
    "train-elsewhere": Applicability(shell=True),
    "room-for-others": Applicability(devices=_HOST),
    "raise-container-limit": Applicability(devices=_HOST, shell=True),
    "wait-for-each-call": Applicability(_OF_JAX, devices=_HOST),
    "container-limit": Applicability(devices=_HOST, done="platform=Windows"),
    "smaller-pipeline": Applicability(devices=_HOST),
    "map-the-file": Applicability(devices=_HOST),
    "fewer-entries": Applicability(devices=_HOST),
    "narrow-array": Applicability(devices=_HOST),
    "more-ram-for-wsl": Applicability(devices=_HOST, shell=True),
    "install-without-cache": Applicability(shell=True),
    "without-cache": Applicability(_OF_JAX, shell=True),
    "read-the-kernel-log": Applicability(devices=_HOST, done="platform=Windows", shell=True),
    "save-in-parts": Applicability(shell=True),
    "newer-release": _ANYWHERE,
    "op-on-the-cpu": _ANYWHERE,
    "another-implementation": Applicability(_OF_JAX),
    "reload-the-driver": Applicability(shell=True),
    "other-plugin": Applicability(_TENSORFLOW),
    "train-on-the-cpu": Applicability(_TENSORFLOW),
    "release-that-works": _ANYWHERE,
    "make-once": _ANYWHERE,
    "compare-with-cpu": Applicability(code=_NAMED),
    "size-the-slabs": Applicability(_TENSORFLOW, until=(1, 13), devices=_HOST),
    # Of logs: what would tell more.
    "read-the-log": _ANYWHERE,
    "find-what-grows": _ANYWHERE,
    "other-framework": _ANYWHERE,
    "read-with-log": _ANYWHERE,
    "record-a-step": Applicability(code=_NAMED, python=True),
    "list-tensors": Applicability(_TENSORFLOW, since=(1, 5), devices=_WITH_BFC, python=True),
    "dump-file": Applicability(_TENSORFLOW, since=(2, 1), devices=_WITH_BFC, shell=True),
    "dispose": Applicability(program=frozenset({"Node", "TensorFlow.js"}), shell=True),
    "tidy": Applicability(program=frozenset({"Node", "TensorFlow.js"}), shell=True),
    "shard-the-data": _TENSORFLOW_CODE,
    "room-beside-the-heap": Applicability(program=frozenset({"Java"})),
    "convert-tensor-by-tensor": Applicability(_OF_JAX),
    "pool-of-exla": Applicability(devices=_ON_GPU, program=frozenset({"Elixir"}), shell=True),
    "free-tensors-of-exla": Applicability(program=frozenset({"Elixir"}), shell=True),
    "close-tensors": Applicability(program=frozenset({"Java", "C#"}), shell=True),
    "one-op-less": Applicability(cuda=True, devices=_ON_GPU, shell=True),
    "one-order-of-feeds": Applicability(program=frozenset({"Go"}), shell=True),
    "close-tensors-of-go": Applicability(program=frozenset({"Go"}), shell=True),
    "watch-the-client": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "smaller-requests": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "bound-requests": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "fewer-instances": Applicability(program=frozenset({"Triton"}), shell=True),
    "part-of-a-server": Applicability(program=frozenset({"TensorFlow Serving", "Triton"}), shell=True),
    "watch-it-load": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "one-server-for-each": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "one-server-for-all": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "smaller-examples": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "ask-what-is-in-use": Applicability(_OF_JAX, devices=_ON_GPU),
    "return-less": Applicability(code=_OF_JAX),
    "name-the-buffers": Applicability(done="xla_dump_to=.*"),
    "other-tool": _ANYWHERE,
    "fewer-elements": _ANYWHERE,
    "shorter-queue": Applicability(_TENSORFLOW, devices=_HOST),
    "growth-at-first": Applicability(
        _TENSORFLOW, cuda=True, shell=True, done="TF_FORCE_GPU_ALLOW_GROWTH=true"
    ),
    "as-many-steps": _TENSORFLOW_CODE,
    "close-other-programs": _ANYWHERE,
    "another-allocator": Applicability(
        _OF_JAX, cuda=True, devices=_ON_GPU, shell=True, done="XLA_PYTHON_CLIENT_ALLOCATOR=.*"
    ),
    "pool-for-unified-memory": Applicability(_OF_JAX, cuda=True, devices=_ON_GPU, shell=True),
    "another-malloc": Applicability(program=frozenset({"TensorFlow Serving"}), shell=True),
    "smaller-files": Applicability(program=frozenset({"Node", "TensorFlow.js"}), shell=True),
    "another-backend": Applicability(shell=True),
    "tidy-textures": Applicability(shell=True),
    "count-tensors": Applicability(shell=True),
    "without-delegate": _ANYWHERE,
    "fewer-versions": _ANYWHERE,
    "mend-the-gpu-build": Applicability(code=_OF_JAX),
    "larger-arena": _ANYWHERE,
    "data-out-of-the-graph": _IN_TENSORFLOW,
    "larger-message": Applicability(shell=True),
    "larger-heap": Applicability(shell=True),
    "other-allocator": Applicability(_TENSORFLOW, shell=True),
    "pass-as-argument": _ANYWHERE,
    "distances-by-product": Applicability(_OF_JAX),
    "gradient-inside-loop": Applicability(_OF_JAX),
    "join-once": Applicability(_OF_JAX),
    "loop-of-xla": Applicability(_OF_JAX),
    "sampled-neighbours": _ANYWHERE,
    "fused-attention": Applicability(_OF_JAX),
    "load-on-the-host": Applicability(_OF_JAX),
    "no-matrix-of-pairs": Applicability(_OF_JAX),
    "restore-sharded": Applicability(_OF_JAX),
    "shapes-of-pmap": Applicability(_OF_JAX),
    "find-the-crash": Applicability(done="faulthandler=.*"),
    "last-call-alone": _ANYWHERE,
    "call-again": _ANYWHERE,
    "watch-ram": _ANYWHERE,
    "where-it-stands": _ANYWHERE,
    "tell-which": Applicability(),
    "matching-input": _ANYWHERE,
    "see-the-scores": _ANYWHERE,
    "wrong-side": _ANYWHERE,
    "one-process-for-all": Applicability(_TENSORFLOW, devices=_ON_GPU),
    "how-it-ended": Applicability(shell=True),
    "smaller-first": Applicability(shell=True),
    "mend-the-error": Applicability(),
    "search-the-error": Applicability(),
    "who-ended-it": Applicability(devices=_HOST, shell=True),
    "low-rank-matrix": Applicability(_OF_JAX),
    "chips-of-its-own": _ANYWHERE,
    "the-silent-process": _ANYWHERE,
    "longer-heartbeat": Applicability(_OF_JAX),
    "end-the-process": Applicability(devices=_ON_GPU),
    "free-the-tpu": _ANYWHERE,
    "start-all-processes": _ANYWHERE,
    "without-log-likelihood": Applicability(_OF_JAX),
    "find-the-feed": _ANYWHERE,
    "convert-on-the-cpu": Applicability(_TENSORFLOW, cuda=True, devices=_ON_GPU, shell=True),
    "without-cudnn": Applicability(_TENSORFLOW, cuda=True, devices=_ON_GPU),
    "compare-shapes": _ANYWHERE,
    "find-the-size": _ANYWHERE,
    "fewer-classes": _ANYWHERE,
    "histograms-off": Applicability(code=_TENSORFLOW),
    "room-beside-the-pool": _ANYWHERE,
    "split-on-the-host": Applicability(code=_TENSORFLOW, devices=_ACCELERATORS),
    "shapes-without-running": Applicability(_OF_JAX),
    # Of what lives between steps.
    "keep-numbers": Applicability(session=False),
    "copies-of-parts": Applicability(_TENSORFLOW),
    "look-for-lists": _ANYWHERE,
    "look-between-steps": _TENSORFLOW_CODE,
    "finalize-graph": Applicability(_TENSORFLOW, session=True),
    "graph-for-each": _IN_TENSORFLOW,
    "find-the-growth": Applicability(python=True),
    "drop-results": _ANYWHERE,
    "fewer-trained-layers": Applicability(training=True, code=_TENSORFLOW),
    "tokens-in-a-batch": _TENSORFLOW_CODE,
    "truncate-inputs": _ANYWHERE,
    "one-signature": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "one-model": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "own-function": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "one-function": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "pass-arrays": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "clear-session": _IN_TENSORFLOW,
    "restart-kernel": _ANYWHERE,
    "cap-the-search": Applicability(code=_TENSORFLOW),
    "without-py-function": Applicability(frozenset({TENSORFLOW})),
    "own-process": _ANYWHERE,
    "outside-the-tape": _TENSORFLOW_CODE,
    "ram-for-the-build": Applicability(shell=True),
    "compare-the-cluster": _TENSORFLOW_CODE,
    "find-the-call": Applicability(shell=True),
    "larger-quota": _ANYWHERE,
    "convert-anew": _ANYWHERE,
    "shape-of-the-input": _ANYWHERE,
    "room-for-two-versions": Applicability(_TENSORFLOW),
    "fewer-jobs": _ANYWHERE,
    "wrap-blocks": Applicability(frozenset({TORCH_XLA})),
    "step-alone": Applicability(_TENSORFLOW),
    "drop-models": _IN_TENSORFLOW,
    "tape-inside-loop": Applicability(_TENSORFLOW, session=False),
    "own-gradient": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "without-tqdm": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "stop-recording": Applicability(_TENSORFLOW, since=(2, 0), session=False),
    "no-persistent-tape": Applicability(_TENSORFLOW, session=False),
    "no-kept-tape": Applicability(_TENSORFLOW, session=False),
    "small-pool-in-cpp": Applicability(_TENSORFLOW, devices=_ON_GPU, shell=True),
    "end-what-is-left": Applicability(devices=_ON_GPU, shell=True),
    "end-the-suspended": Applicability(devices=_ON_GPU, shell=True),
    "cap-the-power": Applicability(devices=_ON_GPU, shell=True),
    "log-the-hardware": Applicability(shell=True),
    "hide-the-gpu": Applicability(_TENSORFLOW, devices=_ON_GPU, shell=True),
    "smaller-workspace": _ANYWHERE,
    "one-batch-to-the-device": Applicability(_OF_JAX),
    "integer-labels": Applicability(code=_OF_JAX),
    "short-side-first": _ANYWHERE,
    "reduced-svd": _ANYWHERE,
    "factor-each-shard": Applicability(_OF_JAX),
    "tensorflow-off-the-gpu": Applicability(_OF_JAX, devices=_ON_GPU),
    "drop-references": Applicability(code=_OF_JAX),
    "default-algorithm": Applicability(_OF_JAX, devices=_ON_GPU),
    "compare-with-device": Applicability(code=_OF_JAX),
    "mark-step": Applicability(frozenset({TORCH_XLA})),
    "count-compilations": Applicability(frozenset({TORCH_XLA})),
    "compile-once": Applicability(_OF_JAX | {TORCH_XLA}),
    "own-part-of-an-array": Applicability(_OF_JAX),
    "use-all-devices": Applicability(_OF_JAX),
    "room-for-unified-memory": Applicability(_OF_JAX),
    "one-at-a-time": Applicability(frozenset({TORCH_XLA})),
    "distributed-solver": Applicability(_OF_JAX),
    "one-model-for-all": Applicability(frozenset({TORCH_XLA})),
    "fewer-loader-workers": Applicability(frozenset({JAX, TORCH_XLA})),
    "collectives-in-the-pool": Applicability(frozenset({JAX}), devices=_ON_GPU, shell=True),
    "smaller-collectives": Applicability(frozenset({JAX}), devices=_ON_GPU, shell=True),
    "recompute-some": Applicability(_OF_JAX),
    "see-the-plan": Applicability(_OF_JAX),
    "shorter-requests": _ANYWHERE,
    "read-in-host-ram": Applicability(frozenset({TORCH_XLA})),
    "prime-the-optimizer": Applicability(frozenset({TORCH_XLA})),
    "same-on-every-host": Applicability(_OF_JAX),
    "one-framework-each": Applicability(_OF_JAX, devices=_ON_GPU, shell=True),
    "one-simulated-device": Applicability(frozenset({JAX}), shell=True),
    "draws-in-parts": Applicability(_OF_JAX),
    "fewer-batches-ahead": Applicability(frozenset({TORCH_XLA})),
    "between-epochs": Applicability(frozenset({TORCH_XLA})),
    "graph-again": _TENSORFLOW_CODE,
    "without-xla": Applicability(_TENSORFLOW, since=(2, 0), devices=_WITH_BFC, done="jit_compile=False"),
    "donate-buffers": Applicability(
        _OF_JAX, done="donate_argnums=.*", not_in=frozenset({"Keras", "NumPyro", "PyMC"})
    ),
    "fewer-draws": Applicability(_OF_JAX),
    "draws-to-the-host": Applicability(_OF_JAX),
    "load-once": _TENSORFLOW_CODE,
    "few-threads": _TENSORFLOW_CODE,
    "implicit-gradient": Applicability(_OF_JAX),
    "thin-draws": Applicability(_OF_JAX),
    "fewer-programs": Applicability(_OF_JAX),
    "more-memory-maps": Applicability(devices=_HOST, shell=True),
    "compile-the-call": Applicability(_OF_JAX, not_in=frozenset({"PyMC"})),
    "roll-loops": Applicability(_OF_JAX | {TORCH_XLA}),
    "count-operations": Applicability(_OF_JAX),
    "compile-alone": Applicability(_OF_JAX),
    "compile-less": Applicability(_OF_JAX),
    "donatable-results": Applicability(_OF_JAX),
    "smaller-tree": Applicability(_OF_JAX),
    "sorted-tokens": _ANYWHERE,
    "smaller-groups": _ANYWHERE,
    "narrow-weights-of-torch": Applicability(frozenset({TORCH_XLA}), done=_HALVED),
    "fewer-chains": Applicability(_OF_JAX),
    "subsampling": Applicability(code=_OF_JAX),
    "sum-as-you-go": Applicability(_OF_JAX),
    "save-sharded": Applicability(_OF_JAX),
    "on-the-cpu": Applicability(frozenset({JAX})),
    "low-rank-tuning": Applicability(code=_OF_JAX),
    "pytorch-off-the-gpu": Applicability(_OF_JAX, devices=_ON_GPU),
    "smaller-buffer": Applicability(_OF_JAX),
    "rows-of-the-batch": Applicability(_OF_JAX),
    "smaller-generation": Applicability(_OF_JAX),
    "diagonal-guide": Applicability(_OF_JAX),
    "restore-into-shapes": Applicability(_OF_JAX),
    "fewer-contacts": Applicability(_OF_JAX),
    "bound-checkpoint": Applicability(_OF_JAX),
    "fewer-environments": Applicability(_OF_JAX),
    "print-shardings": Applicability(_OF_JAX),
    "smaller-alignment": Applicability(_OF_JAX, shell=True),
    "coarser-grid": Applicability(_OF_JAX),
    "fewer-steps-at-once": Applicability(_OF_JAX),
    "chunks-of-samples": Applicability(_OF_JAX),
    "cell-list": Applicability(_OF_JAX),
    "neighbour-list": Applicability(_OF_JAX),
    "list-on-the-host": Applicability(_OF_JAX),
    "smaller-cache-part": Applicability(_OF_JAX | {TORCH_XLA}, shell=True),
    "fewer-checkpoints": Applicability(_OF_JAX),
    "fewer-seeds": Applicability(_OF_JAX),
    "update-once": Applicability(_OF_JAX),
    "list-arguments": Applicability(code=_OF_JAX),
    "one-checkpoint-at-a-time": Applicability(frozenset({JAX, TORCH_XLA})),
    "start-anew": Applicability(done=r"clear_caches=.*"),
    "no-jacobian": Applicability(_OF_JAX),
    "less-of-the-square": _ANYWHERE,
    "room-to-read": _ANYWHERE,
    "build-for-this-board": Applicability(_OF_JAX),
    "clear-the-exception": _ANYWHERE,
    "one-shape-of-jax": Applicability(_OF_JAX),
    "without-random-weights": Applicability(_OF_JAX),
    "what-runs-then": _ANYWHERE,
    "larger-device": _ANYWHERE,
    "more-of-its-own": Applicability(_OF_JAX, devices=_ON_GPU),
    "unified-memory": Applicability(devices=_ON_GPU, done="TF_FORCE_UNIFIED_MEMORY=True"),
    "no-pmap-within-jit": Applicability(_OF_JAX),
    "more-unified-memory": Applicability(_OF_JAX, devices=_ON_GPU),
    "smaller-part": Applicability(_OF_JAX, devices=_ON_GPU),
    "fewer-members": Applicability(_OF_JAX),
    "shuffle-indices": Applicability(_OF_JAX),
    "inducing-points": Applicability(_OF_JAX),
    "half-transform": Applicability(_OF_JAX),
    "parts-on-host": Applicability(_OF_JAX),
    "shorter-history": Applicability(_OF_JAX),
    "narrow-mask": Applicability(_OF_JAX),
    "single-precision-jax": Applicability(_OF_JAX),
    "smaller-moments": Applicability(_OF_JAX, training=True),
    "narrow-weights": Applicability(_OF_JAX),
    "narrow-logits": Applicability(),
    "recompute-body": Applicability(_OF_JAX, done="recompute=(?!False\\Z).*"),
    "larger-host-pool": Applicability(_TENSORFLOW, devices=_HOST, shell=True),
    "more-pinned-memory": Applicability(_OF_JAX, devices=_HOST, shell=True),
    "alias-arguments": Applicability(frozenset({TORCH_XLA})),
    "small-init": Applicability(_OF_JAX),
    "stack-less": Applicability(_OF_JAX),
    "bounded-history": Applicability(_OF_JAX),
    "narrow-copy": Applicability(_OF_JAX),
    "stay-sparse": Applicability(_OF_JAX),
    "fewer-prefetched": Applicability(_OF_JAX),
    "iterative-solver": Applicability(_OF_JAX),
    # Of batches and data.
    "in-pieces": _ANYWHERE,
    "without-copies": Applicability(_OF_JAX),
    "dual-form": Applicability(_OF_JAX),
    "forward-derivatives": Applicability(_OF_JAX),
    "backward-derivatives": Applicability(_OF_JAX),
    "setting-that-works": Applicability(shell=True),
    "partitionable-draws": Applicability(_OF_JAX | {TORCH_XLA}, code=_OF_JAX | {TORCH_XLA}),
    "smaller-draws": Applicability(_OF_JAX | {TORCH_XLA}),
    "sample-neighbours": _ANYWHERE,
    "fewer-edges": _ANYWHERE,
    "smaller-graph-batch": _ANYWHERE,
    "more-ram": _ANYWHERE,
    "room-for-files": _ANYWHERE,
    "listen-in-time": _ANYWHERE,
    "one-that-serves": _IN_TENSORFLOW,
    "more-time": _ANYWHERE,
    "more-open-files": _ANYWHERE,
    "sparse-product": _TENSORFLOW_CODE,
    "raise-own-limit": Applicability(devices=_ON_GPU),
    "raise-host-limit": Applicability(_TENSORFLOW, devices=_HOST, shell=True),
    "batch-for-the-block": _ANYWHERE,
    "parts-to-host": Applicability(_TENSORFLOW, devices=_ACCELERATORS, session=False),
    "fill-one-array": Applicability(_TENSORFLOW, session=False),
    "reduce-parts": _ANYWHERE,
    "one-result-at-a-time": Applicability(_TENSORFLOW, devices=_HOST),
    "parts-to-disk": Applicability(devices=_HOST),
    "keep-on-host": Applicability(devices=_ACCELERATORS),
    "without-pfor": Applicability(_TENSORFLOW, since=(1, 14)),
    "ring-buffer": _TENSORFLOW_CODE,
    "even-batches": Applicability(code=_TENSORFLOW, done="drop_remainder=True"),
    "smaller-evaluation-batch": Applicability(code=_NAMED),
    "smaller-prediction-batch": Applicability(code=_NAMED),
    "in-batches": _TENSORFLOW_CODE,
    "bucket-sequences": _ANYWHERE,
    "fewer-steps": Applicability(session=False, code=_TENSORFLOW),
    "truncate": _IN_TRAINING,
    "pieces-again": Applicability(_TENSORFLOW, since=(2, 4), session=False, training=True),
    "fewer-turns": _IN_TRAINING,
    "swap-to-host": Applicability(
        _TENSORFLOW, until=(1, 15), devices=_ON_GPU, training=True, done="swap_memory=True"
    ),
    # Of what lines of TensorFlow programs make.
    "keep-the-slices": _TENSORFLOW_CODE,
    "compile-the-forward": _TENSORFLOW_CODE,
    "sum-in-the-product": _TENSORFLOW_CODE,
    "the-shorter-side": _TENSORFLOW_CODE,
    "look-up-first": _TENSORFLOW_CODE,
    "repeat-the-output": _TENSORFLOW_CODE,
    "reduce-before-resizing": _TENSORFLOW_CODE,
    "score-by-product": _TENSORFLOW_CODE,
    "jacobian-by-samples": _TENSORFLOW_CODE,
    "step-in-samples": _TENSORFLOW_CODE,
    "rank-in-blocks": _TENSORFLOW_CODE,
    "count-instead-of-sort": _TENSORFLOW_CODE,
    "stay-sparse-column": _TENSORFLOW_CODE,
    "stay-sparse-layer": _TENSORFLOW_CODE,
    "resize-in-pipeline": _TENSORFLOW_CODE,
    "cache-to-file": Applicability(_TENSORFLOW, devices=_HOST),
    "shuffle-files": Applicability(_TENSORFLOW, devices=_HOST),
    "prefetch-few": Applicability(_TENSORFLOW, devices=_HOST),
    "fewer-forks": Applicability(_TENSORFLOW),
    "fewer-workers": Applicability(_TENSORFLOW, devices=_HOST),
    "larger-paging-file": Applicability(devices=_HOST),
    "batch-per-replica": _IN_TENSORFLOW,
    "fewer-pairs": _ANYWHERE,
    "fewer-candidates": _ANYWHERE,
    "route-in-groups": _TENSORFLOW_CODE,
    "gather-for-experts": _ANYWHERE,
    "mask-the-padding": _TENSORFLOW_CODE,
    "fewer-columns": _IN_TENSORFLOW,
    "elementwise-diagonal": _IN_TENSORFLOW,
    "broadcast-instead": _TENSORFLOW_CODE,
    "without-vectorized-map": _IN_TENSORFLOW,
    "smaller-crops": _ANYWHERE,
    "tool-image-size": _ANYWHERE,
    "smaller-image-files": _ANYWHERE,
    "tool-sample-length": _ANYWHERE,
    "cheaper-attention": _ANYWHERE,
    "fewer-turns-at-once": _IN_TENSORFLOW,
    "fewer-frames": _ANYWHERE,
    "first-order": Applicability(_TENSORFLOW, training=True, session=False),
    "one-random-direction": Applicability(_TENSORFLOW, training=True, session=False),
    "plain-tapes": Applicability(_TENSORFLOW, session=False),
    "fewer-microbatches": Applicability(_TENSORFLOW, training=True),
    "smaller-table": _ANYWHERE,
    "average-on-host": _ANYWHERE,
    "shorter-buffer": _ANYWHERE,
    "one-call": _IN_TENSORFLOW,
    "save-the-weights": _IN_TENSORFLOW,
    "no-histograms": _IN_TENSORFLOW,
    "find-the-nan": _TENSORFLOW_CODE,
    # Of models.
    "count-parameters": _ANYWHERE,
    "penalty-on-part": _IN_TRAINING,
    "fewer-boxes": _ANYWHERE,
    "hessian-products": Applicability(code=_OF_JAX),
    "masks-on-host": _ANYWHERE,
    "build-once": _IN_TENSORFLOW,
    # Of what words alone tell.
    "direct-call": _TENSORFLOW_CODE,
    "compiled-call": _TENSORFLOW_CODE,
    "leave-out-in-turn": _ANYWHERE,
    "leave-it-out": _ANYWHERE,
    "load-less": _IN_TENSORFLOW,
    "in-16-bits": Applicability(done=_HALVED),
    "load-once-for-all": _ANYWHERE,
    "see-real-use": _ANYWHERE,
    "without-clearing": Applicability(_OF_JAX, devices=_ON_GPU),
    "set-before-import": Applicability(_OF_JAX, devices=_ON_GPU),
    "what-ended-it": _ANYWHERE,
    "as-advised": Applicability(shell=True),
    "what-differs": _ANYWHERE,
    "compare-both-ways": _ANYWHERE,
    "data-on-the-host": _ANYWHERE,
    "less-optimizer-state": _ANYWHERE,
    "read-the-analysis": _ANYWHERE,
    "growth-on-a-board": Applicability(_TENSORFLOW, done="allow_growth=True"),
    "smaller-replay": _ANYWHERE,
    "project-before-gather": _TENSORFLOW_CODE,
    "write-less": _TENSORFLOW_CODE,
    "fewer-repetitions": _ANYWHERE,
    "fewer-rows-at-once": _ANYWHERE,
    "one-repetition-at-a-time": Applicability(_TENSORFLOW, session=False),
    "tape-per-part": Applicability(_TENSORFLOW, session=False),
    "fewer-gathered-steps": _ANYWHERE,
    "lower-setting": _ANYWHERE,
    "count-the-data": _ANYWHERE,
    "graph-of-its-own": _TENSORFLOW_CODE,
    "ops-once": _TENSORFLOW_CODE,
    "smaller-queues": Applicability(devices=_HOST),
    "results-in-parts": Applicability(devices=_HOST),
    "look-at-resident": _ANYWHERE,
    "delete-textures": Applicability(program=frozenset({"Node", "TensorFlow.js"}), shell=True),
    "close-models": Applicability(program=frozenset({"Java", "C++", "C#"}), shell=True),
    "predict-in-pieces": _TENSORFLOW_CODE,
    "smaller-output": _ANYWHERE,
    "evaluation-in-batches": _TENSORFLOW_CODE,
    "shuffle-before-batch": Applicability(_TENSORFLOW, devices=_HOST),
    "smaller-shuffle": Applicability(_TENSORFLOW, devices=_HOST),
    "one-model-at-a-time": _TENSORFLOW_CODE,
    "load-before-training": _IN_TENSORFLOW,
    "one-batch-at-a-time": _TENSORFLOW_CODE,
    "smaller-model": _ANYWHERE,
    "other-backbone": _ANYWHERE,
    "freeze-weights": Applicability(_TENSORFLOW, training=True, session=False, python=True),
    "find-the-layer": _TENSORFLOW_CODE,
    "fewer-texts": _TENSORFLOW_CODE,
    "narrower-layer": _ANYWHERE,
    "pool-first": _TENSORFLOW_CODE,
    "fewer-features": _ANYWHERE,
    "split-buffer": _ANYWHERE,
    "smaller-map": _ANYWHERE,
    "shard-arguments": _ANYWHERE,
    "shard-the-batch": Applicability(_OF_JAX),
    "list-shardings": Applicability(_OF_JAX),
    "fewer-saved": Applicability(_OF_JAX),
    "smaller-kernel-blocks": Applicability(devices=frozenset({TPU})),
    "larger-vmem": Applicability(devices=frozenset({TPU})),
    "offload-less": Applicability(devices=frozenset({TPU})),
    "aligned-shapes": Applicability(devices=frozenset({TPU})),
    "clip-per-variable": _IN_TRAINING,
    "single-precision": _TENSORFLOW_CODE,
    "dense-allreduce": _IN_TENSORFLOW,
    "keep-slices": Applicability(_TENSORFLOW, training=True),
    "fewer-segments": Applicability(_TENSORFLOW),
    "penalty-on-rows": Applicability(_TENSORFLOW, training=True),
    "without-penalty": Applicability(_TENSORFLOW, training=True),
    "sparse-updates": Applicability(_TENSORFLOW, training=True),
    "table-on-host": Applicability(_TENSORFLOW, devices=_ACCELERATORS),
    "draw-masks-again": Applicability(_OF_JAX, training=True),
    "cheaper-draws": Applicability(_OF_JAX, training=True),
    "drop-channels": Applicability(training=True, code=_TENSORFLOW),
    "blockwise-attention": _ANYWHERE,
    "flash-attention-jax": Applicability(_OF_JAX, devices=_ON_GPU),
    "matrix-product": _TENSORFLOW_CODE,
    "sort-instead": _TENSORFLOW_CODE,
    "one-shape": _TENSORFLOW_CODE,
    "one-shape-jax": Applicability(_OF_JAX),
    "in-blocks": _ANYWHERE,
    "rows-times-numbers": _ANYWHERE,
    "thin-factors": _ANYWHERE,
    "unstack-once": Applicability(_TENSORFLOW, training=True),
    "recompute-turns": Applicability(_TENSORFLOW, training=True),
    "number-the-ids": _TENSORFLOW_CODE,
    "not-trainable": Applicability(_TENSORFLOW, training=True),
    "broadcast-a-fill": _TENSORFLOW_CODE,
    "sampled-loss": Applicability(training=True, code=_TENSORFLOW),
    "sparse-labels-alone": _TENSORFLOW_CODE,
    "own-validation-data": _TENSORFLOW_CODE,
    "one-model-on-the-cpu": Applicability(_TENSORFLOW, devices=_ACCELERATORS),
    "cap-the-batch": _ANYWHERE,
    "signature-in-parts": _TENSORFLOW_CODE,
    "sparse-process": _TENSORFLOW_CODE,
    "fewer-points": _ANYWHERE,
    "flat-before-dense": _TENSORFLOW_CODE,
    "integer-ids": _TENSORFLOW_CODE,
    "embed-the-feature": _TENSORFLOW_CODE,
    "keep-inputs-as-they-are": _TENSORFLOW_CODE,
    "shorter-sequences": _ANYWHERE,
    "sparse-labels": Applicability(training=True, code=_TENSORFLOW),
    "part-of-positions": _ANYWHERE,
    "smaller-vocabulary": _ANYWHERE,
    "one-product": _ANYWHERE,
    "look-up-by-index": Applicability(devices=_WITH_BFC, code=_TENSORFLOW),
    "check-the-matrix": _ANYWHERE,
    "convolution-for-patches": _TENSORFLOW_CODE,
    "stride-patches": _ANYWHERE,
    "smaller-window": _ANYWHERE,
    "lower-constant": _ANYWHERE,
    "lower-a-factor": _ANYWHERE,
    "one-image-at-a-time": _TENSORFLOW_CODE,
    # Of convolutions on the CPU, and of what runs side by side.
    "smaller-layer-input": _ANYWHERE,
    "smaller-kernel": _ANYWHERE,
    "fewer-channels": _ANYWHERE,
    "dense-for-1x1x1": Applicability(_TENSORFLOW, devices=_HOST),
    "depth-to-space": Applicability(_TENSORFLOW, devices=_HOST),
    "split-volume": _ANYWHERE,
    "smaller-cache": Applicability(_TENSORFLOW, devices=_HOST),
    "onednn": Applicability(
        _TENSORFLOW, since=(2, 5), devices=_HOST, done="TF_ENABLE_ONEDNN_OPTS=True"
    ),
    "one-op-at-a-time": Applicability(_TENSORFLOW, devices=_HOST | _ON_GPU, done=_ONE_THREAD),
    "smaller-temporary": _ANYWHERE,
    # Of the layout pass.
    "batch-norm-training": Applicability(_TENSORFLOW, since=(1, 4), devices=_WITH_BFC, training=True),
    "batch-norm-fused": _IN_THE_LAYOUT_PASS,
    "one-layout": Applicability(_TENSORFLOW),
    "channels-first": Applicability(_TENSORFLOW, devices=frozenset({GPU}), done="data_format=channels_first"),
    "native-layout": Applicability(
        _TENSORFLOW, since=(1, 4), devices=_WITH_BFC,
        done="data_format=channels_first|layout_optimizer=(?:OFF|False)",
    ),
    "static-rank": _IN_THE_LAYOUT_PASS,
    "keep-axes": _IN_THE_LAYOUT_PASS,
    "place-on-gpu": _IN_THE_LAYOUT_PASS,
    "apply-gradients": _IN_THE_LAYOUT_PASS,
    "pass-off": _IN_THE_LAYOUT_PASS,
    "replace-op": _IN_THE_LAYOUT_PASS,
    "tensor-cores": Applicability(
        _TENSORFLOW, since=(1, 15), devices=_ON_GPU, wide=True, done=_HALVED
    ),
}  # fmt: skip
"""Every remedy, by slug."""


_TOOLS = {
    "vendor=DirectML": r"Get-Counter '\GPU Process Memory(*)\Dedicated Usage'   # or the Task Manager",
    "vendor=AMD": "rocm-smi",
    "platform=Jetson": "tegrastats   # top says which process it is",
    "platform=Mac": "top -o mem   # or Activity Monitor, Memory",
}
"""What shows who holds the memory, where no `nvidia-smi` is."""


_FUSED = "implementation='cudnn'"
_IN_BLOCKS_THERE = (
    "let attention scores never be held whole: go through the queries in blocks, and let the backward pass"
    " compute each again (cuDNN's fused attention needs an Ampere GPU or newer, which this is not)"
)
_BLOCKS_CODE = "out = jax.lax.map(jax.checkpoint(lambda q: attend(q, k, v)), q_blocks)"
"""Attention that runs on every GPU."""
_WHERE_FIT_IS_CALLED = {
    "tidy": Remedy(
        "dispose of what is made for the training: xs and ys, where fit is given tensors, when it is done,"
        " and each tensor of a callback, a loss or a step of your own, which tidy() round it does; fit frees"
        " what it makes itself",
        "xs.dispose(); ys.dispose();   // watch tf.memory().numTensors",
        slug="tidy",
    )
}
"""What takes the place of advice for predictions."""
_AROUND_AWAIT = {
    "tidy": Remedy(
        "dispose of each tensor that a call makes (the input and its casts and resized copies, every output)"
        " when its values are read: TensorFlow.js keeps tensors until then, and tidy() does not reach over an"
        " await",
        "tf.dispose([img, small, ...out]);   // watch tf.memory().numTensors",
        slug="tidy",
    )
}
"""What takes the place of tidy() where the program awaits its model."""
_OF_UNIX = regex(r"(?:dmesg|free|ulimit|swapon|df|ls|sudo|sysctl|LD_PRELOAD)\b")


def _on_windows(code: str | None) -> str | None:
    """The same for Windows: variables are set there, and Unix's tools are not there."""
    if code is None or _OF_UNIX.match(code):
        return None
    return f"set {code.removeprefix('export ')}" if code.startswith("export ") else code


_NO_COUNTS = "XLA_PYTHON_CLIENT_ALLOCATOR=platform"
"""Under it JAX asks the driver for each array and counts nothing: memory_stats() gives None."""
_COUNTS = ".memory_stats()"
_SEEN_OUTSIDE = "nvidia-smi   # memory_stats() is None with the platform allocator; jax.live_arrays() is not"


def applies(slug: str, case: Case, moment: Moment) -> bool:
    """Whether the remedy of this slug applies to what the case shows."""
    return TABLE[slug].holds(situation(case, moment))


def applicable(remedies: Iterable[Remedy], run: Situation) -> tuple[Remedy, ...]:
    """Those of these remedies that apply to the run, with code only where it runs there."""
    if tool := next((tool for setting, tool in _TOOLS.items() if setting in run.settings), None):
        remedies = [
            replace(remedy, code=tool) if remedy.code == "nvidia-smi" else remedy for remedy in remedies
        ]
    if "fused_attention=none" in run.settings:
        remedies = [
            replace(remedy, text=_IN_BLOCKS_THERE, code=_BLOCKS_CODE)
            if _FUSED in (remedy.code or "")
            else remedy
            for remedy in remedies
        ]
    if "platform=Mac" in run.settings:
        remedies = [remedy for remedy in remedies if not (remedy.code or "").startswith("dmesg")]
    if "platform=Windows" in run.settings:
        remedies = [replace(remedy, code=_on_windows(remedy.code)) for remedy in remedies]
    if "calls=await" in run.settings:
        remedies = [_AROUND_AWAIT.get(remedy.slug, remedy) for remedy in remedies]
    if "calls=fit" in run.settings:
        remedies = [_WHERE_FIT_IS_CALLED.get(remedy.slug, remedy) for remedy in remedies]
    if _NO_COUNTS in run.settings:
        remedies = [
            replace(remedy, code=_SEEN_OUTSIDE) if _COUNTS in (remedy.code or "") else remedy
            for remedy in remedies
        ]
    declared = [(remedy, TABLE.get(remedy.slug, _ANYWHERE)) for remedy in remedies]
    return tuple(
        remedy
        if where.runs_code(run) and (not run.tool or edits_no_program(remedy))
        else replace(remedy, code=None)
        for remedy, where in declared
        if where.holds(run) and remedy.slug not in run.ruled_out
    )
