"""Whether a layer of a graph network works on the whole graph: its rows are nodes or edges, and no batch."""

from __future__ import annotations

from tfmemlens.model.case import Request
from tfmemlens.patterns import regex

_WORDS = regex(
    r"GraphConv|GraphSAGE|SAGEConv|GCN|\bGAT(?:v2)?(?:Conv|Layer)?\b|GATConv|GINConv|EdgeConv|MPNN"
    r"|[Mm]essage_?[Pp]ass|\bedge_(?:index|attr|feats?|src|dst)\b|\bedges?\b|\bsenders\b|\breceivers\b"
    r"|(?:\b|_)adj(?:acency)?(?:\b|_)|spektral|(?:\b|_)gcn(?:\b|_)|(?:\b|_)gnn(?:\b|_)|tfgnn"
)
"""Names and code of graph networks."""
_ENDS = regex(r"(?:edges?|edge_index|ei|adj\w*|senders|receivers|src|dst)\Z")
"""Names of what tells which nodes an edge joins."""
_MANY_ROWS = 50_000
"""From here on rows are rather a graph's than a batch's."""
_INTEGERS = ("int32", "int64")


def rows_of_a_graph(request: Request) -> int | None:
    """How many nodes or edges of a graph the failed tensor has a row for; None where nothing tells of any."""
    shape = request.failed.shape
    if request.fixed or not shape or not 2 <= len(shape) <= 3 or (shape[0] or 0) < _MANY_ROWS:
        return None
    failed = request.failed
    named = " ".join(
        filter(None, (*(failed.keras_layer or ()), failed.node, failed.source_text, failed.forward_node))
    )
    return shape[0] if _WORDS.search(named) or edges_of(request) else None


def edges_of(request: Request) -> int | None:
    """How many edges the layer was called with: pairs of indices, or one end of each."""
    for argument in request.failed.arguments:
        sizes = [size or 0 for size in argument.shape]
        if argument.dtype not in _INTEGERS or max(sizes, default=0) < _MANY_ROWS:
            continue
        if (len(sizes) == 2 and min(sizes) == 2) or (len(sizes) == 1 and _ENDS.match(argument.name)):
            return max(sizes)
    return None
