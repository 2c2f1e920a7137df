"""Logits over a large vocabulary: one number for every word, position and sample.

What it means: the last layer of a language model makes [batch x length, vocabulary] numbers; the softmax, its logarithm and the gradient
are each as large again. With 30,000 words this is often the largest tensor of the model.
When it fires: the failing tensor's last dimension is at least 5,000 and no image dimension, in an op of an output layer or a loss; or one-hot
vectors of tokens are made to look up an embedding.
What to do: a sampled softmax or shorter batches of positions, the sparse loss instead of one-hot labels, a smaller vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings._rows import failures, place, tensor_text
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import MIB, human

_NAMES = re.compile(
    r"logit|softmax|cross_?entropy|vocab|output_?(?:projection|layer)?|lm_head|predictions|one_hot|decoder|xent|log_prob|BiasAdd|MatMul|embedding",
    re.IGNORECASE,
)
_WORDS = 5000


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request
        failed, owner = moment.request.failed, moment.request.owner
        shape = failed.shape
        if not shape or len(shape) not in (2, 3) or not all(shape) or (failed.tensor_bytes or 0) < 16 * MIB:
            continue
        sizes = [size or 1 for size in shape]
        positions = sizes[0] if len(sizes) == 2 else sizes[0] * sizes[1]
        name = f"{failed.node or ''} {failed.op or ''} {failed.forward_node or ''}"
        weights = owner.phase is Phase.GRADIENT and re.search(r"MatMul_1\Z|Backprop|UnsortedSegmentSum", failed.node or "")
        if sizes[-1] < _WORDS or positions >= 100 * sizes[-1] or not _NAMES.search(name) or weights or re.search(r"conv|col_buffer|Conv|patches", name):
            continue
        need = failed.tensor_bytes or 0
        if owner.op == "OneHot" and "embedding" in name.lower():
            yield _looked_up(index, moment, positions, sizes[-1], need)
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{positions:,} positions x {sizes[-1]:,} classes = {human(need)} for one copy of the logits at {place(moment)}",
            because=f"{positions:,} positions x {sizes[-1]:,} classes make {human(need)} for one copy of the logits, and the loss needs several",
            bytes=need,
            weight=0.65,
            evidence=(Evidence(f"asked for: {tensor_text(moment)}", failed.line),),
            remedies=(
                Remedy(
                    "train with a sampled loss, which never makes all logits",
                    "tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, num_sampled=1024, num_classes=vocab)",
                ),
                Remedy(
                    "use the sparse loss with integer labels: one-hot labels are as large as the logits",
                    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)",
                    need,
                    Certainty.BOUND,
                ),
                Remedy("compute the loss for part of the positions at a time", saves_bytes=need // 2, certainty=Certainty.ESTIMATE),
                Remedy("cut the vocabulary, or use sub-words"),
            ),
            moment=index,
        )


def _looked_up(index: int, moment: Moment, tokens: int, words: int, need: int) -> Finding:
    """An embedding that is looked up by multiplying one-hot vectors, as TPUs like it."""
    line = moment.request.failed.line if moment.request else None
    return Finding(
        severity=Severity.CAUSE,
        headline=f"an embedding looked up with one-hot vectors: {tokens:,} tokens x {words:,} words = {human(need)} at {place(moment)}",
        because=f"{tokens:,} tokens are looked up in the embedding as one-hot vectors of {words:,} numbers each",
        bytes=need,
        weight=0.7,
        evidence=(Evidence(f"asked for: {tensor_text(moment)}", line),),
        remedies=(
            Remedy(
                "look the embedding up by index: no one-hot vector is ever made (BERT: use_one_hot_embeddings=False, which is its setting off TPUs)",
                "x = tf.gather(embedding_table, ids)",
                need,
                Certainty.EXACT,
            ),
        ),
        moment=index,
    )
