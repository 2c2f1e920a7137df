"""Logits over a large vocabulary: one number for every word, position and sample.

What it means: the last layer of a language model makes [batch x length, vocabulary] numbers; the softmax, its
logarithm and the gradient are each as large again. With 30,000 words this is often the largest tensor of the
model.
When it fires: the failing tensor's last dimension is at least 5,000 and no image dimension, in an op of an
output layer or a loss; or one-hot vectors of tokens are made to look up an embedding.
What to do: a sampled softmax or shorter batches of positions, the sparse loss instead of one-hot labels, a
smaller vocabulary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.knowledge.vocabularies import VOCABULARIES
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_NAMES = regex(
    r"logit|softmax|cross_?entropy|vocab|output_?(?:projection|layer)?|lm_head|predictions|one_hot|decoder|xent|log_prob|embedding|(?:word|token|char)s?_|\bmlm\b|\blm\b|translat|seq2seq",
    re.IGNORECASE,
)
_PRODUCTS = regex(r"BiasAdd|MatMul|Tensordot|einsum", re.IGNORECASE)
_WORDS = 5000


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape, need = request.failed.shape, request.failed.tensor_bytes
        if not shape or len(shape) not in (2, 3) or need is None or need < 16 * MIB:
            continue
        *outer, words = (size or 1 for size in shape)
        positions = math.prod(outer)
        if words >= _WORDS and positions < 100 * words and _in_an_output_layer(request):
            of_tokens = request.owner.op == "OneHot" and "embedding" in (request.failed.node or "").lower()
            yield (_looked_up if of_tokens else _finding)(
                index, moment, request.failed, positions, words, need
            )


def _in_an_output_layer(request: Request) -> bool:
    failed = request.failed
    name = f"{failed.node or ''} {failed.op or ''} {failed.forward_node or ''}"
    weights = request.owner.phase is Phase.GRADIENT and re.search(
        r"MatMul_1\Z|Backprop|UnsortedSegmentSum", failed.node or ""
    )
    words = (failed.shape or (0,))[-1] or 0
    vocabulary = bool(_NAMES.search(name)) or (words in VOCABULARIES and bool(_PRODUCTS.search(name)))
    return vocabulary and not weights and not re.search(r"conv|col_buffer|Conv|patches", name)


def _finding(
    index: int, moment: Moment, failed: FailedRequest, positions: int, words: int, need: int
) -> Finding:
    return Finding(
        severity=Severity.CAUSE,
        headline=(
            f"{positions:,} positions x {words:,} classes = {human(need)} for one copy of the logits at"
            f" {place(moment)}"
        ),
        because=(
            f"{positions:,} positions x {words:,} classes make {human(need)} for one copy of the logits, and"
            " the loss needs several"
        ),
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            Remedy(
                "train with a sampled loss, which never makes all logits",
                "tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, num_sampled=1024,"
                " num_classes=vocab)",
                slug="sampled-loss",
            ),
            *(_sparse(moment.request) if moment.request else ()),
            Remedy(
                "compute the loss for part of the positions at a time",
                saves_bytes=need // 2,
                certainty=Certainty.ESTIMATE,
                slug="part-of-positions",
            ),
            Remedy("cut the vocabulary, or use sub-words", slug="smaller-vocabulary"),
        ),
        moment=index,
    )


def _sparse(request: Request) -> Iterator[Remedy]:
    """The loss with integer labels, unless it is that already."""
    if re.search(r"sparse", f"{request.failed.node} {request.owner.op}", re.IGNORECASE):
        return
    yield Remedy(
        "if your labels are one-hot: use the sparse loss with integer labels, for they are as large as the"
        " logits",
        "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)",
        slug="sparse-labels",
    )


def _looked_up(
    index: int, moment: Moment, failed: FailedRequest, tokens: int, words: int, need: int
) -> Finding:
    """An embedding that is looked up by multiplying one-hot vectors, as TPUs like it."""
    return Finding(
        severity=Severity.CAUSE,
        headline=(
            f"an embedding looked up with one-hot vectors: {tokens:,} tokens x {words:,} words ="
            f" {human(need)} at {place(moment)}"
        ),
        because=(
            f"{tokens:,} tokens are looked up in the embedding as one-hot vectors of {words:,} numbers each"
        ),
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            Remedy(
                "look the embedding up by index: no one-hot vector is ever made (BERT:"
                " use_one_hot_embeddings=False, which is its setting off TPUs)",
                "x = tf.gather(embedding_table, ids)",
                need,
                Certainty.EXACT,
                slug="look-up-by-index",
            ),
        ),
        moment=index,
    )
