"""What the quoted code or words of a post about JAX or PyTorch/XLA show to fill host RAM: workers of a
loader in every process, all results of draws, programs of ever new shapes, a graph that no step ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tfmemlens.findings.support import steps_of_torch_xla
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.new_shapes import new_shapes
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.prose_advice import BOUND_THE_SAVE
from tfmemlens.findings.support.prose_of_jax import fits_without_draws
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_WORKERS = regex(r"\b(?:num_workers|worker_count)[\"']?\s{0,3}[=:]\s{0,3}(?P<many>\d{1,3})\b")
_AHEAD = regex(r"\b(?P<name>worker_buffer_size|prefetch_factor)[\"']?\s{0,3}[=:]\s{0,3}(?P<each>\d{1,3})\b")
_SIMULATED = regex(r"\bxla_force_host_platform_device_count[=\s]{1,3}(?P<many>\d{1,4})\b")
_LEAST_WORKERS = 2
FEWER_WORKERS = Remedy(
    "start fewer workers: each is a process with its own copy of what the data set holds, and of the batches"
    " that it has ready; keep paths or mapped files in the data set, not decoded samples",
    "DataLoader(ds, num_workers=1, prefetch_factor=2, ...)   # 0: no process of its own",
    slug="fewer-loader-workers",
)
_FEWER_OF_GRAIN = replace(
    FEWER_WORKERS,
    code="grain.DataLoader(..., worker_count=2, worker_buffer_size=1)   # uint8 until the step converts",
)
_ONE_DEVICE = Remedy(
    "let the CPU be one device, where the program converts or reads weights alone",
    "export XLA_FLAGS=--xla_force_host_platform_device_count=1   # before jax is imported",
    slug="one-simulated-device",
)
_SHARDED_RESTORE = Remedy(
    "or restore sharded: a PartitionSpec with an axis instead of an empty one leaves each its part",
    slug="restore-sharded",
)
_SITES_OF_PREDICTIVE = Remedy(
    "return only the sites that you read, and predict for some draws at a time, each part a NumPy array"
    " before the next; jitted, a call with few draws is fast",
    "predict = jax.jit(Predictive(model, guide=guide, params=params, num_samples=50, return_sites=['obs']))"
    "\nparts = [np.asarray(predict(key, x)['obs']) for key in jax.random.split(key, 40)]",
    slug="draws-in-parts",
)
_TRANSFORMED_IN_PARTS = Remedy(
    "let PyMC transform the draws one after another, instead of all of them at once under vmap",
    "pm.sample(..., nuts_sampler_kwargs={'postprocessing_vectorize': 'scan'})",
    slug="draws-in-parts",
)
_FEWER_SITES = Remedy(
    "keep fewer draws and fewer sites: a Deterministic of each row is rows x draws x chains numbers, in 64"
    " bits; compute it afterwards of a thinned posterior",
    slug="fewer-draws",
)


def on_the_host(case: Case) -> Grower | None:
    """The first that the text shows; None where it shows none."""
    if framework_of(case) not in (JAX, TORCH_XLA):
        return None
    return next((grower for each in _CAUSES for grower in each(case)), None)


def _transformed(case: Case) -> Iterator[Grower]:
    line = case.capture.surroundings.shows("transforming draws")
    if line:
        yield Grower(
            "what is computed of all draws of all chains at once after the sampling, each deterministic site"
            f" and each step on the way to it ({line.place})",
            line,
            (_TRANSFORMED_IN_PARTS, _FEWER_SITES),
        )


def _predicted(case: Case) -> Iterator[Grower]:
    """`Predictive`, whose results of all draws are one array for each site."""
    told = case.capture.surroundings
    line = next((each for each in code_lines(told) if _PREDICTIVE.search(each.text)), None)
    if line:
        yield Grower(
            f"what `Predictive` gives for every draw and every site, weights among them ({line.place}):"
            " parallel=False computes one draw after another, and still holds the results of all",
            line,
            (_SITES_OF_PREDICTIVE,),
        )


_PREDICTIVE = regex(r"\bPredictive\(")


def loader_workers(case: Case) -> Iterator[Grower]:
    """Workers of PyTorch's loader, in each process of the host."""
    told = case.capture.surroundings
    in_words = filter(None, map(told.shows, ("host RAM in words", "running short", "several cores")))
    found = next(
        (
            (int(match["many"]), line)
            for line in (*told.code, *in_words)
            if (match := _WORKERS.search(line.text)) and int(match["many"]) >= _LEAST_WORKERS
        ),
        None,
    )
    if found is None:
        return
    many, line = found
    ahead = _AHEAD.search(line.text)
    waiting = (
        f", with {ahead['each']} batches ready in each, {many * int(ahead['each'])} in all," if ahead else ""
    )
    each = " in each process of the host" if told.shows("several cores") else ""
    several = (steps_of_torch_xla.ONE_MODEL,) if each and framework_of(case) == TORCH_XLA else ()
    grain = "worker_count" in line.text
    yield Grower(
        f"the {many} worker processes of the data loader{each}{waiting} ({line.place})",
        line,
        (_FEWER_OF_GRAIN if grain else FEWER_WORKERS, *several),
    )


def _simulated(case: Case) -> Iterator[Grower]:
    """Devices that the CPU is told to play: each has its copy of what is replicated, all in host RAM."""
    told = case.capture.surroundings
    for line in (*told.code, *filter(None, map(told.shows, ("jax: simulated devices",)))):
        match = _SIMULATED.search(line.text)
        if match and int(match["many"]) >= _LEAST_WORKERS:
            yield Grower(
                f"the {match['many']} devices that the CPU is told to play ({line.place}): each holds a copy"
                " of what is not sharded, so that weights are there as many times",
                line,
                (_ONE_DEVICE, _SHARDED_RESTORE),
            )
            return


_ON_THE_CPU = ("program: weather", "solving an ODE", "program: quantum Monte Carlo", "program: on a grid")


def _of_its_settings(case: Case) -> Iterator[Grower]:
    """A known program that computes on the CPU, whose settings decide how much it holds."""
    from tfmemlens.findings.support.own_settings import of_the_program

    if _from_call_to_call(case):
        return  # how much one call holds explains no growth over many
    known = of_the_program(case, surely_jax=True) if framework_of(case) == JAX else None
    if known and known.program.fact in _ON_THE_CPU:
        what = f"{known.program.name} ({known.line.place}): {known.program.grows}"
        yield Grower(what, known.line, tuple(known.remedies(case, on_host=True)))


_EACH_CALL = regex(
    r"(?i)\b(?:each|every|per|after|over)\b[^.\n]{0,40}\b(?:call|evaluation|iteration|step|epoch|update|solve"
    r"|run|trial|turn|night|hours?|days?|time)s?\b"
)


def _from_call_to_call(case: Case) -> bool:
    """Whether the text says that memory grows with each call, which what one call makes does not explain."""
    line = case.capture.surroundings.shows("growing in words")
    return line is not None and bool(_EACH_CALL.search(line.text))


SAVED_BY_ONE = Remedy(
    "let one process of the host copy and write, and the others wait: xm.save moves nothing to the host where"
    " it does not write. Save less often, or the weights without the optimizer's state (of Lightning:"
    " save_weights_only=True)",
    "xm.save(model.state_dict(), path)   # instead of torch.save in every process",
    slug="one-checkpoint-at-a-time",
)


def _saved_by_all(case: Case) -> Iterator[Grower]:
    """A checkpoint of PyTorch/XLA, which each process that saves brings to the host first."""
    line = case.capture.surroundings.shows("saving in words")
    if framework_of(case) == TORCH_XLA and line:
        yield Grower(
            f"the checkpoint ({line.place}): each process that saves copies weights and the optimizer's state"
            " from its device to host RAM first",
            line,
            (SAVED_BY_ONE,),
        )


_RESTORES = regex(
    r"(?i)\b(?:during|while|when|on|in|at|as soon as)\b(?:[^.\n]|\.(?=\w)){0,40}?\brestor(?:e|es|ed|ing)\b"
    r"|\brestor(?:e|ing)\b[^.\n]{0,60}\b(?:killed|OOM\w*|out of memory|RAM)\b"
)


def is_of_a_restore(line: Line) -> bool:
    """Whether it tells of a restore, in which memory rises to a peak and no further."""
    return bool(_RESTORES.search(line.text))


_GIVES_SHARDS = regex(r"\brestore_args|StandardRestore\((?!\))|abstract|\.restore\([^\n]*shard")
_SAID = ("growing in words", "running short", "killed in words", "host RAM in words")


def _restored(case: Case) -> Iterator[Grower]:
    """A checkpoint that each process reads whole before anything is spread over devices."""
    told = case.capture.surroundings
    lines = filter(None, map(told.shows, _SAID))
    line = next((each for each in lines if _RESTORES.search(each.text)), None)
    if (
        framework_of(case) == JAX
        and line
        and not any(_GIVES_SHARDS.search(each.text) for each in code_lines(told))
    ):
        yield Grower(
            "the checkpoint, which every host reads as whole arrays where it is not told how they are spread"
            f" over devices ({line.place})",
            line,
            (_INTO_SHARDS,),
        )


_INTO_SHARDS = Remedy(
    "give the restore shapes with shardings, so that each host reads its own part, and straight onto its"
    " devices: arrays that are restored whole and put on devices afterwards are in every host's RAM first",
    "abstract = jax.tree.map(lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s), shapes, s)"
    "\nparams = manager.restore(step, args=ocp.args.StandardRestore(abstract))",
    slug="restore-sharded",
)


_READS = regex(
    r"(?i)\A[^(=]{0,80}\b(?:restor|load)(?:e|es|ed|ing)\b[^(=\n]{0,40}\b(?:checkpoints?|weights|params)\b"
)


def _being_read(case: Case) -> Iterator[Grower]:
    """Weights that were being read when the process was killed, as the title or its log says, where no step
    follows.
    """
    told = case.capture.surroundings
    line = told.shows("jax: restoring")
    if framework_of(case) != JAX or line is None or not _READS.search(line.text):
        return
    if told.steps or told.progress or told.shows("training") or told.shows("saving in words"):
        return
    yield Grower(
        f"what reading the weights takes ({line.place}): as they lie in the file and as the program wants"
        " them, for a moment both",
        line,
        (_ROOM_TO_READ,),
    )


_ROOM_TO_READ = Remedy(
    "compare the checkpoint's size with the RAM that is free: reading it may take two to three times as much"
    " (the file's arrays, their conversion, a state that is made first). A machine with more RAM or swap for"
    " this part, or a smaller checkpoint, is what helps one who did not write the program",
    "free -g; du -sh CHECKPOINT   # of Hugging Face: ~/.cache/huggingface/hub",
    slug="room-to-read",
)


def worker_of_ray(case: Case) -> tuple[str, Line] | None:
    """The worker that Ray lists first, with most RAM, in words, and that line."""
    line = case.capture.surroundings.shows("a worker's RAM")
    match = _RAYS.match(line.text) if line else None
    if not line or not match:
        return None
    return f"`{match['name']}`, which holds {match['much']} GB of it ({line.place})", line


def _of_ray(case: Case) -> Iterator[Grower]:
    """That worker, where Ray killed for the node's RAM."""
    if (found := worker_of_ray(case)) is not None:
        held, line = found
        yield Grower(
            f"{held}: Ray kills what it scheduled last, and what other workers report afterwards follows from"
            " that",
            line,
            (WATCH_THE_WORKER, BOUND_THE_SAVE, _ELSEWHERE),
        )


_RAYS = regex(r"\A\s*\d{1,8}\s+(?P<much>\d{1,5}\.\d{1,3})(?:GiB)?\s+(?P<name>ray::\S{1,80})")
WATCH_THE_WORKER = Remedy(
    "print the RAM of this worker at each step, before and after a save and a transfer of weights: where it"
    " rises from step to step, something keeps host copies; where it jumps, two copies are there at once:"
    " let one end before the next begins",
    "print(step, psutil.Process().memory_info().rss >> 30, 'GiB')",
    slug="find-what-grows",
)
_ELSEWHERE = Remedy(
    "or give it the node alone: other workers and buffers on another one; a higher threshold only lets the"
    " kernel kill instead",
    slug="room-for-others",
)


def _unended(case: Case) -> Iterator[Grower]:
    """A graph of PyTorch/XLA that grows, as the text says that nothing ends a step."""
    told = case.capture.surroundings
    line = told.shows("ending no step")
    if framework_of(case) == TORCH_XLA and line:
        long = told.shows("many time steps") or told.shows("jax: unrolled")
        loop = f", with the turns of the loop that {long.place} tells of" if long else ""
        yield Grower(
            f"the graph of operations, which grows from step to step since no step is ended ({line.place})"
            f"{loop}: it is noted, compiled and kept in host RAM",
            line,
            (steps_of_torch_xla.END_EACH, *((steps_of_torch_xla.ROLL_LOOPS,) if long else ())),
        )


def _noted_step_by_step(case: Case) -> Iterator[Grower]:
    """A recurrent cell that a loop of Python calls: PyTorch/XLA notes and compiles each call by itself."""
    line = case.capture.surroundings.shows("a cell for each step")
    if framework_of(case) == TORCH_XLA and line:
        yield Grower(
            f"the graph of a loop of Python over time steps ({line.place}): each turn is noted by itself,"
            " forward and backward, and the whole is compiled in host RAM; another length, or a step that is"
            " ended elsewhere, is another graph beside it",
            line,
            (_ONE_RECURRENT_LAYER, _END_WITHIN, steps_of_torch_xla.COUNT),
        )


_ONE_RECURRENT_LAYER = replace(
    steps_of_torch_xla.ROLL_LOOPS,
    text="let one operation go over all time steps instead of a loop of Python (nn.LSTM for nn.LSTMCell), or"
    " take shorter sequences: the graph has as many operations as the loop has turns",
    code="lstm = nn.LSTM(n_in, n_hidden, num_layers=2, batch_first=True)   # or torch_xla's scan",
)
_END_WITHIN = replace(
    steps_of_torch_xla.END_EACH,
    text="end a step after the forward pass of some turns and after the optimizer's update, so that smaller"
    " graphs are compiled, of which equal ones are compiled once",
    code="xm.mark_step()   # every 50 time steps, and after opt.step()",
)
_RATE_OF_A_GROUP = regex(r"\bparam_group\[[^\]\n]{1,60}\]\s*=(?!=)")


def _numbers_of_python(case: Case) -> Iterator[Grower]:
    """Learning rates that are numbers of Python, of many groups: other ones make another program."""
    told = case.capture.surroundings
    if framework_of(case) != TORCH_XLA or not told.shows("growing in words"):
        return
    lines = [line for line in code_lines(told) if _RATE_OF_A_GROUP.search(line.text)]
    if line := next((each for each in lines if "*" in each.text), next(iter(lines), None)):
        yield Grower(
            f"programs that are compiled for new learning rates ({line.place}): a number of Python may be a"
            " constant of the program, and with a rate for each group of weights most steps have a new set of"
            " them; each program stays in host RAM",
            line,
            (_RATES_ON_THE_DEVICE, steps_of_torch_xla.COUNT),
        )


_RATES_ON_THE_DEVICE = Remedy(
    "let numbers that change be no constants: keep the rate as a tensor on the device, or tell PyTorch/XLA to"
    " treat no number as special; or change the rates seldom",
    "export XLA_NO_SPECIAL_SCALARS=1   # or: group['lr'] = torch.tensor(lr, device=device)",
    slug="compile-once",
)


def _told(case: Case) -> Iterator[Grower]:
    """What words and code name of a program of JAX that grows."""
    told = case.capture.surroundings
    if framework_of(case) != JAX or not (told.shows("growing in words") or told.shows("failing late")):
        return
    from tfmemlens.findings.support.jax_told import anew_while_it_grows, told_of_jax  # reads trees

    yield from anew_while_it_grows(case)
    yield from (each for each in told_of_jax(case) if not fits_without_draws(told) or each.sure)


def _of_new_shapes(case: Case) -> Iterator[Grower]:
    """Programs of ever new shapes, where the text tells that memory grows, or that it fails late."""
    told = case.capture.surroundings
    if told.steps or told.progress or any(map(told.shows, ("growing in words", "failing late", *_GROWS))):
        yield from filter(None, (new_shapes(case),))


_GROWS = ("growing with a size", "kept in words", "again at each epoch")
_CAUSES: tuple[Callable[[Case], Iterator[Grower]], ...] = (
    _of_new_shapes,
    _of_ray,
    _transformed,
    _predicted,
    _unended,
    _noted_step_by_step,
    _numbers_of_python,
    _simulated,
    _restored,
    _saved_by_all,
    _of_its_settings,
    loader_workers,
    _told,
    _being_read,
)
