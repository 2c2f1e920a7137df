"""A graph network works on its whole graph: a row for each node, or for each edge.

What it means: a message-passing layer that gathers the features of each edge's source makes [edges,
features]; there are often twenty times as many edges as nodes. Neither dimension is a batch.
When it fires: the failing tensor has at least 50,000 rows, in a layer that names or code show to be a graph
network's, or that was called with the two ends of as many edges; the program names as many edges or nodes, or
gathers rows and sums them by segments. Where only the text speaks of such a network, it is most likely so.
What to do: multiply by the sparse adjacency matrix, which makes no row for each edge; train on sampled
neighbourhoods; go through the edges in pieces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support.graph_nets import GraphRows, edges_of, rows_of_a_graph
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import alike, attributed, is_full, place, requests, tensor_text
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held ones of the same size, or as large as so many rows that are named"

_FOR_EACH_EDGE = regex(r"(?:Resource)?Gather(?:V2|Nd)?\Z|UnsortedSegment|SegmentSum|ScatterNd")
_ENDS = regex(r"\b(?:senders|receivers|edge_index|edges?|src|dst)\b")
"""Code that takes the rows of edges' ends."""
_OF_EDGES = regex(r"(?i)(?:\A|[/_ ])(?:edges?|messages?)(?:\Z|[/_ \d])")
"""Names of layers that work on edges."""
_ROWS = {True: "edge", False: "node", None: "edge or node"}
_ITEM = 4
"""Bytes of a number where the message tells no type: messages of old versions leave it out."""
SAMPLE = Remedy(
    "train on sampled neighbourhoods: mini-batches of nodes with some of their neighbours, instead of the"
    " whole graph",
    slug="sample-neighbours",
)

_FEWER = Remedy(
    "give fewer or smaller graphs at once, or fewer edges to each node (nearest neighbours, a smaller"
    " radius), by the program's settings",
    slug="fewer-edges",
)


_BEFORE_THE_GATHER = Remedy(
    "apply the layer to the nodes before their rows are gathered: a Dense layer of joined rows is the sum of"
    " one of each part, so no joined rows of all edges are made (its activation comes after the sum)",
    "m = act(tf.gather(a(h), src) + tf.gather(b(h), dst) + c(edges))   # a, b, c: Dense layers",
    slug="project-before-gather",
)
_FEW_GRAPHS = Remedy(
    "put fewer graphs into a batch, a few at first: their edges and nodes become the rows of one large graph",
    slug="smaller-graph-batch",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        graph, shape = rows_of_a_graph(request, case.capture.surroundings), request.failed.shape
        need = request.failed.tensor_bytes or (math.prod(size or 1 for size in shape or ()) * _ITEM)
        if graph is None or (need < 16 * MIB and not (graph.stated and is_full(case, moment))):
            continue
        rows = graph.count
        explained = max(alike(moment) or need, _as_many_rows(moment, rows) if graph.stated else 0)
        of_edges = _has_a_row_for_each_edge(request, graph)
        what = _ROWS[of_edges]
        named = f" (`{graph.name}`, {graph.stated.place})" if graph.stated else ""
        several = case.capture.surroundings.shows("several graphs") if not graph.stated else None
        of_what = f"all graphs of a batch ({several.place} has several)" if several else "the whole graph"
        because = (
            f"{'most likely ' if graph.likely else ''}a graph network makes a row for each {what} of"
            f" {of_what} at once, {rows:,} rows{named}{_each(need, rows, explained)}"
            f"{_of_messages(graph, need)}{'' if several else '; there is no batch to halve'}"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{rows:,} rows at {place(moment)}, one for each {what} of the graph: {human(need)}",
            because=because,
            explains=explained,
            basis=Basis.NAME if graph.likely else None,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *((Evidence("as many are named", graph.stated),) if graph.stated else ()),
                *(
                    Evidence(f"called with {argument.name} {list(argument.shape)}", argument.line)
                    for argument in request.failed.arguments[:2]
                ),
            ),
            remedies=tuple(_remedies(case, graph, explained, of_edges, several=several is not None)),
            moment=index,
            rules_out=_OF_NO_GRAPH,
        )


_OF_NO_GRAPH = (
    *("constant-shapes", "large-tensors-first", "smaller-batch", "batch-for-the-block"),
    *("lower-setting", "lower-constant"),
)
"""What a graph has none of, and the width of its features, which this rule names last."""


def _remedies(
    case: Case, graph: GraphRows, need: int, of_edges: bool | None, *, several: bool
) -> Iterator[Remedy]:
    """What helps where all rows are of one graph, or of those that are put together in a batch."""
    of_edges = of_edges or graph.edges is not None
    if several:
        yield _FEW_GRAPHS
    if graph.likely:
        yield _FEWER
    elif not (_of_both_ends(case) or _takes_no_sum(case)):
        yield from _of_edges(need, of_edges)
    both = not graph.likely and _of_both_ends(case)
    if both:
        yield _BEFORE_THE_GATHER  # the same network, where sampled neighbours only come near it
    if not several and not both:
        yield SAMPLE
    if not graph.likely:
        yield from _in_pieces(of_edges is True)
    if not several and both:
        yield SAMPLE


def _each(need: int, rows: int, explained: int) -> str:
    """How large a row is; of a small request what most likely are other tensors of such rows."""
    if need >= 16 * MIB:
        return f" of {human(need // rows)}"
    return f": blocks large enough for so many rows hold {human(explained)}"


def _of_messages(graph: GraphRows, need: int) -> str:
    """What a message of each edge takes that is as wide as the row of a node that failed."""
    if graph.edges is None:
        return ""
    count, name = graph.edges
    return (
        f"; a message of the same width for each of the {count:,} edges (`{name}`) takes"
        f" {human(need // graph.count * count)}"
    )


def _as_many_rows(moment: Moment, rows: int) -> int:
    """Bytes of the chunks that are large enough for a number in each row: most likely of such rows."""
    if attributed(moment):
        return 0
    return sum(each.total_bytes for each in moment.attribution.table if each.size_bytes >= _ITEM * rows)


def _has_a_row_for_each_edge(request: Request, graph: GraphRows) -> bool | None:
    """Whether rows are edges: as many as the layer was given, named so, or gathered from fewer; None where
    nothing tells.
    """
    if (edges := edges_of(request)) is not None:
        return graph.count >= edges
    if graph.likely or graph.of_edges is not None:
        return graph.of_edges
    op, code = request.failed.op or request.owner.op or "", request.failed.source_text or ""
    named = f"{request.failed.node} {' '.join(request.failed.keras_layer or ())}"
    return bool(_FOR_EACH_EDGE.search(op) or _ENDS.search(code) or _OF_EDGES.search(named)) or None


_GATHERED = regex(r"\A\s*(?P<names>[A-Za-z_][\w, ]{0,60}?)\s*=[^=][^\n]{0,60}?\bgather\(")
_NAME = regex(r"[A-Za-z_]\w*")
_A_GATHER = regex(r"(?:\w+\.)*(?:gather|take)\([^()]{1,80}\)")
"""Rows of nodes that are looked up within the list that is joined: with another such, or with what is not
looked up, the features of the edge.
"""
_NO_SUM = regex(r"(?:\b|_)segment_(?:max|min|prod|softmax)\w{0,4}\(")
_JOINED = regex(r"\b(?:concat|concatenate|Concatenate\([^()]*\))\(\s*\[(?P<names>[^\]\[]{1,120})\]")


def _of_both_ends(case: Case) -> bool:
    """Whether the program joins the rows of both ends of an edge before it computes a message: no product
    with a matrix makes a message that depends on two rows.
    """
    code = [line.text for line in code_lines(case.capture.surroundings)]
    found = (match["names"] for text in code if (match := _GATHERED.match(text)))
    gathered = {each for names in found for each in _NAME.findall(names)}
    joined = [match["names"] for text in code if (match := _JOINED.search(text))]
    if any(len(gathered & set(_NAME.findall(names))) > 1 for names in joined):
        return True
    return any(_A_GATHER.search(names) and _NAME.search(_A_GATHER.sub("", names)) for names in joined) or any(
        len(_A_GATHER.findall(names)) > 1 for names in joined
    )


def _takes_no_sum(case: Case) -> bool:
    """Whether the program takes the largest or another part of the messages, which no product with a matrix
    gives.
    """
    return any(_NO_SUM.search(line.text) for line in code_lines(case.capture.surroundings))


def _of_edges(need: int, of_edges: bool | None) -> Iterator[Remedy]:
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
        yield Remedy(
            "or go through the edges in pieces, and add up each piece's sums; in training let the backward"
            " pass compute each piece again (tf.recompute_grad), or all pieces are kept",
            slug="in-blocks",
        )
    else:
        yield Remedy("or make the layers' features narrower", slug="narrower-layer")
