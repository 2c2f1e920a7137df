"""Programs of JAX that have settings of their own for what fills memory, and what these settings are."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.prose_of_jax import CELL_LIST, FEWER_ENVIRONMENTS
from tfmemlens.findings.support.servers import A_SERVER, flags_of, lower_than_set
from tfmemlens.findings.support.stated_sizes import stated_number
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, replace

_OF_TRAINING = (
    "smaller-batch",
    "smaller-prediction-batch",
    "smaller-evaluation-batch",
    "gradient-accumulation",
    "in-pieces",
    "mixed-precision",
)
"""What a program without a batch of samples does not have."""
_OF_STEPS = (*_OF_TRAINING, "recompute", "donate-buffers")
_OF_CODE = (
    *_OF_STEPS,
    "in-blocks",
    "donatable-results",
    "shapes-without-running",
    "ask-what-is-in-use",
    "record-a-step",
)
"""What those who start a program that they did not write have no hand in, either."""


@dataclass(frozen=True, slots=True)
class SetProgram:
    """A program that its users set rather than write."""

    fact: str
    name: str
    grows: str
    """What its memory goes with."""
    settings: tuple[Remedy, ...]
    """What to set, best first; a number that the text states is put behind it, by the remedy's slug."""
    not_of_it: tuple[str, ...] = _OF_STEPS
    of_a_list: bool = False
    """Whether it says more than the kinds of a program's largest buffers do."""
    elsewhere: bool = False
    """Whether other frameworks have such programs, too."""
    stated: bool = False
    """Only where the text states one of its numbers."""


AFTER_DRAWS = "program: after the draws"
"""What it gives are results of a program, and large ones."""
_ON_THE_CPU = Remedy(
    "or run it on the CPU, where host RAM is larger than the GPU: slower, and nothing else changes",
    "JAX_PLATFORMS=cpu python ...",
    slug="on-the-cpu",
)
COARSER_GRID = Remedy(
    "take a coarser or smaller checkpoint of it (half the resolution is a quarter of the points:"
    " 1 degree instead of 0.25), and see that the input data are of that grid, too, or take a"
    " device with more memory: the weights are small beside the grid",
    slug="coarser-grid",
)
FEWER_STEPS_AT_ONCE = Remedy(
    "predict fewer steps or members in one call, and bring each part to the host",
    "for chunk in rollout.chunked_prediction_generator(...): save(jax.device_get(chunk))",
    slug="fewer-steps-at-once",
)
WEATHER, _SOLVER = "program: weather", "solving an ODE"
_ENSEMBLE = "program: an ensemble"
_OF_TRAINED_WEATHER = {
    "fewer-steps-at-once": Remedy(
        "the gradient keeps what every layer and every step of the rollout makes: train on one step, with the"
        " model's own recomputation on and in bfloat16, on as many devices as its sharding allows",
        "predictor = autoregressive.Predictor(predictor, gradient_checkpointing=True)",
        slug="fewer-steps-at-once",
    )
}
"""What helps where it is trained, and predicts no rollout."""
PROGRAMS = (
    SetProgram(
        WEATHER,
        "a weather model on the whole globe",
        "its arrays grow with the points of the grid and with the steps of a rollout, and no batch makes them"
        " smaller",
        (
            COARSER_GRID,
            FEWER_STEPS_AT_ONCE,
            _ON_THE_CPU,
        ),
        not_of_it=_OF_CODE,
    ),
    SetProgram(
        "program: quantum Monte Carlo",
        "a variational Monte Carlo state",
        "an expectation is computed for all samples with all configurations that each is connected to, at"
        " once",
        (
            Remedy(
                "let it go through the samples in chunks: the same result, slower",
                "vs = nk.vqs.MCState(sampler, model, n_samples=..., chunk_size=256)",
                slug="chunks-of-samples",
            ),
            Remedy("or take fewer samples", slug="fewer-draws"),
        ),
    ),
    SetProgram(
        "program: keypoints",
        "a fit of Keypoint-MoSeq's",
        "all recordings are filtered and resampled at once, so it grows with the frames of all of them, and"
        " more where messages are passed in parallel",
        (
            Remedy(
                "let messages be passed one after the other, which takes several times less and is slower",
                "kpms.fit_model(..., parallel_message_passing=False)",
                slug="fewer-steps-at-once",
            ),
            Remedy(
                "or let recordings be gone through in parts",
                "from jax_moseq.utils import set_mixed_map_iters; set_mixed_map_iters(4)   # at the top",
                slug="in-blocks",
            ),
            Remedy(
                "or fit a part of the recordings first, and apply the model to the others", slug="subsampling"
            ),
        ),
        not_of_it=tuple(each for each in _OF_CODE if each != "in-blocks"),
    ),
    SetProgram(
        "program: molecules",
        "a neighbour list of JAX MD's",
        "without a cell list it begins with every particle against every other, rows x rows, whatever the"
        " cutoff",
        (
            CELL_LIST,
            Remedy(
                "or make the list outside of JAX, on the CPU, and give its pairs to the energy function",
                slug="list-on-the-host",
            ),
        ),
        of_a_list=True,
    ),
    SetProgram(
        A_SERVER,
        "a server of a language model",
        "at start it takes a fixed part of each device for the cache of keys and values, and the programs"
        " that run beside it find only the rest",
        (
            Remedy(
                "lower the part that it takes, so that its programs have room: they are the larger, the more"
                " tokens and sequences one call may have",
                slug="smaller-cache-part",
            ),
            Remedy(
                "let one call have fewer tokens and sequences",
                slug="shorter-sequences",
            ),
            Remedy(
                "or spread weights and cache over more devices, where there are more",
                slug="shard-arguments",
            ),
        ),
        not_of_it=(*_OF_CODE, "mark-step", "drop-references", "smaller-evaluation-batch"),
        elsewhere=True,
    ),
    SetProgram(
        AFTER_DRAWS,
        "what is computed of a sampler's draws afterwards",
        "the model is computed again for all draws at once, and what each observation gets of each draw (log"
        " likelihood, predictions) is held together",
        (
            Remedy(
                "leave the log likelihood out where no comparison of models needs it (ArviZ computes it"
                " unless told otherwise)",
                "idata = az.from_numpyro(mcmc, log_likelihood=False)",
                slug="without-log-likelihood",
            ),
            Remedy(
                "or compute it in parts: some draws at a time, each part brought to the host before the next",
                "parts = [jax.device_get(f({k: v[i : i + 50] for k, v in draws.items()}))"
                " for i in range(0, n, 50)]",
                slug="fewer-draws",
            ),
        ),
        not_of_it=(*_OF_CODE, "narrow-weights", "return-less"),
        of_a_list=True,
    ),
    SetProgram(
        _SOLVER,
        "a solver of differential equations (Diffrax)",
        "it holds the state at each point that it saves, and under a gradient at each checkpoint besides",
        (
            Remedy(
                "save fewer points: each is a whole state",
                "saveat=diffrax.SaveAt(t1=True)   # or far fewer ts; dense=True keeps every step",
                slug="fewer-steps-at-once",
            ),
            Remedy(
                "under a gradient, keep fewer checkpoints (their default grows with max_steps): the steps"
                " between are computed again",
                "adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=16)",
                slug="fewer-checkpoints",
            ),
            Remedy(
                "of several trajectories under vmap, solve some at a time",
                "ys = jax.lax.map(solve, y0s, batch_size=16)",
                slug="in-blocks",
            ),
        ),
        not_of_it=("in-pieces", "recompute"),
    ),
    SetProgram(
        "program: on a grid",
        "a solver on a grid",
        "its arrays grow with the cells, and those that it returns or keeps for a gradient with the time"
        " steps, too",
        (
            Remedy(
                "take a coarser grid (half as many cells along each side is an eighth of them in 3-D), or"
                " spread it over devices along one side",
                "x = jax.device_put(x, NamedSharding(mesh, P('x')))",
                slug="coarser-grid",
            ),
            Remedy(
                "return the last state, or every n-th, instead of all time steps; under a gradient put"
                " jax.checkpoint around blocks of steps",
                "state, _ = jax.lax.scan(lambda s, _: (step(s), None), state, length=n)",
                slug="fewer-steps-at-once",
            ),
        ),
        elsewhere=True,
    ),
    SetProgram(
        "environments",
        "reinforcement learning on the device",
        "every array of a rollout exists once for each environment and step, a replay buffer has its whole"
        " size from the start, and seeds under vmap hold all of it once more each",
        (
            Remedy("run fewer seeds at once, one after the other", slug="fewer-seeds"),
            FEWER_ENVIRONMENTS,
            Remedy(
                "make the replay buffer smaller, or keep images and other bytes in it as uint8",
                slug="smaller-replay",
            ),
        ),
        elsewhere=True,
        stated=True,
    ),
    SetProgram(
        _ENSEMBLE,
        "an ensemble (particles, a population) whose members are computed side by side",
        "what one member's step makes exists once for each",
        (
            Remedy(
                "compute fewer members at once, one group after the other, and join what they give: half of"
                " them take half",
                slug="fewer-members",
            ),
        ),
        not_of_it=("gradient-accumulation", "in-pieces", "donate-buffers"),
        stated=True,
        elsewhere=True,
    ),
)
TRAINER = SetProgram(
    "program: a trainer",
    "MaxText",
    "what a step needs goes with `per_device_batch_size` x `max_target_length`, with how attention and the"
    " loss are computed, and with what the backward pass keeps",
    (
        Remedy("`attention=flash`: no matrix of scores is made", slug="fused-attention"),
        Remedy("`remat_policy=full`: the backward pass keeps least", slug="recompute-some"),
        Remedy(
            "`per_device_batch_size=1`, or less than is set: below 1 it is a part of a sample, where its axes"
            " are sharded",
            slug="smaller-batch",
        ),
        Remedy(
            "`num_vocab_tiling=8`: the loss is computed over a part of the vocabulary at a time, where logits"
            " are a number in float32 for each token and word",
            slug="in-pieces",
        ),
        Remedy(
            "`optimizer_memory_host_offload=true`: the optimizer's state lies in host RAM",
            slug="less-optimizer-state",
        ),
    ),
    not_of_it=("gradient-accumulation", "mixed-precision", "donate-buffers", "recompute"),
)
"""Its settings are read from a command or a file, each a name with its value."""
_DECODER = SetProgram(
    TRAINER.fact,
    "MaxText, which decodes here",
    "weights, and a cache of keys and values for `per_device_batch_size` x `max_target_length` positions, are"
    " there from the start, and each program that it loads needs its own memory beside them",
    (
        Remedy(
            "`per_device_batch_size`: fewer texts at once; the cache has room for each of them",
            slug="smaller-batch",
        ),
        Remedy(
            "`max_target_length`: shorter texts, of which the cache keeps every position",
            slug="shorter-sequences",
        ),
        Remedy(
            "`quantize_kvcache=true`, and weights in 8 bits (`quantization=int8` with a checkpoint that is"
            " quantised)",
            slug="narrow-weights",
        ),
    ),
    not_of_it=("gradient-accumulation", "mixed-precision", "donate-buffers", "recompute"),
)
_DECODES = regex(r"\bmax_prefill_predict_length\b|(?i:\bjetstream\b|\bMaxEngine\b)")
_SERVER_THAT_LOADS = SetProgram(
    A_SERVER,
    "a server of a language model",
    "it fails while its weights are made or read, before any cache of keys and values, so lengths, numbers of"
    " sequences and the cache's part change nothing",
    (
        Remedy(
            "spread the weights over more devices, or take a smaller model: weights in 16 bits are 2 bytes"
            " for each parameter, shared by the devices of tensor parallelism",
            slug="shard-arguments",
        ),
        Remedy(
            "or take a checkpoint that is quantised already: weights that are quantised at the start may lie"
            " on the device in 16 bits before",
            slug="smaller-model",
        ),
    ),
    not_of_it=(*_OF_CODE, "mark-step", "drop-references", "smaller-evaluation-batch"),
    elsewhere=True,
)
_KNOBS = {
    "fewer-seeds": regex(r"(?i)\A(?:num|n)_?seeds\Z"),
    "fewer-environments": regex(r"(?i)\A(?:num|n)_?(?:train_)?envs\Z"),
    "fewer-members": regex(
        r"(?i)\A(?:ensemble_?size|(?:num|n)_(?:ensembles?|members|particles)|pop(?:ulation)?_?size)\Z"
    ),
    "smaller-replay": regex(r"(?i)\A(?:max_)?(?:replay_)?(?:buffer|replay)_?size\Z|\Abuffer_size\Z"),
    "fewer-draws": regex(r"(?i)\An_samples\Z"),
    "chunks-of-samples": regex(r"(?i)\Achunk_size\Z"),
}
"""By the slug of a remedy: what the program calls the number that it changes."""
_STATED_ALONE = ("fewer-seeds", "smaller-replay")
"""These are advised only where the text states the number."""


@dataclass(frozen=True, slots=True)
class NamedProgram:
    """A program of the table, with the line that names it."""

    program: SetProgram
    line: Line

    def remedies(self, case: Case, *, on_host: bool, returns_much: bool = False) -> Iterator[Remedy]:
        """Its settings, with the numbers that the text states; fewer steps first, where what it returns of
        each is a good part of what it needs.
        """
        stated = case.capture.surroundings.sizes
        settings = self.program.settings
        if self.program is TRAINER:
            yield from _of_the_trainer(case, self.line)
            return
        growing = case.capture.surroundings.shows("growing in words")
        if growing or returns_much or _asks_for_a_part(case):
            settings = tuple(sorted(settings, key=lambda each: each.slug != "fewer-steps-at-once"))
        for each in settings:
            if each.slug == _ON_THE_CPU.slug and (on_host or case.capture.surroundings.shows("on a TPU")):
                continue
            if self.program.fact == _SOLVER and each is self.program.settings[0] and _keeps_all_steps(case):
                yield _NO_DIRECT_ADJOINT
            if self.program is _SERVER_THAT_LOADS and each.slug != "shard-arguments":
                yield each
                continue
            if self.program.fact == A_SERVER:
                yield replace(each, code=_of_the_server(case, each.slug))
                continue
            if self.program.fact == WEATHER and _trains(case):
                each = _OF_TRAINED_WEATHER.get(each.slug, each)
                if each.slug == _ON_THE_CPU.slug:
                    continue
            knob = _KNOBS.get(each.slug)
            number = stated_number(stated, knob) if knob else None
            if number is None and each.slug in _STATED_ALONE:
                continue
            if number is not None:
                name, value, line = number
                if each.slug == "chunks-of-samples":
                    yield replace(each, text=_PASSED_OVER.format(name, value, line.place), code=None)
                    continue
                each = replace(
                    each, text=f"{each.text}: `{name}` {value:,} -> {max(value // 2, 1):,} ({line.place})"
                )
            yield each


def _of_the_trainer(case: Case, line: Line) -> Iterator[Remedy]:
    """What is not set already, that first which is set to something else; the batch by what the text has."""
    told = case.capture.surroundings
    lines = [line, *told.code, *(each for _, _, each in told.settings), *(each.line for each in told.sizes)]
    found = {match["name"]: (match["value"], each) for each in lines for match in _VALUE.finditer(each.text)}
    others: list[Remedy] = []
    stays = told.shows("a batch that must stay")
    for remedy in TRAINER.settings:
        if stays and remedy.slug == "smaller-batch":
            continue
        wanted = _VALUE.search(remedy.text)
        now = found.get(wanted["name"]) if wanted else None
        if wanted is None or (now and (now[0] == wanted["value"] or now[0] in _AS_GOOD)):
            continue
        named = replace(remedy, text=f"{remedy.text} ({now[1].place} has {now[0]})") if now else remedy
        if now is None or remedy.slug == "in-pieces":
            others += [named] if remedy.slug != "fused-attention" else []  # by itself it is chosen already
        else:
            yield named
    yield from others


_AS_GOOD = ("autoselected", "cudnn_flash_te")
_VALUE = regex(
    r"\b(?P<name>attention|num_vocab_tiling|remat_policy|per_device_batch_size|optimizer_memory_host_offload)"
    r" ?[=:] ?['\"]?(?P<value>[\w.]+)"
)
_A_PART, _USUAL_DEVICE = 0.25, 16 << 30


def _asks_for_a_part(case: Case) -> bool:
    """Whether what failed is a small part of the device: the rest is there, of steps that were done."""
    request = case.moments[0].request if case.moments else None
    devices = [device.total.bytes for device in case.capture.surroundings.named_devices if device.total]
    need = request.needed_bytes if request else None
    return bool(need and need < _A_PART * max(devices, default=_USUAL_DEVICE))


_PASSED_OVER = (
    "`{}` is {} already ({}): as a rule the call that fails does not go by it. Give it the size itself where"
    " it takes one, or lower it where it does; else take a newer release of the library, or report it"
)
_DIRECT = regex(r"\bDirectAdjoint\(")
_NO_DIRECT_ADJOINT = Remedy(
    "let the gradient keep checkpoints instead of every step with all its stages: DirectAdjoint"
    " differentiates through each of max_steps",
    "adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=16)   # instead of DirectAdjoint()",
    slug="fewer-checkpoints",
)


def _keeps_all_steps(case: Case) -> bool:
    """Whether the code chooses the adjoint that keeps every step."""
    return any(_DIRECT.search(line.text) for line in case.capture.surroundings.code)


def _trains(case: Case) -> bool:
    """Whether the text shows a gradient or a training."""
    told = case.capture.surroundings
    return any(map(told.shows, ("jax: a gradient", "training", "training in words")))


def _of_the_server(case: Case, slug: str) -> str:
    """The settings of the server that the text names, below what is set."""
    told = case.capture.surroundings
    flags = flags_of(told)
    by_slug = {"smaller-cache-part": flags.part, "shorter-sequences": flags.call}
    return lower_than_set(told, by_slug.get(slug, flags.devices))


def of_the_program(case: Case, *, surely_jax: bool) -> NamedProgram | None:
    """The first program of the table that the text names; without a word of JAX, one that has no other."""
    told = case.capture.surroundings
    if (trainer := told.shows(TRAINER.fact)) and not told.shows("jax: restoring"):
        lines = (trainer, *(each.line for each in told.sizes))
        decodes = any(_DECODES.search(each.text) for each in lines) and not told.shows("training")
        return NamedProgram(_DECODER if decodes else TRAINER, trainer)
    for each in PROGRAMS:
        line = told.shows(each.fact)
        if line and (surely_jax or not each.elsewhere) and (not each.stated or _states_a_number(case, each)):
            if each.fact == A_SERVER and (loads := told.shows("a server's weights")):
                return NamedProgram(_SERVER_THAT_LOADS, loads)
            return NamedProgram(each, line)
    return None


def _states_a_number(case: Case, program: SetProgram) -> bool:
    """Whether the text states a number that a setting of the program changes."""
    knobs = (_KNOBS.get(each.slug) for each in program.settings)
    sizes = case.capture.surroundings.sizes
    return any(stated_number(sizes, knob) for knob in knobs if knob)
