"""Training all weights of the model takes most of the device, or more than it has, whatever the batch.

What it means: each weight has a gradient while it is updated, and Adam keeps two more numbers beside it: four
times the weights in all, in float32 16 bytes each. What is left of the device is for activations.
When it fires: a TensorFlow program trains, the text says how many weights its model has, and four times these
are a third of the device or more; nothing in the text says that only a part of them is trained, or that the
optimizer keeps less.
What to do: train a part of the weights, take a smaller model, or an optimizer that keeps less. A smaller
batch does not help where the weights alone do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import device_limit, on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.stated_weights import stated_weights
from tfmemlens.findings.support.weights import Weight, weight_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import Size, human, human_size, percent

BASIS = Basis.SHAPE
EXPLAINS = "weights, their gradients and Adam's slots"

_MOST, _TELLING = 0.8, 0.33
"""Of the device: what leaves too little for any activations, and what is worth telling."""
_A_PART = regex(
    r"(?i)\blora\b|\badapters?\b|\bfroz?en?\b|\bfreez\w+|trainable\s*=\s*False|\bAdafactor\b|\bSGD\b|\bLion\b"
    r"|GradientDescent|MomentumOptimizer|_8bit|8-bit|RMSprop|Adagrad"
)
_PRETRAINED = regex(r"\bfrom_(?:pretrained|preset)\(|init_checkpoint|(?i:pre-?trained|fine-?tun)")
_BYTES_EACH, _COPIES = 16, 4
_FEWER_BITS = regex(r"(?i)b?float16|\bfp16\b|\bint[48]\b|quantiz|load_in_[48]bit")
_OF_A_STEP = (
    "in-pieces",
    "smaller-input",
    "smaller-evaluation-batch",
    "gradient-accumulation",
    "lighter-optimizer",
    "one-model-at-a-time",
)
"""What changes nothing where the weights alone have no room."""
_LESS_OF_IT = Remedy(
    "take a smaller model, or load its weights in fewer bits (bfloat16 takes half, 8 bits a quarter, where"
    " the library has them) if that is less than the GPU has, or take a larger GPU: no batch plays a part",
    "keras.config.set_floatx('bfloat16')   # Keras 3, before the model is loaded",
    slug="smaller-model",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    weights = stated_weights(told)
    if weights is None or framework_of(case) != TENSORFLOW or case.capture.timelines:
        return
    lines = [line.text for line in (*told.code, weights.line)]
    if any(map(_A_PART.search, lines)):
        return
    for index, moment, request in list(requests(case))[:1]:
        limit = device_limit(case, moment)
        infers = situation(case, moment).training is False or other_than_training(case, request)
        if limit is None or on_host(moment) or infers:
            continue
        share = weights.trained_bytes / limit.bytes
        if share < _TELLING:
            continue
        pretrained = any(map(_PRETRAINED.search, lines))
        whole = share >= _MOST and (pretrained or weight_of(request) is not Weight.TABLE)
        part = f"{percent(weights.trained_bytes, limit.bytes)} of this GPU's {human_size(limit)}"
        if share > 1:
            part = f"more than this GPU has ({human_size(limit)})"
        because = f"{weights.needs}: {part}"
        alone = weights.trained_bytes // _COPIES
        beyond = alone > limit.high and not any(map(_FEWER_BITS.search, lines))
        if beyond:
            because = (
                f"the model has {weights.text}, {human(alone)} in float32: more than this GPU has"
                f" ({human_size(limit)}), before anything is computed"
            )
        lighter: Iterable[Remedy] = ()
        if beyond:
            lighter = (_LESS_OF_IT,)
        elif whole:
            lighter = _remedies(case, moment, limit, pretrained)
        yield Finding(
            severity=Severity.CAUSE if whole else Severity.FACTOR,
            headline=because,
            because=because,
            explains=min(weights.trained_bytes, limit.bytes),
            evidence=(
                Evidence(f"the model has {weights.text}", weights.line),
                Evidence("the request", request.failed.line),
            ),
            remedies=tuple(lighter),
            moment=index,
            rules_out=_OF_A_STEP if beyond else (),
        )


def _remedies(case: Case, moment: Moment, limit: Size, pretrained: bool) -> Iterator[Remedy]:
    if pretrained:
        yield Remedy(
            "train a part of the weights only: freeze all but the last blocks and the head, or add low-rank"
            " matrices (LoRA); what is frozen has no gradient and no slots",
            "for layer in model.layers[:-1]: layer.trainable = False   # before compile()",
            slug="freeze-weights",
        )
    most = round(_FOR_WEIGHTS * limit.bytes / _BYTES_EACH / 10**6, -1)
    yield Remedy(
        f"take a smaller model: with Adam and in float32 about {most:,.0f} million weights leave room for"
        " activations here",
        slug="smaller-model",
    )
    yield from remedies.offered(case, moment, "lighter-optimizer")


_FOR_WEIGHTS = 0.6
"""Of the device, for weights and what training adds to them."""
