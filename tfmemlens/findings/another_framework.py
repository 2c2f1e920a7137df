"""Memory ran out in another framework, or what ran out or crashed was no memory of TensorFlow's.

What it means: PyTorch, CuPy and others have allocators of their own, whose messages hold other figures. A
segmentation fault is a crash: TensorFlow reports a lack of memory as an error, as a rule. `Resource
exhausted` is also what TensorFlow says of a full disk or a message that is too large.
When it fires: the log has such a line, and no failure of TensorFlow, JAX or XLA.
What to do: look with that framework's own tools.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from tfmemlens.findings import ended_after_a_warning
from tfmemlens.findings.support import code_snippets, kernel_blocks, own_gpu, part_for_jax, remedies
from tfmemlens.findings.support.contrasted import ended_by, without
from tfmemlens.findings.support.cuda_libraries import ask_for_a_gpu
from tfmemlens.findings.support.heaps import OF_HOST_RAM, TENSTORRENT, of_a_heap
from tfmemlens.findings.support.heartbeats import OF_A_HEARTBEAT, after_a_silence, who_was_silent
from tfmemlens.findings.support.made_and_run import makes_and_runs
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import JAVASCRIPT
from tfmemlens.findings.support.read_whole import read_whole
from tfmemlens.findings.support.remedies import BUILD_ONCE, FIND_THE_NAN
from tfmemlens.findings.support.rows import shortened
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    TORCH_XLA,
    framework_name,
    framework_of,
    on_windows,
    situation,
)
from tfmemlens.findings.support.small_machine import small_machine
from tfmemlens.findings.support.traceback_place import of_the_traceback
from tfmemlens.findings.told_in_words import surely_of_memory
from tfmemlens.model.capture import OWN_FRAME, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, parse_size
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_TOOLS = {
    "PyTorch": "print(torch.cuda.memory_summary())   # torch.cuda.memory._snapshot() names who holds it"
}
_OF_MPS = (
    "print(torch.mps.current_allocated_memory() >> 20, torch.mps.driver_allocated_memory() >> 20, 'MiB')"
)
"""The same on a Mac, whose GPU is not CUDA's."""
_WITHOUT_A_POOL = ("JCuda", "PyCUDA", "Numba")
"""What asks the driver for each buffer: others fill the GPU as likely as the program."""
_NOT_ON_THE_GPU = ("Java", "JavaScript", "R", "OpenCV", TENSTORRENT, OF_HOST_RAM)
_A_COMPILER = "a compiler was killed"
_PREPARE = "could not prepare the model"
_NO_START = "let this process start on no GPU"
_TOO_LATE = "came after TensorFlow had started the GPU"
_OUTSIDE = "reached outside its memory"
_UNFINISHED = "did not finish a command buffer"
_IN_32_BITS = "where 32 bits hold it"
_OF_A_SOLVER = "a solver of differential equations"
_OF_THREADS = "no further thread"
_A_CALL = "a call of the cloud function"
_KIND_OF_GPU = "does not know this kind of GPU"
_OF_RAY = "Ray had no disk left"
_SHOWED_NO_GPU = "CUDA showed JAX no GPU"
_NOT_READ = "a checkpoint could not be read"
_HELP = {
    own_gpu.TWO_GPUS: own_gpu.ONE_CONFIGURATION,
    _A_COMPILER: remedies.FEWER_COMPILERS,
    _UNFINISHED: Remedy(
        "learn whether it is a matter of size: run it with a batch of 1 and fewer channels, with Activity"
        " Monitor open (its RAM is the GPU's, too, and one that swaps is slow), and once on the CPU. Where"
        " the small run goes well, make each step smaller; where it fails as well, take another release of"
        " the plug-in for Metal, with the release of the framework that it names",
        "JAX_PLATFORMS=cpu python train.py   # TensorFlow: tf.config.set_visible_devices([], 'GPU')",
        slug="smaller-input",
    ),
    "a test expects an out-of-memory error": Remedy(
        "let the test ask for the error's class alone: the words differ between ops, devices and releases"
        " (some say `failed to allocate memory`, some `OOM when allocating tensor`), and a request that no"
        " device can hold may be refused before it is made",
        "with pytest.raises(tf.errors.ResourceExhaustedError): ...",
        slug="mend-the-error",
    ),
    "file that it was to write": Remedy(
        "see whether the folder exists and may be written to, its disk has room, and how many files the"
        " process may open",
        "df -h .; ulimit -n; ls -ld logs",
        slug="room-for-files",
    ),
    "file of a checkpoint": Remedy(
        "see which is full: the disk, its inodes (df -i), the quota, or how many files the process may open;"
        " free it, or write elsewhere; keep fewer checkpoints",
        "df -h .; df -i .; quota -s; ulimit -n   # tf.train.Saver(max_to_keep=3)",
        slug="room-for-files",
    ),
    "a file could not be written": Remedy(
        "free the disk or raise the quota, or write elsewhere",
        "df -h .; quota -s",
        slug="room-for-files",
    ),
    "the disk quota was used up": Remedy(
        "free what the quota counts, or write to another file system (of a tuner: directory=); keep fewer"
        " checkpoints. `df` shows room though the quota is full",
        "quota -s; du -sh *   # tf.train.CheckpointManager(ckpt, folder, max_to_keep=3)",
        slug="room-for-files",
    ),
    "opened no port": Remedy(
        "let the server listen on the port that the platform gives it, on all addresses, and load the model"
        " after that, or make what it imports and loads smaller, so that it is ready in time",
        "gunicorn --bind 0.0.0.0:$PORT app:app   # app.run(host='0.0.0.0', port=int(os.environ['PORT']))",
        slug="listen-in-time",
    ),
    "did not answer a probe": Remedy(
        "give it time: a startup probe for as long as its model loads, and a liveness probe with a longer"
        " timeout and more failures, since a server that computes answers late. Where it then ends as"
        " OOMKilled, it is memory after all",
        "startupProbe: {failureThreshold: 60, periodSeconds: 10}   # livenessProbe: timeoutSeconds: 10",
        slug="listen-in-time",
    ),
    "ended a worker itself": Remedy(
        "give it a longer timeout, load the model before requests come, and start few workers: each loads its"
        " own model, and where they fill the RAM the machine swaps and gets as slow",
        "gunicorn --timeout 300 --workers 1 --threads 4 app:app   # meanwhile: free -h",
        slug="listen-in-time",
    ),
    "its time was over": Remedy(
        "ask for more time, or save checkpoints and go on from the last one in the next job",
        "sbatch --time=24:00:00 job.sh",
        slug="more-time",
    ),
    "ran different programs": Remedy(
        "let every process call the same jitted functions in the same order, as often: the same number of"
        " batches on each host, and no step, evaluation or save that only one process runs",
        "print(jax.process_index(), step, jax.tree.map(jnp.shape, batch))   # on every host; compare",
        slug="same-on-every-host",
    ),
    "the server did not start": Remedy(
        "allow shorter texts: the cache of one request grows with its length; or spread weights and cache"
        " over more devices, or keep the cache in 8 bits",
        "--max-model-len 8192   # --kv-cache-dtype fp8; --tensor-parallel-size 8",
        slug="shorter-requests",
    ),
    "libdevice": Remedy(
        "tell XLA where CUDA lies: the folder that has nvvm/libdevice below it",
        "export XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda",
        slug="matching-driver",
    ),
    "too many files": Remedy(
        "raise the number of files that the process may open, or open fewer at once (interleave's"
        " cycle_length, workers, files that a generator leaves open)",
        "ulimit -n 65535",
        slug="more-open-files",
    ),
    _OF_RAY: Remedy(
        "let Ray's objects lie on a disk with room, or keep fewer of them: what is put into its store (data"
        " that are given to tasks or trials, what they return) stays, first in RAM and then on disk, as long"
        " as a reference to it is held; what earlier sessions left there can be deleted",
        "df -h /tmp/ray; ray memory   # then: ray.init(_temp_dir='/scratch/ray'); del old_refs",
        slug="room-for-files",
    ),
    "or its inodes": Remedy(
        "see whether the file system of that path has room and inodes left, and how many files the process"
        " may open; delete what earlier runs left there, or let it write elsewhere (tfdbg: dump_root=)",
        "df -h /tmp; df -i /tmp; ulimit -n",
        slug="room-for-files",
    ),
    "disk was full": Remedy(
        "free the disk, or write elsewhere; keep fewer checkpoints",
        "df -h   # which is full? CheckpointManager(..., max_to_keep=3)",
        slug="room-for-files",
    ),
    _OF_THREADS: Remedy(
        "run fewer threads and processes (workers of the input pipeline, jobs on the same machine), or raise"
        " the limit: of the user, and of the container's processes; now and then host RAM is what is missing",
        "ulimit -u; cat /sys/fs/cgroup/pids.max",
        slug="fewer-threads",
    ),
    "failed in NCCL": Remedy(
        "give the container more shared memory, or that of its host, and let it lock memory; with"
        " NCCL_DEBUG=WARN, NCCL's own line names the call that failed (a file in /dev/shm, an interface of"
        " the network)",
        "docker run --shm-size=1g --ulimit memlock=-1 ...   # or --ipc=host; look: df -h /dev/shm",
        slug="more-shared-memory",
    ),
    "shared memory between worker processes": Remedy(
        "give the container more shared memory, or use fewer worker processes",
        "docker run --shm-size=8g ...",
        slug="more-shared-memory",
    ),
    "cloud service's quota": Remedy(
        "where it counts requests, send fewer at a time and try again after a pause that grows; else take"
        " another region, model or kind of machine that the project may use, or ask for a larger quota. A"
        " device's memory has no part in it",
        slug="larger-quota",
    ),
    "NaN or infinite": FIND_THE_NAN,
    _PREPARE: Remedy(
        "convert the model with a converter of the runtime's own release or an older one, with one fixed"
        " shape of the input, and see in Python whether it loads there",
        "tf.lite.Interpreter(model_path='model.tflite').allocate_tensors()   # names the op that fails",
        slug="convert-anew",
    ),
    "a file of TensorFlow Lite may hold": Remedy(
        "keep the weights in 16 or 8 bits, or convert the model in parts (encoder and decoder); more RAM"
        " changes nothing",
        "converter.optimizations = [tf.lite.Optimize.DEFAULT]",
        slug="convert-anew",
    ),
    _KIND_OF_GPU: Remedy(
        "see which ptxas comes first on PATH (a warning like `ptxas does not support CC ...` names the GPU's"
        " compute capability): take one of a CUDA that knows this GPU, with a driver that is as new, or the"
        " wheels that bring CUDA with them",
        "which -a ptxas; ptxas --version; nvidia-smi --query-gpu=name,compute_cap --format=csv",
        slug="matching-driver",
    ),
    "could not start CUDA's assembler": Remedy(
        "see whether the program finds a ptxas that starts on this machine, of the CUDA that jaxlib was built"
        " for (32512 means that none was found)",
        "export PATH=/usr/local/cuda/bin:$PATH; ptxas --version",
        slug="matching-driver",
    ),
    "bus error": Remedy(
        "see whether /dev/shm or a disk is full; a container has 64 MiB of shared memory unless told"
        " otherwise",
        "df -h /dev/shm .   # docker run --shm-size=8g ...",
        slug="more-shared-memory",
    ),
    "that a graph may hold": Remedy(
        "keep the data out of the graph: read it in batches with tf.data from files or a generator, or feed"
        " one batch at a time",
        "ds = tf.data.Dataset.from_generator(batches, tf.float32)   # TF 1.4+",
        slug="data-out-of-the-graph",
    ),
    "max_model_size": Remedy(
        "allow larger models, or let the search propose smaller ones (fewer units, fewer layers, smaller"
        " images): the log names how many parameters each had",
        "kt.Hyperband(build, max_model_size=5_000_000, ...)",
        slug="smaller-model",
    ),
    "gRPC's limit": Remedy(
        "raise the limit of the side that refused the message (the error's stack shows which), or send less"
        " at a time: of data fewer samples or smaller numbers such as uint8, of weights float16",
        "options=[('grpc.max_receive_message_length', -1)]   # of the channel",
        slug="larger-message",
    ),
    "turned a request away": Remedy(
        "let fewer requests wait at once: bound what the clients send side by side, let them try again after"
        " a pause, and let the server's queue take more (of TensorFlow Serving: max_enqueued_batches,"
        " num_batch_threads). See at which number of clients it begins",
        "max_enqueued_batches { value: 1000 }   # --batching_parameters_file",
        slug="bound-requests",
    ),
    "keeps no statistics": Remedy(
        "take the setting away, or take TensorFlow 2.6 or newer; whether the run then lacks memory is another"
        " matter",
        "unset TF_GPU_ALLOCATOR   # and out of .Renviron, .bashrc, the container",
        slug="other-allocator",
    ),
    "one message may hold": Remedy(
        "keep data out of the graph: feed it through a placeholder, or read it with tf.data; of a model that"
        " is frozen or converted, whose weights become constants of the graph: save a SavedModel, whose"
        " variables lie in files of their own, or convert weights of 16 bits",
        "sess.run(train_op, feed_dict={x: batch})",
        slug="data-out-of-the-graph",
    ),
    "cuDNN's version": Remedy(
        "install the cuDNN that this version was built with, or a newer one of the same major release, and"
        " let no other come first on the library path; in a notebook of a service whose cuDNN is older, take"
        " a TensorFlow that was built with that one",
        slug="matching-driver",
    ),
    "exportable allocation": Remedy(
        "let JAX allocate with CUDA's own pool, or stay with the release before, until this is mended",
        "export XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
        slug="another-allocator",
    ),
    "driver is too old": Remedy(
        "update the GPU's driver, or install a build for an older CUDA", slug="matching-driver"
    ),
    _NO_START: Remedy(
        "see the GPU's compute mode, and which numbers this process may use: in Exclusive_Process one process"
        " has a GPU for itself, so give each process one of its own, or let the cluster's administrator set"
        " Default or start MPS, and only then share out its memory. A batch system may show each task other"
        " GPUs, and numbers that begin at 0 in each",
        "nvidia-smi --query-gpu=index,compute_mode --format=csv; echo $CUDA_VISIBLE_DEVICES",
        slug="compute-mode",
    ),
    _SHOWED_NO_GPU: Remedy(
        "see whether the driver works where the program runs: nvidia-smi on the machine, then in the"
        " container or virtual machine. A container is given GPUs at its start (--gpus all, --nv), a virtual"
        " machine by passthrough; a driver that was just updated, or nvidia-uvm that is not loaded, need a"
        " restart",
        "nvidia-smi; echo $CUDA_VISIBLE_DEVICES; ls -l /dev/nvidia*   # docker run --gpus all ...",
        slug="matching-driver",
    ),
    "are of different releases": Remedy(
        "restart the machine: after an update of the driver the old one runs on until then. If they still"
        " differ, remove what is left of the other release, so that one libcuda is there",
        "cat /proc/driver/nvidia/version; ldconfig -p | grep libcuda",
        slug="matching-driver",
    ),
    "refused the sizes": Remedy(
        "give it a smaller matrix, or other numbers; where a release took this size before, stay with it and"
        " report the new one",
        slug="newer-release",
    ),
    "another process of the job ended": Remedy(
        "find the process that ended first: its last lines, its exit status or the kernel's log say why (137:"
        " killed, as a rule for host RAM)",
        "dmesg -T | grep -i -E 'killed process|xid'",
        slug="who-ended-it",
    ),
    "holds the TPU": Remedy(
        "see who holds it, and end that process where it is your own and no longer wanted (an earlier run, a"
        " notebook's kernel); only where no such process is left, remove the lock file",
        "sudo lsof -w /dev/accel* /dev/vfio/*   # none left: sudo rm /tmp/libtpu_lockfile",
        slug="free-the-tpu",
    ),
    "one process at a time may use it": Remedy(
        "where both programs are wanted (a trainer and a server of its rollouts), run them in one process, or"
        " give each chips of its own before it starts JAX; no setting of memory lets two share a chip",
        "TPU_VISIBLE_CHIPS=0,1 TPU_PROCESS_BOUNDS=1,1,1 TPU_CHIPS_PER_PROCESS_BOUNDS=1,2,1 python a.py",
        slug="chips-of-its-own",
    ),
    "of the job connected": Remedy(
        "start as many processes as num_processes says, each with a process_id of its own (from 0 on) and the"
        " same coordinator_address, which all must reach; on one machine leave the call out: one process"
        " drives all its GPUs",
        "jax.distributed.initialize('host0:8476', num_processes=2, process_id=rank)",
        slug="start-all-processes",
    ),
    "reach a barrier": Remedy(
        "find the process that ended or hung: its last lines, its exit status or the kernel's log say why"
        " (137: killed, as a rule for host RAM)",
        "dmesg -T | grep -i -E 'killed process|xid'",
        slug="who-ended-it",
    ),
    "could not be started": Remedy(
        "read what was logged above it: the driver's own error (CUDA_ERROR_...) and, in the kernel's log, an"
        " Xid say why; a smaller input tells whether its size has to do with it",
        "dmesg -T | grep -i xid; export CUDA_LAUNCH_BLOCKING=1",
        slug="blocking-launches",
    ),
    "counts a tensor's elements": Remedy(
        "keep the product of each tensor's sizes below 2,147,483,648: fewer samples in a batch, smaller"
        " patches (tiles, where a large image is predicted) or fewer channels in that layer; for more samples"
        " in one update accumulate gradients. A machine with more memory changes nothing",
        slug="fewer-elements",
    ),
    _IN_32_BITS: Remedy(
        "let no single call count so many elements: reduce one axis after the other, or add up and divide by"
        " a float; newer releases of JAX count in floats here. A smaller batch helps only where it takes the"
        " count below 2,147,483,648, and more memory changes nothing",
        "mean = jnp.sum(x) / float(x.size)   # or x.mean(-1).mean(-1).mean(); std: of (x - mean)**2",
        slug="fewer-elements",
    ),
    _OF_A_SOLVER: Remedy(
        "print how many steps the solver takes, and the norm of the weights, while it trains: where both"
        " rise, the system became stiff or diverged (lower learning rate, clipped gradients, a bounded vector"
        " field). Else looser tolerances, or a solver for stiff systems. More max_steps only where the solve"
        " is fine and long: memory grows with them",
        "sol = diffrax.diffeqsolve(..., throw=False); print(sol.stats['num_steps'], sol.result)",
        slug="mend-the-error",
    ),
    _TOO_LATE: Remedy(
        "set it first in every process that uses the GPU, before whatever makes a model or a tensor, an"
        " import of yours as well; or in the environment of all these processes, where no order matters",
        "export TF_FORCE_GPU_ALLOW_GROWTH=true   # of Ray's workers: runtime_env={'env_vars': {...}}",
        slug="growth-at-first",
    ),
    _A_CALL: Remedy(
        "give the function more time, and see which part takes it: log before and after the model is loaded,"
        " and round the call. Load it once, outside of the handler, from files in the package or image: a"
        " model that is fetched hangs where the function has no way to the network",
        slug="more-time",
    ),
    "the data ended before": Remedy(
        "leave the number of steps to the data, or ask for no more than it gives (samples / batch), or let"
        " the generator begin again",
        "model.fit(ds.repeat(), steps_per_epoch=len(x) // batch, epochs=40)   # or without steps_per_epoch",
        slug="as-many-steps",
    ),
    "crashed or reached": Remedy(
        "read what the driver logged: an Xid of 13 or 31 is a program's, 48, 63, 74, 79 or 94 the card's. A"
        " fault that comes at another step each time, or on one machine alone, is often the card's memory,"
        " its heat or an overclock: run the same on another GPU, or slower",
        "nvidia-smi -q -d TEMPERATURE,ECC   # the log: dmesg -T | grep -i xid; on Windows nvlddmkm's events",
        slug="log-the-hardware",
    ),
    "watchdog of a GPU with a display": Remedy(
        "let a GPU without a display compute, or stop the desktop; on Windows a longer limit (TdrDelay, in"
        " seconds, then restart) helps as well, and anywhere a smaller batch: each kernel is shorter then."
        " Where no display hangs on it, the driver's log says whether the card failed",
        "nvidia-smi -q | grep -i display   # without a desktop: sudo systemctl isolate multi-user.target",
        slug="log-the-hardware",
    ),
    "opens a window": Remedy(
        "draw into a file (matplotlib's Agg), leave the window out, or give the shell a display",
        "MPLBACKEND=Agg python train.py   # or: ssh -X host; xvfb-run python train.py",
        slug="mend-the-error",
    ),
    "more registers or threads": Remedy(
        "let the op that fails run on the CPU (its name stands in the path of the .cu.cc file), or take"
        " a build"
        " of TensorFlow that was made for this GPU, or a newer one: a smaller model or another setting of"
        " memory changes nothing",
        "with tf.device('/CPU:0'): y = tf.image.resize(x, size)   # the op of your log",
        slug="op-on-the-cpu",
    ),
    "not of its device or context": Remedy(
        "look at the op or library with CUDA code of its own (a custom op, a plug-in): it has to work on the"
        " device and the stream that TensorFlow gives it. Where only GPUs other than the first fail, let the"
        " process see the one that it uses alone, which is its number 0 then",
        "CUDA_VISIBLE_DEVICES=1 python train.py   # in the kernel: ctx->eigen_device<GPUDevice>().stream()",
        slug="one-device-each",
    ),
    "another size than the model's input": Remedy(
        "compare the bytes of each buffer with the shape and the type of the model's tensors, of outputs as"
        " well (a picture of 224 x 224 in float32: 1 x 224 x 224 x 3 x 4 bytes). Where they agree, try a"
        " newer release of the delegate, or the CPU, which says more of what it was given",
        "interpreter.getInputTensor(0).shape(); ....dataType(); ....numBytes()",
        slug="matching-input",
    ),
    "shut down while": Remedy(
        "close the session, and stop queue runners and other threads, before the program ends: what was"
        " computed and saved until then is complete",
        "coord.request_stop(); coord.join(threads); sess.close()",
        slug="mend-the-error",
    ),
    "a check inside a kernel": Remedy(
        "start the process (a notebook's kernel) anew, since CUDA is of no more use to this one, and let each"
        " launch be waited for: then the call that fails first is the one that is wrong. Check there that"
        " labels and indices lie within the number of classes or rows. A cell of another framework in the"
        " same process (PyTorch) may be the one",
        "export CUDA_LAUNCH_BLOCKING=1   # in a notebook: os.environ, above all imports",
        slug="blocking-launches",
    ),
    _OUTSIDE: Remedy(
        "find the kernel: let every launch be waited for, and read which op fails",
        "export CUDA_LAUNCH_BLOCKING=1",
        slug="blocking-launches",
    ),
}
"""What helps against what is no lack of memory, by words of what it is."""
_ADDRESS = regex(r"CUDA_ERROR_(?:ILLEGAL_ADDRESS|MISALIGNED_ADDRESS|ILLEGAL_INSTRUCTION)")
_OF_AN_ADDRESS = Remedy(
    "try other releases first: the newest jaxlib or TensorFlow with the CUDA that it was built for, a driver"
    " that is new enough for that, and no other CUDA on the library path (compilers before CUDA 11.1 made"
    " kernels that end so). A call that comes later than the faulty kernel may report it: wait for each"
    " launch, to see which op it is",
    "CUDA_LAUNCH_BLOCKING=1 python train.py   # then: pip list | grep -i -E 'jax|tensorflow|nvidia'",
    slug="newer-release",
)


def _of_an_address(case: Case, line: Line) -> Iterator[Remedy]:
    """What helps where a kernel reached outside its memory: an op that the text names comes first."""
    if not _ADDRESS.search(line.text):
        return
    own = case.capture.surroundings.shows("an op of its own")
    if own and own != line:
        yield Remedy(
            f"look at the op with CUDA code of its own first ({own.place}): leave it out or run it on the CPU"
            " to see whether it is the one, build it anew for the TensorFlow, CUDA and GPU of this machine,"
            " and let the sanitizer find where it reaches outside",
            "compute-sanitizer python train.py",
            slug="one-op-less",
        )
    yield _OF_AN_ADDRESS


def _in_node(case: Case, remedy: Remedy) -> Remedy:
    """The same for JavaScript, which may compute without its native backend."""
    if remedy is not _HELP[_A_CALL] or situation(case).program not in JAVASCRIPT:
        return remedy
    return replace(
        remedy,
        text=f"{remedy.text}. Plain JavaScript computes many times slower than Node's native backend"
        " (@tensorflow/tfjs-node)",
    )


def _of_a_call(case: Case, what: str) -> str:
    """How little memory a call that ran out of time had taken, as a clause."""
    line = case.capture.surroundings.shows("memory of a call")
    match = _TAKEN.search(line.text) if line and _A_CALL in what else None
    if line is None or match is None:
        return ""
    return f"; it took {int(match['used']):,} of {int(match['limit']):,} MB ({line.place})"


_TAKEN = regex(r"Memory Size: (?P<limit>\d{1,7}) MB\s+Max Memory Used: (?P<used>\d{1,7}) MB")


def check(case: Case) -> Iterator[Finding]:
    if case.moments:
        yield from _crashed_afterwards(case)
        return
    for name, line in case.capture.surroundings.foreign:
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                f"no failure of TensorFlow, JAX or XLA: this out-of-memory message is {_whose(name)},"
                f" whose allocator tfmemlens does not read{_beside(case, name, line)}"
            ),
            evidence=(
                Evidence("the message", line),
                *(Evidence("TensorFlow's part", at) for at in _tensorflow_beside(case, name, line)),
            ),
            remedies=(*_holders(case, line), *_for_another(case, name, line)),
        )
    ended = ended_by(case)
    if ended and _OF_MEMORY.search(ended[1].text):
        ended = None  # of another failure, which was one of memory
    if ended and _WITHOUT_SHARING.search(ended[1].text):
        ended = None  # slower, and what is meant to be mended is the room
    for told_as, line in _without_consequences(case.capture.surroundings.elsewhere):
        what = _of_a_read(case, _of_a_lock(case, told_as, line), line)
        if ended and _OF_A_DISK.search(what) and not _MAKES_ROOM.search(ended[0].text):
            ended = None  # the message itself says what is full
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                f"{_kind(what)}:"
                f" {_in_all(case, what, line)}{_sizes(line)}{_of_a_call(case, what)}"
                f"{_counted(case, line)}{_grew(case, what, line)}"
                f"{_where(case, what, line)}{_memory_besides(case, what, line)}"
                f"{'; ' + ended[1].place + ' says what ended it' if ended else ''}"
            ),
            evidence=(Evidence("the message", line),),
            detail=_NO_SETTING if _ON_CHIP in what else "",
            remedies=(
                *((ended[0],) if ended else ()),
                *(ask_for_a_gpu(case) if _SHOWED_NO_GPU in what else ()),
                *_of_an_address(case, line),
                *((BUILD_ONCE,) if _grew(case, what, line) else ()),
                *((_COMPILED_ONCE,) if _OF_THREADS in what and "LLVM" in line.text else ()),
                *(_smaller_blocks(case) if _ON_CHIP in what else ()),
                *(after_a_silence(line) if OF_A_HEARTBEAT in what else ()),
                *((_FEWER_FILES,) if _NOT_READ in what else ()),
                *((_NO_SHAPE,) if _PREPARE in what and _OF_NO_SHAPE.search(line.text) else ()),
                *(
                    _of_a_message(
                        case,
                        _of_a_pod(
                            case,
                            _on_that_disk(
                                _as_long_as_fits(_of_xla(_in_node(case, remedy), line), line), line
                            ),
                        ),
                        line,
                    )
                    for words, remedy in (*_HELP.items(), *_of_rocm(line))
                    if words in what
                    and not (words == _KIND_OF_GPU and _of_rocm(line))
                    and not (words == _OUTSIDE and _ADDRESS.search(line.text))
                    and not (words == _PREPARE and _OF_NO_SHAPE.search(line.text))
                    and not (words == _A_GRAPH and _grew(case, what, line))
                ),
            ),
        )
    yield from _crash(case)
    yield from _kernel_died(case)


def _of_a_message(case: Case, remedy: Remedy, line: Line) -> Remedy:
    """The limit of the side that refused it, by the name that the program has for it where it shows one."""
    if remedy.slug != "larger-message":
        return remedy
    named = (_OWN_LIMIT.search(each.text) for each in code_lines(case.capture.surroundings))
    if own := next(filter(None, named), None):
        return replace(remedy, code=f"{own[0]}=2**31 - 1   # on both sides")
    if "Sent message" in line.text:
        return replace(remedy, code="options=[('grpc.max_send_message_length', -1)]   # of the sending side")
    return remedy


_OWN_LIMIT = regex(r"(?<![\w.])(?:grpc_)?max_(?:grpc_)?mess?age_(?:length|size)(?= ?=)")
"""The parameter of a library that is built on gRPC, and sets the channel's options itself."""


def _of_rocm(line: Line) -> tuple[tuple[str, Remedy], ...]:
    """What helps where no code was built for AMD's GPU, which has no ptxas."""
    return (("know this kind of GPU", _BUILT_FOR_THIS),) if _ROCM.search(line.text) else ()


_ROCM = regex(r"\bhipError|\bROCm\b|\bHIP\b")
_BUILT_FOR_THIS = Remedy(
    "compare the GPU's own name (gfx...) with those that the framework was built for, and take a build that"
    " lists it; then run one small operation. A batch, a sequence or a share of memory changes nothing",
    "rocminfo | grep gfx",
    slug="matching-driver",
)
_OF_A_DISK = regex(r"\bdisk\b|\binodes\b|\bcheckpoint could not be written\b")
_MAKES_ROOM = regex(
    r"(?i)\b(?:dis[ck]s?|drives?|volumes?|space|quota|inodes?|free(?:d|ing)?|delet\w+|clean\w*|clear\w*"
    r"|mount\w*|partition\w*|tmp|tempdir|another (?:folder|directory|path)|checkpoints?|\d+ ?[GT]i?B?)\b"
)
_DISK, _NEAR_A_LOCK = "the disk was full", 12
_NO_SHARED_MEMORY = "the shared memory between worker processes (/dev/shm) was too small"
_ERRNO = regex(r"\[Errno 28\]")


def _of_a_lock(case: Case, what: str, line: Line) -> str:
    """What was full: of a lock between processes it is /dev/shm, whatever the disks have."""
    made = case.capture.surroundings.shows("made between processes")
    near = made and made.source == line.source and abs(made.number - line.number) <= _NEAR_A_LOCK
    return _NO_SHARED_MEMORY if what == _DISK and near and _ERRNO.search(line.text) else what


def _of_a_read(case: Case, what: str, line: Line) -> str:
    """What failed where the message names a file alone: a node that restores reads it, which no full disk
    can stop.
    """
    reads = case.capture.surroundings.shows("reading a checkpoint")
    near = reads and reads.source == line.source and 0 <= reads.number - line.number <= _NEAR_ITS_NODE
    if not (reads and near and "could not be written" in what):
        return what
    return (
        f"{_NOT_READ} ({reads.place}: the node restores): most likely the process had as many files open as"
        " it may"
    )


_NEAR_ITS_NODE = 3
_FEWER_FILES = Remedy(
    "count the files that the process has open, and raise how many it may; where each turn of a loop makes a"
    " model of its own, close what it opened (sessions, writers of events), or give each model a process of"
    " its own. A full disk stops no read, so that freeing it changes nothing",
    "ulimit -n; lsof -p PID | wc -l   # then: ulimit -n 4096",
    slug="more-open-files",
)
_NAMES_NO_FILE = regex(r"\[Errno 28\][^\n:]*\Z|</(?:torch|psm)_\w+>: No space left on device")
"""No file at all, or one that lies in /dev/shm."""
_SHUT_DOWN = "CUDA was shut down while TensorFlow still asked it"


def _without_consequences(told: Sequence[tuple[str, Line]]) -> Iterator[tuple[str, Line]]:
    """The failures without a shutdown of CUDA below another one, which ended the process."""
    for what, line in told:
        others = [at for other, at in told if other != what and at.source == line.source]
        if what == _DISK and _NAMES_NO_FILE.search(line.text) and _NO_SHARED_MEMORY in dict(told):
            continue  # the same error, whose other line says what was full
        if what == _DISK and any(_OF_RAY in other and at.source == line.source for other, at in told):
            continue  # Ray's own message says what filled it
        if not (_SHUT_DOWN in what and any(at.number < line.number for at in others)):
            yield what, line


_COMPILED_ONCE = Remedy(
    "LLVM is the compiler: see whether something is compiled at each step, which is slow and takes threads"
    " each time (a jitted function that is defined anew inside another, a new lambda or shape); nothing"
    " should be after the first steps",
    "jax.config.update('jax_log_compiles', True)   # then jit the outer function, once",
    slug="compile-once",
)
_OF_NO_SHAPE = regex(r"(?i)dim\w*\b[^\n]{0,40}? != \d \(0 != \d\)")
_NO_SHAPE = Remedy(
    "the op's input has 0 dimensions where it needs more: the converter was given no shape for it. Convert"
    " again with the model's own input shape; a smaller model or more RAM changes nothing",
    "--input_shapes=1,224,224,3   # toco, tflite_convert: batch, height, width, channels of your model",
    slug="shape-of-the-input",
)
_SHARED_IN_A_POD = (
    "volumes: [{name: dshm, emptyDir: {medium: Memory}}], volumeMounts: [{name: dshm, mountPath: /dev/shm}]"
)


def _of_a_pod(case: Case, remedy: Remedy) -> Remedy:
    """The same for Kubernetes, which has no --shm-size: a volume in RAM takes the place of 64 MiB."""
    if remedy.slug != "more-shared-memory" or not case.capture.surroundings.shows("in Kubernetes"):
        return remedy
    return replace(
        remedy,
        text="give the pod more shared memory than the 64 MiB that it has unless told otherwise: mount a"
        " volume in RAM there (it counts for the pod's limit of memory), or use fewer worker processes",
        code=_SHARED_IN_A_POD,
    )


_FUSED = regex(r"CUDA kernel: (?P<name>\w*fusion\w{0,40})")
_MADE_BY_XLA = Remedy(
    "the kernel is one that XLA made of the program ({name}), so that no code of yours is in it: take another"
    " jaxlib (the newest, or the one before) with a driver that is new enough for its CUDA, and compare with"
    " the CPU; where it fails with one of them alone, report that with the program",
    'JAX_PLATFORMS=cpu python train.py   # then: pip install -U "jax[cuda12]"',
    slug="newer-release",
)


_CUDNN_OF_JAX = Remedy(
    "take JAX's wheels that bring their own cuDNN, and let no older copy come first on the library path; or"
    " install a cuDNN at least as new as the one that the message names; or a jaxlib that was built for the"
    " one that is there",
    'unset LD_LIBRARY_PATH; pip install -U "jax[cuda12]"',
    slug="matching-driver",
)


def _of_xla(remedy: Remedy, line: Line) -> Remedy:
    """What helps where JAX found another cuDNN, or where the message names a kernel of XLA's own."""
    if "JAX was built against" in line.text and remedy.slug == "matching-driver":
        return _CUDNN_OF_JAX
    match = _FUSED.search(line.text)
    if match is None or remedy.slug != "blocking-launches":
        return remedy
    return replace(_MADE_BY_XLA, text=_MADE_BY_XLA.text.format(name=match["name"]))


_LONGEST = regex(r"estimated maximum model length is (?P<most>\d{2,9})")


def _as_long_as_fits(remedy: Remedy, line: Line) -> Remedy:
    """The same with the length that has room, as a server's message says."""
    match = _LONGEST.search(line.text)
    if remedy.slug != "shorter-requests" or match is None:
        return remedy
    return replace(remedy, code=(remedy.code or "").replace("8192", match["most"], 1))


_OF_TEMPORARY = regex(r"(?<![\w./])(?P<folder>/(?:var/)?tmp)/[\w./-]{1,200}")
_ROOM_FOR_TEMPORARY = Remedy(
    "free the disk of {folder} (`df -i` where it has room: files may have run out), or let temporary files"
    " lie elsewhere: XLA writes some while it compiles",
    "df -h {folder}; export TMPDIR=/scratch/$USER/tmp   # a folder that exists",
    slug="room-for-files",
)


_CACHE = regex(r"(?P<path>[\w./~-]{1,200})_\d{1,5}\.data-\d{5}-of-\d{5}\.tempstate\d")
"""How tf.data names the file of a cache that it has not written to its end; a checkpoint's has no number
before `.data`.
"""
_OF_A_SAVER = regex(r"(?i)ckpt|check_?point|/(?:saved_)?models?(?:/|\b)|weights|SaveV2|\bsave_?\d*/|MergeV2")
"""A checkpoint whose name ends in a step, `ckpt_9000`, has a number there, too."""
_LESS_IN_THE_CACHE = Remedy(
    "the file is what tf.data's cache({path}) writes: every element of an epoch as it stands there (decoded"
    " images take many times their files). Call cache() before they are decoded or enlarged, or not at all,"
    " or name a path on a disk with room; delete the unfinished file. A smaller batch writes as much",
    "df -h {folder}; ls -lh {path}_*   # then: ds.cache(...).map(decode), not ds.map(decode).cache(...)",
    slug="room-for-files",
)


def _of_a_cache(line: Line) -> Remedy | None:
    """What helps where the file that found no room is the cache of a data set."""
    match = _CACHE.search(line.text)
    if match is None or "/part-" in match["path"] or _OF_A_SAVER.search(f"{match['path']} {line.text}"):
        return None
    path = match["path"]
    folder = path.rpartition("/")[0] or "."
    text = _LESS_IN_THE_CACHE.text.format(path=path)
    return replace(
        _LESS_IN_THE_CACHE, text=text, code=(_LESS_IN_THE_CACHE.code or "").format(path=path, folder=folder)
    )


def _on_that_disk(remedy: Remedy, line: Line) -> Remedy:
    """The same of the disk that the message names: that of temporary files is no checkpoint's, nor is that of
    a data set's cache.
    """
    if remedy.slug == "room-for-files" and (cached := _of_a_cache(line)):
        return cached
    match = _OF_TEMPORARY.search(line.text)
    if remedy is _HELP[_OF_RAY]:
        return remedy  # its session lies in /tmp unless told otherwise
    if remedy.slug != "room-for-files" or match is None or _OF_A_CHECKPOINT.search(line.text):
        return remedy
    code = (_ROOM_FOR_TEMPORARY.code or "").format(folder=match["folder"])
    return replace(_ROOM_FOR_TEMPORARY, text=_ROOM_FOR_TEMPORARY.text.format(**match.groupdict()), code=code)


_OF_A_CHECKPOINT = regex(r"(?i)ckpt|checkpoint|tempstate|\.h5\b|events\.out|\.data-\d")


def _where(case: Case, what: str, line: Line) -> str:
    """Where the traceback leads that a kernel's failure ends."""
    own = case.capture.surroundings.shows(OWN_FRAME)
    ended = own and own.source == line.source and own.number < line.number
    told = "kernel" in what or _IN_32_BITS in what
    return of_the_traceback(case.capture.surroundings, deepest=True) if told and ended else ""


_COUNT = regex(r"OverflowError: Python int(?:eger)? (?P<number>\d{10,18})\b")


def _counted(case: Case, line: Line) -> str:
    """The number that was too large, and the array that has so many elements, where the text states it."""
    match = _COUNT.search(line.text)
    if match is None:
        return ""
    number = int(match["number"])
    stated = case.capture.surroundings.sizes
    of = next((each for each in stated if len(each.sizes) > 1 and math.prod(each.sizes) == number), None)
    sizes = f" = {' x '.join(f'{size:,}' for size in of.sizes)} ({of.line.place})" if of else ""
    return f": {number:,}{sizes}, and 2,147,483,647 is the most"


def _memory_besides(case: Case, what: str, line: Line) -> str:
    """What the words tell of memory in another run."""
    told = case.capture.surroundings.shows("running short")
    if _OF_A_SOLVER not in what or told is None or told == line or told.number < line.number:
        return ""
    return (
        f"; {told.place} tells that memory ran out in another run, which may be so, since what a solve keeps"
        " grows with max_steps"
    )


_WITHOUT_SHARING = regex(r"\bNCCL_SHM_DISABLE\b")
_OF_MEMORY = regex(r"(?i)\bOOM\b|\bout of memory\b")


def _kind(what: str) -> str:
    """What is denied first: that memory ran out, or that a training's did."""
    if _A_COMPILER in what:
        return "no failure of a training"
    if _A_SERVER in what:
        return "nothing ran out of memory yet"
    return "no out-of-memory message" if any(each in what for each in _UNSAID) else "no lack of memory"


_A_SERVER = "the server did not start"
_UNSAID = (
    _UNFINISHED,
    "could not be started on the GPU",
    "did not reach a barrier",
    OF_A_HEARTBEAT,
    _TOO_LATE,
)
"""Failures of which memory may still be the reason."""
_ON_CHIP = "shared memory than one core"
_NO_SETTING = (
    "Settings of the GPU's memory (XLA_PYTHON_CLIENT_PREALLOCATE, XLA_PYTHON_CLIENT_MEM_FRACTION,"
    " allow_growth) do"
    " nothing for it: this memory is a part of the chip."
)
_BLOCKS = regex(r"(?:[Rr]equested|[Rr]equired):? ?(?P<needed>\d{1,12})\b[^\n]{0,40}?\D(?P<has>\d{1,12})\b")
_PTXAS = regex(r"too much shared data \(0x(?P<needed>[0-9a-f]{1,9}) bytes, 0x(?P<has>[0-9a-f]{1,9}) max\)")


def _on_chip(line: Line) -> str:
    """How much a kernel wants of how much there is."""
    match, base = _BLOCKS.search(line.text), 10
    if match is None:
        match, base = _PTXAS.search(line.text), 16
    if match is None:
        return ""
    needed, has = int(match["needed"], base), int(match["has"], base)
    return f": {human(needed)} of {human(has)}" if needed > has else ""


def _smaller_blocks(case: Case) -> Iterator[Remedy]:
    """The tiles that a block of the kernel works on lie there, in the words of the one who wrote it."""
    told = case.capture.surroundings
    if told.shows("a kernel of its own"):
        yield Remedy(
            "make the blocks of its BlockSpecs smaller, and the grid larger: the blocks of all operands and"
            " results of one program lie there together (rows x columns x bytes of each); a long inner"
            " dimension is gone through in a loop",
            "pl.BlockSpec((64, 64), lambda i, j: (i, j))   # 16 KiB in float32",
            slug="smaller-gpu-blocks",
        )
        return
    blocks = kernel_blocks.halved(told.sizes, _LEAST_TIMES)
    theirs = kernel_blocks.another_of_the_library(told) if framework_of(case) == JAX and not blocks else None
    if theirs:
        yield theirs
    yield Remedy(
        "make the kernel's blocks smaller, or let it prefetch less (Triton: BLOCK sizes, num_stages)"
        + (f": {blocks}" if blocks else ""),
        slug="smaller-gpu-blocks",
    )
    if framework_of(case) == JAX and not theirs:
        yield Remedy(
            "if nobody wrote this kernel, XLA did: take a newer jaxlib, or let XLA make none with Triton",
            "export XLA_FLAGS=--xla_gpu_enable_triton_gemm=false",
            slug="newer-release",
        )


_LEAST_TIMES = 2


def _sizes(line: Line) -> str:
    """What a kernel wants of shared memory; or what gRPC says of the message: its size, the limit, and who
    refused it.
    """
    if on_chip := _on_chip(line):
        return on_chip
    if silent := who_was_silent(line):
        return silent
    if versions := _CUDNN.search(line.text):
        return f": {versions['loaded']} was loaded, and {versions['built']} is what it was built with"
    if holder := _HOLDER.search(line.text):
        return f": here the process {holder['pid']}"
    match = _MESSAGE.search(line.text)
    if match is None:
        return ""
    who = "receiver" if match["side"] == "Received" else "sender"
    return f": {human(int(match['size']))}, and the {who} takes {human(int(match['limit']))}"


def _in_all(case: Case, what: str, line: Line) -> str:
    """What failed; of a graph that grew no data set is told."""
    return _GRAPH if _A_GRAPH in what and _grew(case, what, line) else what


def _grew(case: Case, what: str, line: Line) -> str:
    """Why a graph is too large that was not at first: steps went well before."""
    steps = [
        step
        for step, at in case.capture.surroundings.steps
        if at.source == line.source and at.number < line.number
    ]
    ran = len(set(steps)) >= 2 or (_A_GRAPH in what and any(steps))
    if not ("one message may hold" in what or _A_GRAPH in what):
        return ""
    made = makes_and_runs(case) if case.capture.surroundings.steps else None
    if made:
        return (
            f"; it trained for a while, and {made.place} makes an op each time that it runs"
            f" (`{shortened(made.text.strip(), _LONGEST_CODE)}`), so most likely each call adds to the graph,"
            " constant arrays with it"
        )
    adds = case.capture.surroundings.shows("adding to its graph")
    if adds and not ran:
        return f"; {adds.place} speaks of ops that are added to the graph as it runs; the host keeps them all"
    if not ran:
        return ""
    likely = " most likely" if _A_GRAPH in what else ""
    return (
        f"; steps as far as {max(steps)} went well before, so{likely} each iteration of a loop adds ops or"
        " constants, and the host keeps them all"
    )


_LONGEST_CODE = 80
_A_GRAPH = "that a graph may hold"
_GRAPH = "the graph became larger than the 2 GiB that it may hold"
"""What is too large where steps went well: a constant of that size would have failed at the first of them."""

_CUDNN = regex(
    r"Loaded runtime CuDNN library: (?P<loaded>[\d.]{1,12}\d)[^\n]{0,60}? but source was compiled with:?"
    r" (?P<built>[\d.]{1,12}\d)"
)
_HOLDER = regex(r"TPU is already in use by process with pid (?P<pid>\d{1,9})")
_MESSAGE = regex(
    r"(?P<side>Received|Sent) message larger than max \((?P<size>\d{1,15}) vs\. (?P<limit>\d{1,15})\)"
)
_PROCESS = regex(r"[Pp]rocess (?P<pid>\d{1,9}) has (?P<size>[\d.]+ [KMG]iB) memory in use")


_ALLOCATED_BY_IT = regex(r"[Oo]f the allocated memory (?P<size>[\d.]+ [KMG]iB) is allocated by PyTorch")
_OF_ITSELF = 0.7
"""Of what a process holds: the rest are PyTorch's reserve, CUDA's context and its libraries."""


def _holders(case: Case, line: Line) -> Iterator[Remedy]:
    """Other processes on the same GPU, which PyTorch names in its message. Where the program uses JAX as
    well, the one that is named may be itself.
    """
    if case.capture.surroundings.shows("using JAX"):
        return
    own = _ALLOCATED_BY_IT.search(line.text)
    for match in list(re.finditer(_PROCESS.pattern, line.text))[:2]:
        if own and parse_size(own["size"]).high >= _OF_ITSELF * parse_size(match["size"]).low:
            continue  # in a container PyTorch does not know its own number
        if framework_of(case) == TORCH_XLA:
            yield Remedy(
                f"process {match['pid']} holds {match['size']}: where it is this program (in a container the"
                " number is another one), it is PyTorch/XLA's pool for the most part, which takes 75 % of the"
                " GPU when it starts: let it take memory as needed. Else end that process",
                f"ps -fp {match['pid']}; export XLA_PYTHON_CLIENT_PREALLOCATE=false",
                slug="growth",
            )
            continue
        yield Remedy(
            f"process {match['pid']} holds {match['size']} of the same GPU: end it, run this on another"
            " GPU, or let it take memory as needed if it is TensorFlow or JAX",
            f"ps -fp {match['pid']}   # TF_FORCE_GPU_ALLOW_GROWTH=true, XLA_PYTHON_CLIENT_PREALLOCATE=false",
            slug="end-the-process",
        )


_HOLDS_NOTHING = regex(r"[;,] 0 bytes (?:already )?allocated|[;,] 0 bytes reserved in total by PyTorch")
_SIZE = r"(?P<{}>\d{{1,6}}(?:\.\d{{1,3}})?(?: bytes| ?[KMG]i?B))"


def _size_patterns(**patterns: str) -> dict[str, re.Pattern[str]]:
    """By name what finds a size, written as {} in its pattern."""
    return {name: regex(pattern.format(_SIZE.format("size"))) for name, pattern in patterns.items()}


_FIGURES = _size_patterns(
    total=r"{} total capacity",
    free=r"{} (?:is )?free",
    allocated=r"{} already allocated",
    reserved=r"{} reserved in total",
    cached=r"{} cached",
)
"""What PyTorch's message says of the GPU and of what it holds itself."""
_MUCH_OF_OTHERS = 0.3


def _figures(line: Line, patterns: dict[str, re.Pattern[str]]) -> dict[str, int]:
    return {
        name: parse_size(match["size"].replace(" ", "").replace("bytes", "B")).bytes
        for name, pattern in patterns.items()
        if (match := pattern.search(line.text))
    }


def _held_by_others(line: Line) -> tuple[int, int] | None:
    """What is neither free nor PyTorch's own, and the whole GPU, where it is much of it."""
    told = _figures(line, _FIGURES)
    total = told.get("total")
    if not total or "free" not in told or "allocated" not in told:
        return None
    own = max(told["allocated"] + told.get("cached", 0), told.get("reserved", 0))
    others = total - told["free"] - own
    return (others, total) if others >= _MUCH_OF_OTHERS * total else None


_OF_THIS_PROCESS = _size_patterns(
    total=r"total capacity of {}",
    process=r"this process has {} memory in use",
    allocated=r"{} is allocated by PyTorch",
    reserved=r"{} is reserved by PyTorch but unallocated",
)
"""What PyTorch 2.1 and newer say: what the process holds as well, whoever asked for it."""


def _of_this_process(line: Line) -> int | None:
    """What the process holds of the GPU that is not PyTorch's, where it is much of it."""
    told = _figures(line, _OF_THIS_PROCESS)
    if "process" not in told or "allocated" not in told or "total" not in told:
        return None
    others = told["process"] - told["allocated"] - told.get("reserved", 0)
    return others if others >= _MUCH_OF_OTHERS * told["total"] else None


_NEARLY_ALL = 0.75
"""Of the GPU: where PyTorch holds so much, neither JAX, which takes as much, nor TensorFlow was first."""


def _nearly_all(line: Line) -> bool:
    """Whether PyTorch's own allocator holds so much that no other can have taken its part at the start."""
    told = _figures(line, _OF_THIS_PROCESS)
    return told.get("allocated", 0) >= _NEARLY_ALL * told.get("total", math.inf)


_TENSORFLOWS = regex(
    r"(?<![\w.])tf\.(?!config\b|get_logger|logging|compat\.v1\.logging)\w"
    r"|(?<![\w.])hub\.(?:load|KerasLayer|Module)\(|(?<![\w.])keras\.\w|\bTF[A-Z]\w+\.from_pretrained\("
)
_UNKNOWN_RELEASE = (0, 5), (2, 99)
"""Of a text that names no TensorFlow."""
_IMPORTS = regex(r"\A\s*(?:import|from) (?:tensorflow|keras|tensorflow_hub)\b")
_KEPT_SMALL = regex(
    r"set_memory_growth|set_visible_devices|allow_growth|memory_limit|gpu_memory_fraction"
    r"|KERAS_BACKEND[\"'\]\s=]{1,6}torch"
)


def _tensorflow_beside(case: Case, name: str, line: Line) -> Iterator[Line]:
    """The line of the same program that uses TensorFlow, or imports it, where much of the GPU is neither free
    nor the other framework's, and TensorFlow is not kept from taking all.
    """
    told = case.capture.surroundings
    if name in _NOT_ON_THE_GPU or not (_held_by_others(line) or _of_this_process(line)):
        return
    code = code_lines(told)
    if any(_KEPT_SMALL.search(each.text) for each in code) or told.setting("allow_growth"):
        return
    uses = next((each for each in code if _TENSORFLOWS.search(each.text)), None)
    uses = uses or next((each for each in code if _IMPORTS.search(each.text)), None)
    made = next((each.line for each in told.devices if each.line and each.limit), None)
    of_release = case.api.oldest > _UNKNOWN_RELEASE[0] or case.api.newest < _UNKNOWN_RELEASE[1]
    if found := uses or made or (told.shows("in one process") if of_release else None):
        yield found


def _beside(case: Case, name: str, line: Line) -> str:
    """Who holds the GPU, where TensorFlow runs in the same program or something else in the same process; of
    a device in banks, how much of it was asked for.
    """
    if name == TENSTORRENT:
        return _of_banks(line)
    if asked := _BUFFER.search(line.text):
        return f"; it asked for {human(int(asked['size']))}"
    others, own = _held_by_others(line), _of_this_process(line)
    size = human(own or (others[0] if others else 0))
    if beside := next(_tensorflow_beside(case, name, line), None):
        return (
            f"; {size} of the GPU are neither free nor {name}'s: most likely TensorFlow's, which the same"
            f" program uses ({beside.place}) and which takes nearly all of a GPU when it starts"
        )
    if others and not own and (uses := _jax_beside(case, name, line)):
        return (
            f"; {size} of the GPU are neither free nor {name}'s: most likely JAX's pool, since the same"
            f" program uses it ({uses.place}), else another process's"
        )
    return f"; {size} of the GPU are held by this very process, and not by {name}" if own else ""


def _whose(name: str) -> str:
    return f"of {name}" if name == OF_HOST_RAM else f"{name}'s"


_BUFFER = regex(
    r"(?:BFCArena\b.{0,200}\bfor requested buffer of size "
    r"|DefaultCPUAllocator: .{0,60}\byou tried to allocate )(?P<size>\d{1,15})\b"
)
"""What ONNX Runtime's arena was asked for, or PyTorch's allocator of host RAM."""
_BANKS = regex(
    r"allocate (?P<all>\d{1,15}) B (?P<kind>DRAM|L1)\w* buffer across (?P<banks>\d{1,5}) banks, where each"
    r" bank needs to store (?P<each>\d{1,15}) B(?:, but bank size is (?:only )?(?P<bank>\d{1,15}) B)?"
)


def _of_banks(line: Line) -> str:
    """What a buffer that is spread over a device's banks needs, and what they have."""
    match = _BANKS.search(line.text)
    if match is None or not match["bank"]:
        return ""
    each, bank, banks = int(match["each"]), int(match["bank"]), int(match["banks"])
    left = "more than one has" if each > bank else "so most of it was in use, or what was free lay in pieces"
    return (
        f". It asked for a buffer of {human(int(match['all']))}, {human(each)} in each of {banks} banks of"
        f" {human(bank)} ({match['kind']}, {human(banks * bank)} in all): {left}"
    )


def _jax_beside(case: Case, name: str, line: Line) -> Line | None:
    """The line of the same program that uses JAX, whose pool may hold what is not the other framework's."""
    if name in _NOT_ON_THE_GPU or framework_of(case) == TORCH_XLA or _nearly_all(line):
        return None
    told = case.capture.surroundings
    if told.setting("XLA_PYTHON_CLIENT_PREALLOCATE") or part_for_jax.stated(told):
        return None
    return told.shows("using JAX")


def _of_the_same_process(case: Case, name: str, others: tuple[int, int]) -> Remedy | None:
    """The pool of PyTorch/XLA, which a program has beside PyTorch's own where both use the GPU."""
    at = case.capture.surroundings.shows("PyTorch/XLA on a GPU")
    if at is None or name != "PyTorch" or framework_of(case) == JAX:
        return None
    return Remedy(
        f"of the GPU's {human(others[1])} some {human(others[0])} are neither free nor PyTorch's own: most"
        f" likely PyTorch/XLA's, in the same process ({at.place}), which takes 75 % of the GPU or more when"
        " it starts. Give it a part, or let it take memory as needed (torch_xla 2.1 and newer; older ones"
        " cannot: do the op on another GPU, or on the CPU)",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false   # or XLA_PYTHON_CLIENT_MEM_FRACTION=.40",
        slug="growth",
    )


def _for_another(case: Case, name: str, line: Line) -> Iterator[Remedy]:
    told, beside = case.capture.surroundings, any(_tensorflow_beside(case, name, line))
    others, of_jax = _held_by_others(line), _jax_beside(case, name, line)
    if beside:
        yield Remedy(
            "let TensorFlow take memory as needed, before it makes its first tensor; or keep it off the GPU,"
            " where it is fast enough without: tf.config.set_visible_devices([], 'GPU')",
            code_snippets.growth(case.api),
            slug="growth",
        )
        yield Remedy(
            f"or run TensorFlow's part in a process of its own, and {name} when that has ended",
            slug="own-process",
        )
    elif others and of_jax:
        pass  # its pool comes first
    elif name not in _NOT_ON_THE_GPU and _HOLDS_NOTHING.search(line.text):
        yield Remedy(
            f"{name} itself holds nothing yet: another process has the GPU. End that, or take another GPU",
            "nvidia-smi",
            slug="see-device-users",
        )
    elif others and (own := _of_the_same_process(case, name, others)):
        yield own
    elif others:
        yield Remedy(
            f"of the GPU's {human(others[1])} some {human(others[0])} are neither free nor {name}'s own:"
            " another process holds them. End that, or take another GPU",
            "nvidia-smi",
            slug="see-device-users",
        )
    yield from of_a_heap(case, name, line)
    if name == "PyTorch" and _keeps_graphs(case):
        yield _NO_GRAPHS
    jax = told.shows("using JAX") or framework_of(case) == JAX
    if _nearly_all(line):
        pass  # what another framework took at its start would be missing here
    elif jax and name not in _NOT_ON_THE_GPU:
        yield Remedy(
            f"JAX takes 75 % of the GPU when it first uses it, and {name} gets the rest: let it take memory"
            " as needed, or a smaller part, before jax is imported",
            "export XLA_PYTHON_CLIENT_PREALLOCATE=false   # or XLA_PYTHON_CLIENT_MEM_FRACTION=.40",
            slug="growth",
        )
        if others and of_jax and not beside:
            yield Remedy(
                "where as much is missing then, too, another process holds it: end that, or take another GPU",
                "nvidia-smi",
                slug="see-device-users",
            )
    elif told.devices and name not in _NOT_ON_THE_GPU and not beside:
        yield Remedy(
            f"TensorFlow takes nearly all of the GPU when it starts, and {name} gets the rest: let it take"
            " memory as needed",
            code_snippets.growth(case.api),
            slug="growth",
        )

    if name in _WITHOUT_A_POOL:
        yield Remedy(
            "see who holds the GPU, and end what is not needed", "nvidia-smi", slug="see-device-users"
        )
    if name in _TOOLS and not _HOLDS_NOTHING.search(line.text):
        tool = _OF_MPS if "MPS" in line.text else _TOOLS[name]
        yield Remedy(f"ask {name} itself", tool, slug="other-tool")


_NO_GRAPHS = Remedy(
    "where nothing is trained, let PyTorch keep no graph of a call, and take results off the GPU before they"
    " are kept: else each stays there with all that its gradient would need",
    "with torch.no_grad(): out = model(x)   # out.cpu() into the list; Keras: model.predict(x)",
    slug="drop-results",
)
_APPENDS = regex(r"\.append\(")
_TRAINS = regex(r"no_grad|inference_mode|backward\(|\.fit\(|\.detach\(|\.cpu\(|\.numpy\(|\.item\(")


def _keeps_graphs(case: Case) -> bool:
    """Whether the quoted code keeps results of a model in a list, and trains nothing."""
    code = [line.text for line in code_lines(case.capture.surroundings)]
    return any(map(_APPENDS.search, code)) and not any(map(_TRAINS.search, code))


def _crash(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    crash, aside = told.crash, without(case)
    below_a_message = told.shows("after an OOM")
    if crash and _OF_BOOKS.search(crash.text) and not told.elsewhere:
        yield _of_books(crash)
    elif crash and not (
        told.elsewhere
        or told.without_figures
        or below_a_message
        or _only_mentioned(told, crash)
        or told.shows("scratch of cuFFT")
        or any(ended_after_a_warning.check(case))
    ):
        ended = ended_by(case)
        full = told.shows("device memory in words")
        pool = (
            f"; that the GPU is full ({full.place}) says nothing, since TensorFlow takes nearly all of it"
            " when it starts"
            if full and _FULL_GPU.search(full.text) and framework_of(case) == TENSORFLOW
            else ""
        )
        fine = f"; the text says that it is fine without `{aside[0]}` ({aside[1].place})" if aside else ""
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                f"no out-of-memory message: the process crashed, and {framework_name(case)} reports a lack of"
                f" memory as an error as a rule{pool}{fine}"
                f"{'; ' + ended[1].place + ' says what ended it' if ended else ''}"
            ),
            evidence=(Evidence("the crash", crash),),
            remedies=(*((ended[0],) if ended else ()), *_after_a_crash(case, aside)),
        )


def _only_mentioned(told: Surroundings, crash: Line) -> bool:
    """Whether a sentence has a crash among other things, after the text has told that memory ran out."""
    short = told.shows("running short")
    if short is None or short.number >= crash.number or not surely_of_memory(told, short):
        return False
    return _IN_A_SENTENCE.search(crash.text) is not None


_IN_A_SENTENCE = regex(r"(?i)\b(?:a|an|another|the|separate) (?:[\w-]+ ){0,3}seg(?:mentation )?fault")
_FULL_GPU = regex(
    r"(?i)\bGPU(?:'s)? memory (?:\w+ ){0,3}(?:full|used up|maxed)|\b(?:GPU|VRAM) (?:\w+ ){0,2}full\b"
)
_OF_BOOKS = regex(
    r"Check failed: (?P<check>[^\n]{0,60}(?:\bkInvalid(?:ChunkHandle|BinNum)\b|\bin_use\(\)|->bin_num\b)"
    r"[^\n]{0,40})"
)
"""Checks of the allocator's own books (bfc_allocator.cc), which end the process where they fail."""


def _of_books(crash: Line) -> Finding:
    """TensorFlow's allocator found its books wrong: that is no lack of memory, which it reports otherwise."""
    match = _OF_BOOKS.search(crash.text)
    check = match["check"].strip() if match else ""
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"no out-of-memory message: TensorFlow's allocator found its own books wrong (`{check}`) and"
            " ended the process, as where a block is freed twice, is not its own, or was written past its"
            " end; a lack of memory it reports as an error"
        ),
        evidence=(Evidence("the check", crash),),
        remedies=(
            Remedy(
                "leave out what runs beside TensorFlow's own code: custom ops and plug-ins (.so), processes"
                " that were forked after the GPU was first used, threads that share a session or a model;"
                " then take another release of TensorFlow",
                slug="leave-it-out",
            ),
            Remedy(
                "if it stays, find the write that goes too far",
                "compute-sanitizer python train.py   # old CUDA: cuda-memcheck",
                slug="find-the-crash",
            ),
        ),
    )


def _after_a_crash(case: Case, aside: tuple[str, Line] | None) -> Iterator[Remedy]:
    """Where to look: at what the text names, else for the place, in libraries, and at the RAM."""
    told = case.capture.surroundings
    if aside:
        yield Remedy(
            f"look at `{aside[0]}` first: whether what it gives has the shapes, the dtype and the number that"
            " are asked for, and whether a part of it runs",
            slug="leave-it-out",
        )
    torch = framework_of(case) == TORCH_XLA
    suspect = f"; a library that does not match {framework_name(case)} is the usual suspect"
    if torch:
        suspect = "; torch and torch_xla of different releases are the usual suspects"
    late = None if aside or torch else told.shows("failing late")
    suspect = "" if aside or late else suspect
    if late:
        yield Remedy(
            f"it ran for a while ({late.place}), so its libraries do match: print host RAM at each epoch or"
            " call. Where it rises, something is kept (results, ops that a loop adds to the graph), and"
            " native code may crash once there is none left",
            "print(psutil.Process().memory_info().rss >> 20)",
            slug="watch-ram",
        )
    if torch and told.shows("several cores"):
        yield _ONE_PROCESS
    if on_windows(case) and not (aside or torch or late):
        yield _IN_A_TERMINAL
    yield Remedy(f"find where it crashed{suspect}", "python -X faulthandler train.py", slug="find-the-crash")
    if (told.setting("faulthandler") or told.shows("raising an exception")) and not (aside or torch):
        yield Remedy(
            f"run your last call in the trace alone, with the CUDA and cuDNN that this {framework_name(case)}"
            " was built for",
            slug="last-call-alone",
        )
    if not late:
        yield _WATCH_RAM


_WATCH_RAM = Remedy(
    "watch host RAM while it runs: libraries may crash without it", "free -h", slug="watch-ram"
)
_IN_A_TERMINAL = Remedy(
    "run it in a terminal instead of an editor, which hides what libraries of CUDA print last (`Could"
    " not load library cudnn...`, `zlibwapi.dll`): install the CUDA and cuDNN that this TensorFlow was"
    " built with, their folders on PATH",
    "python train.py   # in cmd, with the environment activated; where cudnn*.dll",
    slug="matching-driver",
)
_ONE_PROCESS = Remedy(
    "run one process alone: the traceback of the others' parent says only that one of them died",
    "xmp.spawn(f, nprocs=1)   # with PYTHONFAULTHANDLER=1",
    slug="last-call-alone",
)


_AS_A_SCRIPT = Remedy(
    "run the same code as a script: its last lines, or the kernel's log, say which",
    "jupyter nbconvert --to script notebook.ipynb; python notebook.py; dmesg -T | tail",
    slug="as-a-script",
)


def _kernel_died(case: Case) -> Iterator[Finding]:
    """The notebook only sees that its process is gone."""
    line = case.capture.surroundings.kernel_died
    buffers = case.capture.surroundings.pipeline_buffers
    if line and buffers and not case.capture.surroundings.crash:
        what, at = buffers[-1]
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                f"the notebook's kernel died while the input pipeline filled its {what} ({at.place}): most"
                " likely host RAM (not GPU memory) ran out"
            ),
            evidence=(Evidence("the message", line), Evidence("what was filled", at)),
            remedies=(
                Remedy(
                    "shuffle names of files before they are decoded, or let the buffer hold far fewer"
                    " elements; cache nothing decoded",
                    "files = files.shuffle(len(paths)).map(decode)   # not: map(decode).shuffle(50_000)",
                    slug="shuffle-files",
                ),
            ),
        )
        return
    if line is None or case.capture.surroundings.crash:
        return
    if whole := read_whole(case):
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                "no out-of-memory message: the notebook's kernel died, and the notebook cannot say why; the"
                f" first suspect is host RAM, for {whole.what}"
            ),
            evidence=(Evidence("the message", line), Evidence("what is read", whole.line)),
            remedies=(*whole.remedies, _AS_A_SCRIPT),
        )
        return
    little = small_machine(case)
    why = "often host RAM ran out, else a library crashed"
    if little:
        why = f"host RAM may have run out ({little.said}), or a library crashed"
    yield Finding(
        severity=Severity.FACTOR if little else Severity.NOTE,
        headline=(
            f"no out-of-memory message: the notebook's kernel died, and the notebook cannot say why; {why}"
        ),
        evidence=(
            Evidence("the message", line),
            *((Evidence("the machine", little.line),) if little else ()),
        ),
        remedies=(_AS_A_SCRIPT, *((little.remedy,) if little else ())),
    )


def _crashed_afterwards(case: Case) -> Iterator[Finding]:
    """A process that could not allocate often dies while it tidies up."""
    crash, request = case.capture.surroundings.crash, case.moments[0].request
    failed_at = request.failed.line if request else None
    if crash and failed_at and failed_at.source == crash.source and failed_at.number < crash.number:
        yield Finding(
            severity=Severity.NOTE,
            headline="after the failure the process crashed as well: a consequence, no second cause",
            evidence=(Evidence("the crash", crash),),
        )
