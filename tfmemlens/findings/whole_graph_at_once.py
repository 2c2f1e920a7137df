"""A graph network works on its whole graph: a row for each node, or for each edge.

What it means: a message-passing layer that gathers the features of each edge's source makes [edges,
features]; there are often twenty times as many edges as nodes. Neither dimension is a batch.
When it fires: the failing tensor has at least 50,000 rows, in a layer that names or code show to be a graph
network's, or that was called with the two ends of as many edges.
What to do: multiply by the sparse adjacency matrix, which makes no row for each edge; train on sampled
neighbourhoods; go through the edges in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.graph_nets import edges_of, rows_of_a_graph
from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_FOR_EACH_EDGE = regex(r"(?:Resource)?Gather(?:V2|Nd)?\Z|UnsortedSegment|SegmentSum|ScatterNd")
_ENDS = regex(r"\b(?:senders|receivers|edge_index|edges?|src|dst)\b")
"""Code that takes the rows of edges' ends."""
_SAMPLE = Remedy(
    "train on sampled neighbourhoods: mini-batches of nodes with some of their neighbours, instead of the"
    " whole graph",
    slug="sample-neighbours",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        rows, need = rows_of_a_graph(request), request.failed.tensor_bytes
        if rows is None or need is None or need < 16 * MIB:
            continue
        width = need // rows
        of_edges = _has_a_row_for_each_edge(request, rows)
        what = "edge" if of_edges else "node"
        because = (
            f"a graph network makes a row for each {what} of the whole graph at once, {rows:,} rows of"
            f" {human(width)}; there is no batch to halve"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{rows:,} rows at {place(moment)}, one for each {what} of the graph: {human(need)}",
            because=because,
            explains=alike(moment),
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *(
                    Evidence(f"called with {argument.name} {list(argument.shape)}", argument.line)
                    for argument in request.failed.arguments[:2]
                ),
            ),
            remedies=(*_of_edges(need, of_edges), _SAMPLE, *_in_pieces(of_edges)),
            moment=index,
        )


def _has_a_row_for_each_edge(request: Request, rows: int) -> bool:
    """Whether rows are edges: as many as the layer was given, or gathered from fewer."""
    if (edges := edges_of(request)) is not None:
        return rows >= edges
    op, code = request.failed.op or request.owner.op or "", request.failed.source_text or ""
    return bool(_FOR_EACH_EDGE.search(op) or _ENDS.search(code))


def _of_edges(need: int, of_edges: bool) -> Iterator[Remedy]:
    if of_edges:
        yield Remedy(
            "if messages are summed or averaged: multiply by the sparse adjacency matrix, which makes no row"
            " for each edge",
            "h = tf.sparse.sparse_dense_matmul(adjacency, h)   # a SparseTensor [nodes, nodes]",
            need,
            Certainty.BOUND,
            slug="sparse-product",
        )


def _in_pieces(of_edges: bool) -> Iterator[Remedy]:
    if of_edges:
        yield Remedy("or go through the edges in pieces, and add up each piece's sums", slug="in-blocks")
    else:
        yield Remedy("or make the layers' features narrower", slug="narrower-layer")
