"""Logits over a large vocabulary: one number for every word, position and sample.

What it means: the last layer of a language model makes [batch x length, vocabulary] numbers; the softmax, its
logarithm and the gradient are each as large again. With 30,000 words this is often the largest tensor of the
model.
When it fires: the failing tensor's last dimension is at least 5,000 and no image dimension, in an op of an
output layer or a loss, and it is no square matrix, which holds a number for each pair; or one-hot vectors of
tokens are made to look up an embedding.
What to do: a sampled softmax or shorter batches of positions, the sparse loss instead of one-hot labels, a
smaller vocabulary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.named_sizes import in_words, named_sizes
from tfmemlens.findings.support.one_hot import (
    by_index,
    goes_into_a_layer,
    is_of_features,
    meets_a_table,
    targets_made_dense,
)
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.sorted_rows import sorted_rows
from tfmemlens.findings.support.whole_program import takes_no_gradient
from tfmemlens.knowledge.vocabularies import VOCABULARIES
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.line import Line
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_NAMES = regex(
    r"logit|softmax|cross_?entropy|vocab|output_?(?:projection|layer)?|lm_head|predictions|one_?hot"
    r"|decoder|xent|log_prob|embedding|(?:word|token|char)s?_|\bmlm\b|\blm\b|translat|seq2seq",
    re.IGNORECASE,
)
_PRODUCTS = regex(r"BiasAdd|MatMul|Tensordot|einsum", re.IGNORECASE)
_WORDS = 5000


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape, need = request.failed.shape, request.failed.tensor_bytes
        if not shape or len(shape) not in (2, 3) or need is None or need < 16 * MIB:
            continue
        if sorted_rows(case, request):
            continue  # ranked-at-once tells of scores that are sorted
        *outer, words = (size or 1 for size in shape)
        positions = math.prod(outer)
        every_pair = len(shape) == 2 and positions == words  # as many classes as samples would be by chance
        if words >= _WORDS and not every_pair and positions < 100 * words and _in_an_output_layer(request):
            of_tokens = "embedding" in f"{request.failed.node} {request.failed.source_text}".lower()
            if not _makes_one_hot(request):
                yield _finding(case, index, moment, request, positions, words, need)
            elif of_tokens:
                yield _looked_up(index, moment, request.failed, positions, words, need)
            else:
                yield _one_hot(case, index, moment, request.failed, positions, words, need)


_MAKES_ONE_HOT = regex(r"\A\s*(?:[\w.]{1,60}\s*=\s*)?(?:[\w.]{1,40}\.)?one_hot\(")
_OF_ANOTHER_OP = regex(
    r"(?i)matmul|bias_?add|tensordot|einsum|softmax|entropy|\bloss\b|/(?:sub|add|mul)\w{0,4}\Z"
)


def _makes_one_hot(request: Request) -> bool:
    """Whether one-hot rows are made here and no logits: by the op, or as the line that made the op says,
    where the op's name is no other's.
    """
    failed = request.failed
    if "OneHot" in (request.owner.op, failed.op):
        return True
    other = _OF_ANOTHER_OP.search(f"{failed.node or ''} {failed.op or ''}")
    return other is None and bool(_MAKES_ONE_HOT.match(failed.source_text or ""))


def _in_an_output_layer(request: Request) -> bool:
    failed = request.failed
    name = f"{failed.node or ''} {failed.op or ''} {failed.forward_node or ''}"
    weights = request.owner.phase is Phase.GRADIENT and re.search(
        r"MatMul_1\Z|Backprop|UnsortedSegmentSum", failed.node or ""
    )
    words = (failed.shape or (0,))[-1] or 0
    line = failed.source_text or ""
    if _OF_TWO_SETS.search(line) and not _OF_WORDS.search(f"{line} {name}"):
        return False  # likenesses of two sets of rows
    vocabulary = bool(_NAMES.search(name)) or (words in VOCABULARIES and bool(_PRODUCTS.search(name)))
    return vocabulary and not weights and not re.search(r"conv|col_buffer|Conv|patches", name)


_OF_TWO_SETS = regex(r"matmul\(\s*[\w.]{1,40}\s*,\s*[\w.]{1,40}\s*,\s*(?:transpose|adjoint)_b\s*=\s*True")
_OF_WORDS = regex(
    r"(?i)logit|softmax|vocab|emb|table|weight|kernel|wte|token|word|classes|decoder|output|proj"
)
"""Names of what makes logits of the rows of a table."""


def _of_layer(case: Case, request: Request) -> str:
    """` of `next_word``, where a loss failed and the program's models or code have one layer of its shape."""
    shape, model = request.failed.shape, case.capture.live_model
    if not shape or request.owner.layer in (known := [path for path, _ in model.layers] if model else []):
        return ""
    makers = model.makers_of(shape) if model else ()
    if known:
        return f" of `{makers[0]}`" if len(makers) == 1 else ""
    from tfmemlens.findings.support.code_outputs import code_outputs  # reads trees

    of_code = {each.named_with_line for each in code_outputs(case, shape) if each.asked}
    named = next(iter(of_code), "")
    own = request.owner.layer or ""
    return f" of {named}" if len(of_code) == 1 and f"{own.rpartition('/')[2]}`" not in named else ""


def _finding(
    case: Case, index: int, moment: Moment, request: Request, positions: int, words: int, need: int
) -> Finding:
    failed, sampled = request.failed, _may_sample(case, request)
    lines = code_lines(case.capture.surroundings)
    shown = bool(failed.source or any(_COMPUTES_LOSS.search(line.text) for line in lines))
    few = sampled and (shown or words >= _HUGE)
    if _decodes(case, request) or takes_no_gradient(case.capture.surroundings.program()):
        return _of_decoding(case, index, moment, request, positions, words, need)
    made = targets_made_dense(case, words)
    dense = tuple(_dense_targets(made, need))
    fewer = remedies.offered(case, moment, "smaller-batch") if few else ()
    return Finding(
        severity=Severity.CAUSE,
        headline=(
            f"{positions:,} positions x {words:,} classes = {human(need)} for one copy of the logits at"
            f" {place(moment)}"
        ),
        because=(
            f"{positions:,} positions x {words:,} classes make {human(need)} for one copy of the"
            f" logits{_of_layer(case, request)}, and the loss needs several"
        ),
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            *((*fewer, *dense) if made and made[2] else (*dense, *fewer)),
            *(() if few else _fewer_positions(case, moment, need)),
            *((_SAMPLED,) if sampled else ()),
            *((_VOCABULARY,) if sampled and words >= _HUGE else ()),
            *(() if dense else _sparse(case, request)),
            _in_parts(case, need),
            *(() if _pretrained(request) else (_VOCABULARY,)),
            *([_shorter(case, need)] if few and not shown else ()),
        ),
        moment=index,
    )


_HUGE = 200_000
"""Classes: so many words are the cause themselves, whatever the batch."""
_COMPUTES_LOSS = regex(r"(?i)(?:logits|loss|entropy)\w*\s*=(?!=)|(?:softmax|loss|entropy)\w*\(")
"""Code that shows that its writer has the loss in hand: else a smaller batch goes first."""
_OF_DECODER = regex(r"(?i)decoder/(?:\w+/)*(?:while|BasicDecoderStep|BeamSearchDecoderStep)|beam_?search")


def _decodes(case: Case, request: Request) -> bool:
    """Whether sentences are made with a trained model, and nothing shows that it is being trained."""
    told = case.capture.surroundings
    gradient = request.owner.phase is Phase.GRADIENT or told.shows("training")
    return bool(told.shows("decoding") and _OF_DECODER.search(request.failed.node or "")) and not gradient


def _of_decoding(
    case: Case, index: int, moment: Moment, request: Request, positions: int, words: int, need: int
) -> Finding:
    """One step of a decoder: logits for all beams of all sentences."""
    told = case.capture.surroundings
    line = told.shows("decoding")
    sizes = in_words([each for each in named_sizes(request.failed.shape, told) if not each.axis])
    named = f" ({sizes})" if sizes else ""
    beams = _decodes(case, request) or any(_BEAMS.search(each.text) for each in code_lines(told))
    whose = "a step of decoding" if beams else "this call, in a program that does not train,"
    what = (
        f"{whose} makes {words:,} logits for each of {positions:,} {'beams' if beams else 'positions'} at"
        f" once{named}: {human(need)} for one copy"
    )
    fewer = (
        "decode fewer sentences at once, or with fewer beams" if beams else "give it fewer samples at once"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=alike(moment),
        evidence=(
            Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            *((Evidence("decoding", line),) if line else ()),
        ),
        remedies=(
            remedies.of_tensor(
                case,
                f"{fewer}: half of {'either' if beams else 'them'} halves all of it",
                Shrunk("smaller-prediction-batch", need),
            ),
        ),
        moment=index,
    )


_BEAMS = regex(r"(?i)beam")
_SAMPLED = Remedy(
    "train with a sampled loss, which never makes all logits, but is an estimate of the loss over all"
    " classes",
    "tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, num_sampled=1024, num_classes=vocab)",
    slug="sampled-loss",
)
_VOCABULARY = Remedy("cut the vocabulary, or use sub-words", slug="smaller-vocabulary")
_PRETRAINED = regex(
    r"from_pretrained|\btf_\w+/|transformers|mbart|bert|gpt|\bt5\b|llama|roberta", re.IGNORECASE
)


def _pretrained(request: Request) -> bool:
    """Whether the net is a published one, whose vocabulary and loss stay as they are."""
    return bool(_PRETRAINED.search(f"{request.failed.node} {request.failed.source_text}"))


def _of_keras(case: Case, request: Request) -> bool:
    """Whether Keras computes the loss, so that the program has no line for it."""
    failed = request.failed
    fits = failed.keras_call == "fit" or "fit(" in (failed.source_text or "")
    other = situation(case).program in ("R",)
    return fits or other or bool(re.search(r"_function_|_on_iterator", failed.function or ""))


def _may_sample(case: Case, request: Request) -> bool:
    """Whether the program can take another loss: it computes its own, and trains a net of its own."""
    return not (_of_keras(case, request) or _pretrained(request))


def _fewer_positions(case: Case, moment: Moment, need: int) -> Iterator[Remedy]:
    """A smaller batch or shorter sequences make less of all copies."""
    yield from remedies.offered(case, moment, "smaller-batch")
    yield _shorter(case, need)


def _shorter(case: Case, need: int) -> Remedy:
    return remedies.of_tensor(
        case,
        "shorten the sequences: half the positions make half of each copy of the logits",
        Shrunk("shorter-sequences", need, certainty=Certainty.ESTIMATE),
    )


def _in_parts(case: Case, need: int) -> Remedy:
    return remedies.of_tensor(
        case,
        "compute the loss for part of the positions at a time, and let the backward pass compute each part's"
        " logits again (recompute_grad): kept parts save nothing",
        Shrunk("part-of-positions", need, certainty=Certainty.ESTIMATE),
    )


def _one_hot(
    case: Case, index: int, moment: Moment, failed: FailedRequest, rows: int, classes: int, need: int
) -> Finding:
    """One-hot vectors that no loss needs."""
    line = failed.source_text or ""
    if _MULTIPLIED.search(failed.source_text or ""):
        return _looked_up(index, moment, failed, rows, classes, need)
    if table := meets_a_table(case, failed.source_text or ""):
        return replace(
            _looked_up(index, moment, failed, rows, classes, need),
            because=f"{rows:,} ids are looked up in `{table[0]}` as one-hot rows of {classes:,} numbers each",
            remedies=(by_index(table),),
            rules_out=("smaller-batch",),
        )
    if _FEATURES.search(f"{failed.node or ''} {line}") or is_of_features(case, line):
        return _one_hot_feature(case, index, moment, failed, rows, classes, need)
    item = need // (rows * classes)
    noun = "ids" if failed.pipeline else "labels"
    what = f"{rows:,} {noun} as one-hot vectors of {classes:,} numbers each take {human(need)}"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=f"{what}; as integers {human(rows * max(item, 4))}",
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            _integer_ids(need)
            if failed.pipeline
            else Remedy(
                "keep labels as integers, and use the sparse loss; or make one-hot vectors for one batch at a"
                " time",
                "loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
                if not case.api.is_tf1
                else "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)",
                need,
                Certainty.BOUND,
                slug="sparse-labels-alone",
            ),
        ),
        moment=index,
    )


def _integer_ids(need: int) -> Remedy:
    """For one-hot vectors that a function of the input pipeline makes: nobody knows what of."""
    return Remedy(
        "leave the ids integers in the input pipeline: an embedding takes inputs as they are, the sparse loss"
        " labels",
        "tf.keras.layers.Embedding(classes, 64)   # labels: SparseCategoricalCrossentropy",
        need,
        Certainty.BOUND,
        slug="integer-ids",
    )


_MULTIPLIED = regex(
    r"(?:tensordot|matmul|einsum|\bdot)\([^\n]{0,80}one_hot\("
    r"|one_hot\([^\n()]{0,80}(?:\([^()\n]{0,40}\)[^\n()]{0,40})?\)\s*@"
)
"""A line of code that multiplies one-hot rows by a table."""
_FEATURES = regex(
    r"(?i)indicator|feature_column|input_layer/|dense_features|category_encoding|(?:string|integer)_lookup"
    r"|categorical_column|hashing|multi_hot"
)
"""Names of what turns a column of the input into one-hot vectors."""


_BESIDE_A_LOOKUP = ("smaller-batch", "lower-constant")


def _one_hot_feature(
    case: Case, index: int, moment: Moment, failed: FailedRequest, rows: int, classes: int, need: int
) -> Finding:
    """A column of the input, no label: its many values belong in an embedding."""
    what = f"a feature of {classes:,} values as one-hot vectors, for {rows:,} rows: {human(need)}"
    in_layer = goes_into_a_layer(failed.source_text or "")
    of_column = re.search(r"indicator|feature_column|input_layer|dense_features", failed.node or "")
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            Remedy(
                "look the rows up in an embedding instead: a Dense layer without a bias computes nothing else"
                " from one-hot vectors, and none is made"
                if in_layer
                else "look the feature up in an embedding, which makes no one-hot vector; or hash it to fewer"
                " values",
                "tf.feature_column.embedding_column(column, dimension=32)"
                if of_column
                else code_snippets.looked_up(case.api),
                need,
                Certainty.BOUND,
                slug="embed-the-feature",
            ),
            *(() if in_layer else remedies.offered(case, moment, "smaller-batch")),
        ),
        moment=index,
        rules_out=("sparse-labels-alone", *(_BESIDE_A_LOOKUP if in_layer else ())),
    )


_SPARSE = regex(r"(?i)sparse_?(?:softmax|categorical)_?cross_?entropy|with_integer_labels\(")


def _sparse(case: Case, request: Request) -> Iterator[Remedy]:
    """The loss with integer labels, unless it is that already, as names or the program's code tell."""
    if re.search(r"sparse", f"{request.failed.node} {request.owner.op}", re.IGNORECASE):
        return
    if any(_SPARSE.search(line.text) for line in code_lines(case.capture.surroundings)):
        return
    yield Remedy(
        "if your labels are one-hot: use the sparse loss with integer labels, for they are as large as the"
        " logits",
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)",
        slug="sparse-labels",
    )


def _dense_targets(made: tuple[Line, str, bool] | None, need: int) -> Iterator[Remedy]:
    """What takes the place of the program's own line that makes one-hot targets in a loss."""
    if made is None:
        return
    line, ids, smoothed = made
    where = f"({line.place}: `{line.text.strip()[:60]}`), which are as large as the logits"
    how = "the sparse loss takes the ids themselves"
    if smoothed:
        how += ". That gives label smoothing up: a term that smooths makes such copies, too, however written"
    yield Remedy(
        f"make no one-hot targets {where}: {how}",
        f"tf.nn.sparse_softmax_cross_entropy_with_logits(labels={ids}, logits=logits)",
        need,
        Certainty.BOUND,
        slug="sparse-labels",
    )


def _looked_up(
    index: int, moment: Moment, failed: FailedRequest, tokens: int, words: int, need: int
) -> Finding:
    """An embedding that is looked up by multiplying one-hot vectors, as TPUs like it, or as a line of the
    program does.
    """
    in_code = bool(_MULTIPLIED.search(failed.source_text or ""))
    things, table = ("ids", "a table") if in_code else ("tokens", "the embedding")
    setting = "" if in_code else " (BERT: use_one_hot_embeddings=False, which is its setting off TPUs)"
    return Finding(
        severity=Severity.CAUSE,
        headline=(
            f"an embedding looked up with one-hot vectors: {tokens:,} {things} x {words:,} words ="
            f" {human(need)} at {place(moment)}"
        ),
        because=f"{tokens:,} {things} are looked up in {table} as one-hot vectors of {words:,} numbers each",
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            Remedy(
                f"look its rows up by index: no one-hot vector is ever made{setting}",
                "x = tf.gather(embedding_table, ids)",
                need,
                Certainty.EXACT,
                slug="look-up-by-index",
            ),
        ),
        moment=index,
        rules_out=("smaller-batch",) if in_code else (),
    )
