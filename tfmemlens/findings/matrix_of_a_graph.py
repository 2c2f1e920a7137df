"""The tensor has a number for every pair of a graph's nodes: the graph is kept as a dense matrix.

What it means: a graph of 100,000 nodes and some edges to each has a million edges, and ten thousand million
pairs. A dense adjacency matrix, attention over all pairs, or a decoder that scores every pair makes them all.
When it fires: the failing tensor is [n,n], or host RAM was asked for as many bytes before the process was
killed, and the text states n nodes, or the layer is one of graphs by its name.
What to do: keep the graph sparse, and score edges and sampled pairs; train on parts of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.host_ram.large_requests import one_large
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.whole_graph_at_once import SAMPLE
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, or the large request before the kill"

_LEAST, _ITEM = 2000, 4
_NODES = regex(r"(?i)(?:\A|_)(?:nodes|vertices)\Z")
_SPARSE = Remedy(
    "keep the graph sparse, where only edges count: give layers the adjacency as a SparseTensor, for which"
    " they have a way of their own, and make no array of it before (todense, toarray, np.array); a decoder"
    " that scores all pairs takes the edges and as many sampled others instead",
    "a = tf.sparse.reorder(tf.SparseTensor(edges, weights, (n, n)))   # libraries: scipy.sparse.csr_matrix",
    slug="sparse-product",
)
_RULED_OUT = (
    "smaller-batch",
    "gradient-accumulation",
    "in-blocks",
    "mixed-precision",
    "constant-shapes",
    "find-the-size",
)
"""Neither side is a batch, and no part of the pairs is wanted."""


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        nodes = _nodes(case, moment, request)
        if nodes is None:
            continue
        count = nodes.sizes[0]
        what = f"{count:,} x {count:,} are all pairs of the {count:,} nodes of {nodes.line.place}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}, in {human(count * count * _ITEM)}",
            because=f"{what}, though a graph has far fewer edges",
            explains=count * count * _ITEM,
            evidence=(
                Evidence("the message", request.failed.line),
                Evidence("as many nodes are named", nodes.line),
            ),
            remedies=(_SPARSE, SAMPLE),
            moment=index,
            rules_out=_RULED_OUT,
        )


_OF_A_GRAPH = regex(
    r"(?i)graph_?(?:att|conv)|(?:\A|[/_ ])(?:gat|gcn)(?:_?conv)?(?:[/_ ]|\Z)|\bG(?:AT|CN)Conv\b"
)


def _named(request: Request) -> str:
    """The names of the failing op and its layer."""
    return " ".join(filter(None, (request.failed.node, *(request.failed.keras_layer or ()))))


def _nodes(case: Case, moment: Moment, request: Request) -> StatedSize | None:
    """The number of nodes that the text states, where the request has a number for each pair of them."""
    shape = request.failed.shape or ()
    square = len(shape) > 1 and shape[-1] == shape[-2] and all(size == 1 for size in shape[:-2])
    large = one_large(case, moment)
    asked = case.capture.surroundings.large_host_requests[-1][0].bytes if large else 0
    stated = next(
        (
            each
            for each in case.capture.surroundings.sizes
            if _NODES.search(each.name)
            and each.sizes[0] >= _LEAST
            and ((square and each.sizes[0] == shape[-1]) or asked == each.sizes[0] ** 2 * _ITEM)
        ),
        None,
    )
    line, count = request.failed.line, (shape[-1] or 0) if square else 0
    if stated or line is None or count < _LEAST or not _OF_A_GRAPH.search(_named(request)):
        return stated
    return StatedSize("nodes", (count,), line)
