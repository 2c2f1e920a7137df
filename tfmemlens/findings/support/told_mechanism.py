"""What fills memory by the words of a post, where nothing is said to grow: where it happens, and in what."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, whole_arrays
from tfmemlens.findings.support.brace_code import again_and_again
from tfmemlens.findings.support.contrasted import contrasted, first_of, told_to_grow, without
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.host_causes import FEWER_WORKERS, on_the_host
from tfmemlens.findings.support.host_ram.killed import KERNEL_LOG
from tfmemlens.findings.support.jacobians import by_the_code
from tfmemlens.findings.support.jax_told import (
    anew_while_it_grows,
    ended_by_jit,
    loader_in_words,
    made_anew,
    told_of_jax,
)
from tfmemlens.findings.support.ram_of_tools import ram_of_a_tool, said_of_ram, with_a_log
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.told_again import (
    DATA_IN_PARTS,
    LESS_RETURNED,
    ONE_AFTER_ANOTHER,
    SHUFFLE_NAMES,
    SMALLER_SHUFFLE,
)
from tfmemlens.findings.support.told_work import told_work
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.findings.support.two_frameworks import two_frameworks
from tfmemlens.findings.support.what_grows import adding_ops, loaded_by_handlers, loaded_in_loops
from tfmemlens.findings.support.which_memory import loaded_by_each, only_killed
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human_size
from tfmemlens.values import replace

_RESIDENT = Remedy(
    "look at RES (of top) or RSS (of ps): CUDA and TensorFlow reserve tens of gigabytes of addresses, which"
    " cost nothing",
    "ps -o pid,rss,vsz,cmd -C python",
    slug="look-at-resident",
)
_IN_PIECES = Remedy(
    "predict in pieces, and take each result off the device, or write it to a file, before the next",
    "for i in range(0, len(x), 64): np.save(f'part{i}.npy', model.predict(x[i:i + 64], batch_size=4))",
    slug="predict-in-pieces",
)
_BATCHES_TO_FIT = Remedy(
    "give fit batches rather than arrays: a keras.utils.Sequence, or a data set from a generator, which take"
    " pieces of the array that is there (from_tensor_slices makes the same copy); or compare TensorFlow 2.2"
    " and newer",
    "ds = tf.data.Dataset.from_generator(pieces, (tf.float32, tf.int32)); model.fit(ds)",
    slug="evaluation-in-batches",
)
OF_JOINED_OUTPUTS = (
    replace(
        _IN_PIECES,
        code="for i, x in enumerate(batches): np.save(f'part{i}.npy', model.predict_on_batch(x))",
    ),
    LESS_RETURNED,
)
_EVALUATE_IN_BATCHES = Remedy(
    "give the evaluation a batch of its own, no larger than that of the training",
    "model.fit(..., validation_batch_size=32); model.evaluate(x, y, batch_size=32)   # predict takes it, too",
    slug="smaller-evaluation-batch",
)
_BESIDE_THE_TRAINING = (
    "what the training holds when an evaluation begins in its process, beside which the evaluation finds no"
    " room"
)
_EVALUATE_APART = Remedy(
    "evaluate in a process of its own, from the checkpoint: after the training, or on another device beside"
    " it; the training then keeps the batch with which it runs",
    "CUDA_VISIBLE_DEVICES=1 python evaluate.py   # -1: on the CPU",
    slug="own-process",
)
_VALIDATION_AS_DATA = Remedy(
    "or give the validation data as a data set in batches, or a generator, instead of whole arrays",
    "validation_data=tf.data.Dataset.from_generator(rows, output_signature=spec).batch(32)",
    slug="evaluation-in-batches",
)
_FEED_IN_BATCHES = Remedy(
    "feed it in parts, and take the mean of what they give",
    "parts = [sess.run(accuracy, {x: xs[i:i + 100], y: ys[i:i + 100]}) for i in range(0, len(xs), 100)]",
    slug="evaluation-in-batches",
)
_FEED_PARTS = Remedy(
    "feed it in parts, and write what each gives to a file, or join the arrays at the end",
    "parts = [sess.run(out, {x: xs[i:i + 256]}) for i in range(0, len(xs), 256)]",
    slug="evaluation-in-batches",
)
_WITHOUT_XLA = Remedy(
    "compare without XLA: it compiles each new shape anew, and keeps each program, with buffers that it"
    " reserves at once",
    "model.compile(..., jit_compile=False)   # XLA by environment: unset TF_XLA_FLAGS",
    slug="without-xla",
)
_ONE_SHAPE = Remedy(
    "if it must be XLA, give all batches one shape, the last one, too",
    "ds = ds.batch(32, drop_remainder=True)",
    slug="constant-shapes",
)
PER_REPLICA = Remedy(
    "the batch of the data set is that of all replicas together: each takes its part of it, and holds all"
    " weights with their slots. Make it a multiple of their number, and drop the last one, which is uneven",
    "ds = ds.batch(per_replica * strategy.num_replicas_in_sync, drop_remainder=True)",
    slug="even-batches",
)
_PER_GPU = Remedy(
    "the batch that fit gets is that of all GPUs together: each takes its part of it, and holds all weights."
    " Make the model under the CPU's device, so that no GPU holds it twice, and make it fit one GPU first",
    "with tf.device('/cpu:0'): model = build()   # then: multi_gpu_model(model, gpus=2)",
    slug="batch-per-replica",
)
_SAME_CLUSTER = Remedy(
    "print on each worker what it takes the cluster to be, and compare: the same addresses in the same order,"
    " each with a port of its own that is free and can be reached, and another index for each task",
    "print(os.environ.get('TF_CONFIG'))   # a resolver: resolver.cluster_spec().as_dict(), resolver.task_id",
    slug="compare-the-cluster",
)
_OF_A_CLUSTER = regex(r"MultiWorker|ParameterServer|CentralStorage")
_WHERE_IT_STANDS = Remedy(
    "of the process that grows, see which memory it is (its RSS, and nvidia-smi), and which call it is in;"
    " then try another release",
    "py-spy dump --native --pid PID   # pip install py-spy; RSS: ps -o rss= -p PID",
    slug="find-the-call",
)
_LET_OTHERS = Remedy(
    "hide the GPUs that are for others from TensorFlow, before its first op",
    "tf.config.set_visible_devices(gpus[:1], 'GPU')   # or: export CUDA_VISIBLE_DEVICES=0",
    slug="one-device-each",
)
_SEE_WHO = Remedy(
    "see who holds that GPU, and end what is yours (an earlier run, a notebook's kernel), or take a GPU that"
    " is free: a smaller batch does not help where so little was there to begin with",
    "nvidia-smi   # then: export CUDA_VISIBLE_DEVICES=1",
    slug="see-device-users",
)
_LEAST_FREE = 0.3
_UNTIL_IT_FAILS = regex(
    r"(?i)\b(?:increas|grow|ris|accumulat|climb)\w*\b[^.\n]{0,40}\buntil\b[^.\n]{0,40}"
    r"\b(?:exceptions?|errors?|OOM|crash\w*|fail\w*|out of memory|runs out|exhaust\w*|killed|dies)\b"
)
_TO_THE_END = Remedy(
    "that alone is no leak: TensorFlow keeps the pool until its process ends, and uses it again until then."
    " Where another program needs it, do this part in a process of its own, or end the notebook's kernel",
    "with multiprocessing.get_context('spawn').Pool(1) as pool: pool.apply(train, args)",
    slug="end-the-process",
)


_RAM_TO_THE_END = Remedy(
    "see whether it rises when the same is done again: where it does not, it is no leak, and the process uses"
    " that RAM again. What must come back for others comes back with the end of a process: do this part in"
    " one of its own",
    "with multiprocessing.get_context('spawn').Pool(1) as pool: pool.apply(train, args)",
    slug="end-the-process",
)


def told_mechanism(case: Case) -> Grower | None:
    """What the text shows by what works beside what fails, else the most particular that the words tell of
    JAX, or of TensorFlow in Python; None where they tell none.
    """
    return next(told_mechanisms(case), None)


def told_mechanisms(case: Case) -> Iterator[Grower]:
    """The same with what else the words tell, behind it."""
    yield from _long_samples(case)
    yield from two_frameworks(case)
    yield from _of_a_tool(case)
    if told_to_grow(case):
        yield from again_and_again(case)
    if shown := contrasted(case):
        yield shown
    if situation(case).program:
        return
    framework = framework_of(case)
    if framework == JAX:
        yield from ended_by_jit(case)
        yield from anew_while_it_grows(case)
    if line := loaded_by_each(case):
        yield _in_each_process(case, line)
    on_host = framework in (JAX, TORCH_XLA) and _of_the_host(case)
    if on_host and (found := on_the_host(case)):
        yield found
    if framework == JAX:
        yield from told_of_jax(case)
    elif framework == TORCH_XLA:
        yield from filter(None, (_whole_at_first(case), _of_a_loader(case)))
    elif framework == TENSORFLOW:
        yield from filter(None, (through_a_loop(case), first_of(case, _mechanisms(case))))
        yield from _mechanisms(case)


def _of_a_tool(case: Case) -> Iterator[Grower]:
    """What fills RAM in a well-known program, where the words are of it."""
    said = said_of_ram(case.capture.surroundings)
    found = ram_of_a_tool(case) if said and not case.moments else None
    if found:
        yield with_a_log(found, KERNEL_LOG) if said and only_killed(said) else found


_LENGTHS = regex(
    r"(?i)\blongest\b[^.!?\d]{0,60}?(?P<longest>\d{1,6})\b.{0,60}?\b(?:most|rest|others|typical\w*|usual\w*"
    r"|average|median)\b[^.!?\d]{0,40}?\b(?P<most>\d{1,6})\b"
)
_TIMES_AS_LONG = 3


def _long_samples(case: Case) -> Iterator[Grower]:
    """A batch with a sample many times as long as most, by the text's own figures."""
    line = case.capture.surroundings.shows("a long sample")
    match = _LENGTHS.search(line.text) if line else None
    if line is None or match is None or case.moments:
        return
    longest, most = int(match["longest"]), int(match["most"])
    if longest >= _TIMES_AS_LONG * most:
        what = (
            f"the batch with the longest sample ({longest:,}, where most have {most:,}, {line.place}): all of"
            " a batch are padded to its longest"
        )
        yield Grower(what, line, (_WITHOUT_LONG_SAMPLES,))


_WITHOUT_LONG_SAMPLES = Remedy(
    "leave out or split the samples that are far longer than the rest, then look for the batch: begin with"
    " the longest ones, so that one that is too large fails at the first step",
    "rows = [r for r in rows if length(r) <= limit]; rows.sort(key=length, reverse=True)   # for the search",
    slug="shorter-sequences",
)


def _of_the_host(case: Case) -> bool:
    """Whether the words are of host RAM, or of a process that was killed."""
    told = case.capture.surroundings
    of_host = told.shows("host RAM in words") or told.shows("killed in words") or told.shows("host RAM named")
    said = told.shows("running short")
    killed = said is not None and only_killed(said)
    return (killed or of_host is not None) and told.shows("device memory in words") is None


def _whole_at_first(case: Case) -> Grower | None:
    """A model that lies on one device before it is sharded."""
    line = case.capture.surroundings.shows("whole before it is sharded")
    if line is None:
        return None
    what = f"the whole model, which lies on one device before it is sharded ({line.place})"
    return Grower(what, line, (_SHARDED_FROM_THE_HOST, _LESS_FOR_EACH_WEIGHT))


_SHARDED_FROM_THE_HOST = Remedy(
    "build the model on the CPU, in bfloat16 where the training allows that, and let each weight go to the"
    " devices sharded, block by block; none may be whole on a device before",
    "model = Net().to(torch.bfloat16)   # on the CPU; then FSDPv2(model, auto_wrap_policy=p)",
    slug="wrap-blocks",
)
_LESS_FOR_EACH_WEIGHT = Remedy(
    "each trained weight takes four times itself with its gradient and Adam's moments, twice that in 32 bits:"
    " train fewer weights (LoRA), or take an optimizer that keeps less; activations are computed again in the"
    " backward pass (checkpoint)",
    slug="less-optimizer-state",
)


def _in_each_process(case: Case, line: Line) -> Grower:
    """What the processes of one host read, each for itself."""
    workers = case.capture.surroundings.shows("an input pipeline")
    times = ", and again in each worker of its loader" if workers and "worker" in workers.text else ""
    return Grower(
        f"what each process of the host reads for itself{times} ({line.place}): `spawn` starts them empty, so"
        " that they share no page, and Python objects take several times the bytes of their file",
        line,
        (_SHARED_PAGES, FEWER_WORKERS),
        fact="loaded by each process",
    )


_SHARED_PAGES = Remedy(
    "read it once and let all share it: a file that every process maps (NumPy, Arrow, SQLite) instead of"
    " lists and dicts, or read before the processes start, by fork, where the runtime allows it",
    "data = np.load(path, mmap_mode='r')   # or above: xmp.spawn(f, start_method='fork')",
    slug="load-once-for-all",
)


def _of_a_loader(case: Case) -> Grower | None:
    """A loader of PyTorch/XLA, where memory is said to grow."""
    told = case.capture.surroundings
    if not (told.shows("growing in words") or told.shows("kept in words")):
        return None
    anew = next(made_anew(case), None) if told.program() else None
    return anew or loader_in_words(told)


def _mechanisms(case: Case) -> Iterator[Grower]:
    told = case.capture.surroundings
    growing, short = told.shows("growing in words"), told.shows("running short")
    grows = growing is not None and short in (None, growing)
    device = told.shows("device memory in words") and not told.shows("host RAM in words")
    if full := _full_at_start(case):
        yield full
    yield from loaded_by_handlers(case)
    yield from loaded_in_loops(case)
    if not (device or grows) and any(map(told.shows, _OF_HOST_RAM)):
        yield from whole_arrays.by_the_code(told)
    if short and not grows:
        yield from by_the_code(told)
        yield from _under_a_tape(told)
        yield from _in_turns_of_the_graph(told)
    if line := _taken_from_others(case):
        grow = Remedy(
            "let TensorFlow take memory as needed, or give it a part, before its first op: in TF 1 the first"
            " session that is made decides for the whole process",
            code_snippets.limit(case.api) if "growth" in ruled_out(case) else code_snippets.growth(case.api),
            slug="smaller-fraction" if "growth" in ruled_out(case) else "growth",
        )
        yield Grower(
            f"TensorFlow took the GPU that something else needs ({line.place}): it reserves nearly all"
            " memory of every GPU that it sees, whatever its model needs",
            line,
            (grow, _LET_OTHERS),
        )
    yield from _of_longer_batches(case)
    made = told.shows("making a strategy")
    if made and not _trains(told):
        cluster = (_SAME_CLUSTER,) if _OF_A_CLUSTER.search(made.text) else ()
        what = f"the making of the strategy itself ({made.place}), where there is no model and no batch yet"
        yield Grower(what, made, (*cluster, _WHERE_IT_STANDS))
    for name, (what, remedies) in _OF_CIRCUMSTANCES.items():
        if name == "training under a strategy" and made and not _trains(told):
            continue
        denied = (device and name in _OF_HOST) or (name == "before training" and told.shows("failing late"))
        denied = denied or (grows and name in _OF_ONE_STEP)
        denied = denied or (name == "virtual memory" and any(map(told.shows, _SHORT)))
        if (line := told.shows(name) or _fine_without(case, name)) and not denied:
            if name == "evaluating" and _only_predicts(told, line):
                what, remedies = (
                    "one batch of the inference, or results that are kept",
                    (_IN_PARTS, LESS_RETURNED),
                )
                if last := told.shows("a last concat"):
                    line, (what, remedies) = last, _OF_CIRCUMSTANCES["joining predictions"]
            if name == "evaluating" and _trains(told) and told.shows("a smaller evaluation batch in vain"):
                what, remedies = _BESIDE_THE_TRAINING, (_EVALUATE_APART,)
            if name == "feeding a whole set" and not _trains(told):
                what, remedies = "a whole set that is fed at once, as one batch", (_FEED_PARTS,)
            if "multi_gpu_model" in line.text and "Strategy" not in line.text:
                remedies = (_PER_GPU,)
            fitting = tuple(_of_its_time(case, each) for each in remedies)
            yield Grower(f"{what} ({line.place})", line, fitting, fact=name)
    if (line := told.shows("a buffer of shuffle")) and not device:
        what, remedies = _OF_CIRCUMSTANCES["shuffling"]
        yield Grower(f"{what} ({line.place})", line, remedies, fact="shuffling")
    line = told.shows("kept in words")
    if growing and line and (growing.number != line.number or _UNTIL_IT_FAILS.search(line.text)):
        line = None  # told of growth elsewhere, or to an end: what is kept is no pool
    again = any(told.shows(f"again at each {unit}") for unit in _UNITS)
    if line and not again and told.shows("host RAM in words") and not told.shows("device memory in words"):
        yield Grower(
            f"what something still refers to, or what malloc keeps for the process ({line.place} says that it"
            " is not given back)",
            line,
            (_RAM_TO_THE_END,),
        )
    elif line and not again:
        yield Grower(
            f"the pool of TensorFlow's own ({line.place} says that it is not given back)",
            line,
            (replace(_TO_THE_END, code=None) if situation(case).program else _TO_THE_END,),
        )
    if not device and told.shows("code for sessions"):
        yield from adding_ops(case)
    yield from told_work(case)


def _of_longer_batches(case: Case) -> Iterator[Grower]:
    """Batches of samples that differ in length, of which many went well before."""
    told = case.capture.surroundings
    line = told.shows("lengths that differ")
    if line is None or framework_of(case) != TENSORFLOW or not told.shows("failing late"):
        return
    what = (
        f"a batch of longer samples than those before, of which each batch has its own length ({line.place}):"
        " with more samples in a batch one too long comes sooner"
    )
    yield Grower(what, line, (_PAD_ALL, _CAP_LENGTHS))


_PAD_ALL = Remedy(
    "pad every batch to the greatest length for one run: where it then fails at its first step, no batch of"
    " the longest fits; where it still fails later, something grows (count input and output, both)",
    slug="constant-shapes",
)
_CAP_LENGTHS = Remedy(
    "cap the lengths, and put samples of like length together (buckets), fewer of the long ones in a batch",
    "tf.contrib.data.bucket_by_sequence_length(...)   # TF 2: ds.bucket_by_sequence_length(...)",
    slug="shorter-sequences",
)


def _under_a_tape(told: Surroundings) -> Iterator[Grower]:
    """A loop under the tape of the quoted code; trees are read only where there is one."""
    if not any("GradientTape(" in line.text for line in told.code):
        return
    from tfmemlens.findings.support.taped_loop import taped_loop

    taped = taped_loop(told.program())
    if taped and not (taped.called and _OVER_LAYERS.search(taped.over)):
        own = any("custom_gradient" in line.text for line in told.code)
        remedies = (_TURN_AGAIN, *(() if taped.called else (_TAPE_IN_EACH,)), _NOT_RECORDED)
        yield Grower(
            f"what the {taped.words} makes ({taped.loop.place}): it runs under the tape of"
            f" {taped.tape.place}, which keeps every turn's until the gradient is taken",
            taped.loop,
            tuple(reversed(remedies)) if own else remedies,
        )


def _in_turns_of_the_graph(told: Surroundings) -> Iterator[Grower]:
    """A network that a loop of the graph runs in each turn of a training."""
    if not any(_GRAPH_LOOP.search(line.text) for line in told.code):
        return
    from tfmemlens.findings.support.graph_loop import trained_net_in_turns

    if loop := trained_net_in_turns(told):
        beside = (
            "; parallel_iterations tells only how many run at a time"
            if any("parallel_iterations" in line.text for line in told.code)
            else ""
        )
        many = f"all {loop.turns:,} turns" if loop.turns else "every turn"
        yield Grower(
            f"what the network makes in {many} of `{loop.call}` ({loop.line.place}): a training keeps it"
            f" until the backward pass{beside}",
            loop.line,
            (_TURN_AGAIN, _FEWER_TURNS, _FROZEN),
        )


def through_a_loop(case: Case) -> Grower | None:
    """What all turns of a loop of TensorFlow's graph make, whose gradient the text names beside memory."""
    line = case.capture.surroundings.shows("a gradient of a loop")
    if line is None or framework_of(case) != TENSORFLOW:
        return None
    return Grower(
        f"what every turn of a loop of the graph makes ({line.place}), all of which is kept until its"
        " gradient is taken",
        line,
        (_FEWER_TURNS_AT_ONCE, _SWAP),
    )


_FEWER_TURNS_AT_ONCE = Remedy(
    "let one gradient go back through fewer turns: shorter sequences, or a loop in pieces, the next from"
    " where the last one ended (truncated backpropagation); then a smaller batch, which makes each turn"
    " smaller",
    slug="truncate",
)
_SWAP = Remedy(
    "let the loop keep what its turns make in host RAM until the gradient needs it (GPU only, slower)",
    "tf.while_loop(cond, body, loop_vars, swap_memory=True)   # tf.nn.dynamic_rnn has it, too",
    slug="swap-to-host",
)
_GRAPH_LOOP = regex(r"\b(?:map_fn|while_loop|scan|foldl|foldr|tf\.range|tensorflow\.range)\(")
_FEWER_TURNS = Remedy(
    "train on fewer turns for each update: a part of the sequence (a clip, some frames), another one each"
    " time",
    slug="fewer-frames",
)
_FROZEN = Remedy(
    "or freeze the network of a turn, where it need not learn: nothing of its turns is kept then",
    "self.cnn.trainable = False   # or compute what it makes once, before the training",
    slug="freeze-weights",
)
_OVER_LAYERS = regex(r"(?i)layer|block|depth|stage|level|scale|len\(self\.")
"""A loop over the parts of a net is its forward pass."""
_TURN_AGAIN = Remedy(
    "let the backward pass compute each turn again: the tape then keeps what goes into a turn, and one turn's"
    " results at a time",
    "turn = tf.recompute_grad(turn)   # what one turn computes, as a function",
    slug="own-gradient",
)
_TAPE_IN_EACH = Remedy(
    "where the loss is a sum over the turns, take each turn's gradient with a tape of its own, and add them"
    " up",
    slug="tape-inside-loop",
)
_NOT_RECORDED = Remedy(
    "what needs no gradient, or has one that you write yourself (tf.custom_gradient), is computed where"
    " nothing records it, or with a few ops instead of a loop",
    "with tape.stop_recording(): g = own_gradient(x)   # or of tf.stop_gradient(x)",
    slug="stop-recording",
)


_OF_HOST_RAM = ("host RAM in words", "host RAM named", "killed in words")
_SHORT = ("running short", "ended in words", "killed in words", "hanging in words")
"""Beside what is told so, addresses that are reserved are not the trouble."""


def _trains(told: Surroundings) -> bool:
    """Whether the text tells of a training, so that what only predicts is something else."""
    return any(map(told.shows, ("training", "training in words", "fitting")))


def _only_predicts(told: Surroundings, line: Line) -> bool:
    """Whether the sentence tells of a prediction alone, whose batch no training of the text is set beside."""
    alone = told.shows("failing in prediction") is not None and not told.shows("fitting")
    apart = alone or not _trains(told)
    return apart and not _EVALUATES.search(line.text)


_EVALUATES = regex(r"(?i)\b(?:validat|evaluat)\w*")
_IN_PARTS = Remedy(
    "give the model fewer samples at once, one first, and let go of each result before the next: as a file,"
    " or as numbers in host RAM",
    slug="predict-in-pieces",
)


def _of_its_time(case: Case, remedy: Remedy) -> Remedy:
    """The same with code that its release has."""
    if remedy is _EVALUATE_IN_BATCHES and case.api.newest < (2, 2):
        return replace(remedy, code="model.evaluate(x, y, batch_size=32)   # predict takes it, too")
    if remedy is _VALIDATION_AS_DATA and case.api.newest < (2, 4):
        return replace(remedy, code="model.fit(..., validation_data=batches(), validation_steps=n)")
    return remedy


def _full_at_start(case: Case) -> Grower | None:
    """Another's memory, where TensorFlow itself says that it found little of its GPU free."""
    for device in case.capture.surroundings.devices:
        total, free, line = device.total, device.free, device.line
        if total and free and line and free.bytes < _LEAST_FREE * total.bytes:
            what = (
                f"what another process holds: only {human_size(free)} of {human_size(total)} were free when"
                f" TensorFlow started ({line.place})"
            )
            return Grower(what, line, (_SEE_WHO,), sure=True)
    return None


def _fine_without(case: Case, name: str) -> Line | None:
    """The line that says that it is fine without a circumstance: `when I set shuffle to False`."""
    aside = without(case)
    return aside[1] if aside and name in _NAMED and _NAMED[name] in aside[0].lower() else None


_NAMED = {"shuffling": "shuffl", "compiling with XLA": "jit_compile", "training under a strategy": "strategy"}
_UNITS = (*ONE_AFTER_ANOTHER, "data set", "run of a session", "prediction", "epoch", "step")


def _taken_from_others(case: Case) -> Line | None:
    told = case.capture.surroundings
    beside = told.shows("beside another framework") or told.shows("side by side")
    return beside if beside and told.shows("taking the whole GPU") else None


_OF_CIRCUMSTANCES: dict[str, tuple[str, tuple[Remedy, ...]]] = {
    "virtual memory": (
        "addresses that are reserved and no memory: VIRT counts them, and RES what is in RAM",
        (_RESIDENT,),
    ),
    "rising when fit starts": (
        "what fit makes of whole arrays at its start: early releases of TensorFlow 2 copy each to a tensor,"
        " which doubles them, whatever the batch",
        (_BATCHES_TO_FIT,),
    ),
    "joining predictions": (
        "the results of all batches, which predict joins into one array at its end",
        (_IN_PIECES, LESS_RETURNED),
    ),
    "evaluating a whole set": (
        "a whole set that is evaluated at once, which is a far larger batch than that of the training",
        (_EVALUATE_IN_BATCHES, _VALIDATION_AS_DATA),
    ),
    "feeding a whole set": (
        "a whole set that is fed at once, which is a far larger batch than that of the training",
        (_FEED_IN_BATCHES,),
    ),
    "before training": (
        "what is read before the first step, a data set that is decoded whole",
        (DATA_IN_PARTS,),
    ),
    "shuffling": (
        "the buffer of shuffle, which keeps its elements in RAM until its iterator is gone",
        (SMALLER_SHUFFLE, SHUFFLE_NAMES),
    ),
    "compiling with XLA": ("what XLA compiles and reserves", (_WITHOUT_XLA, _ONE_SHAPE)),
    "training under a strategy": (
        "what each replica of the strategy holds, or one uneven batch",
        (PER_REPLICA,),
    ),
    "evaluating": (
        "a batch of the evaluation or the prediction that is larger than one of the training, or its results",
        (_EVALUATE_IN_BATCHES, _IN_PIECES),
    ),
}
"""By the fact's name: what most likely fills memory, and what helps."""
_OF_HOST = ("shuffling", "before training")
_OF_ONE_STEP = (
    "feeding a whole set",
    "evaluating a whole set",
    "evaluating",
    "joining predictions",
    "training under a strategy",
)
"""What is too large at once, and does not grow."""
