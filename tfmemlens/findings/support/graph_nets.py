"""Whether a layer of a graph network works on the whole graph: its rows are nodes or edges, and no batch."""

from __future__ import annotations

from collections.abc import Mapping

from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_WORDS = regex(
    r"GraphConv|GraphSAGE|SAGEConv|GCN|\bGAT(?:v2)?(?:Conv|Layer)?\b|GATConv|GINConv|EdgeConv|MPNN"
    r"|[Mm]essage_?[Pp]ass|\bedge_(?:index|attr|feats?|src|dst)\b|\bedges?\b|\bsenders\b|\breceivers\b"
    r"|(?:\b|_)adj(?:acency)?(?:\b|_)|spektral|(?:\b|_)gcn\d{0,2}(?:\b|_)|(?:\b|_)gnn\d{0,2}(?:\b|_)|tfgnn"
)
"""Names and code of graph networks."""
_ENDS = regex(r"(?:edges?|edge_index|ei|adj\w*|senders|receivers|src|dst)\Z")
"""Names of what tells which nodes an edge joins."""
_EDGES = regex(r"(?i)(?:\A|_)(?:n|num|number|nr|max)?_?(?:of_)?edges?(?:\Z|_)|\AE\Z")
_NODES = regex(r"(?i)(?:\A|_)(?:n|num|number|nr|max)?_?(?:of_)?(?:nodes?|vertices|atoms)(?:\Z|_)|\AN\Z")
_GATHERS = regex(r"\bgather(?:_nd)?\(")
_SUMS = regex(r"\b(?:unsorted_)?segment_(?:sum|mean|max|softmax)\w{0,4}\(|\btensor_scatter_nd_add\(")
"""Messages of edges that are summed for the node where they end."""
_MANY_ROWS = 50_000
"""From here on rows are rather a graph's than a batch's."""
_FEWEST_STATED = 2000
"""The same where the program names just as many nodes or edges, and passes messages between them."""
_INTEGERS = ("int32", "int64")


@dataclass(frozen=True, slots=True)
class GraphRows:
    """Rows of a graph's nodes or edges."""

    count: int
    stated: Line | None = None
    """The line that gives a name to as many: `num_edges = 600_000`."""
    of_edges: bool | None = None
    """Whether that name is of edges; None where nothing names them."""
    name: str = ""
    """That name."""
    edges: tuple[int, str] | None = None
    """Beside nodes how many edges the program names, and by which name."""
    likely: bool = False
    """Whether the text alone speaks of such networks: nothing ties the rows to one."""


def rows_of_a_graph(request: Request, told: Surroundings) -> GraphRows | None:
    """How many nodes or edges of a graph the failed tensor has a row for; None where nothing tells of any."""
    shape = request.failed.shape
    if request.fixed or not shape or not 2 <= len(shape) <= 3 or (shape[0] or 0) < _FEWEST_STATED:
        return None
    rows, failed = shape[0] or 0, request.failed
    named = " ".join(
        filter(None, (*(failed.keras_layer or ()), failed.node, failed.source_text, failed.forward_node))
    )
    sure = bool(_WORDS.search(named)) or edges_of(request) is not None
    code = code_lines(told)
    passes, settings = _passes(code), settings_by_name(code)
    for name, (figure, line) in settings.items():
        of_edges = _EDGES.search(name) and (rows >= _MANY_ROWS or passes)
        of_nodes = _NODES.search(name) and (passes or (sure and rows >= _MANY_ROWS))
        if figure == rows and (of_edges or of_nodes):
            return GraphRows(rows, line, bool(_EDGES.search(name)), name, _edges_beside(settings, name, rows))
    if rows < _MANY_ROWS:
        return None
    if sure or passes:
        return GraphRows(rows)
    return GraphRows(rows, likely=True) if told.shows("graph network") else None


def _edges_beside(settings: Mapping[str, tuple[int, Line]], name: str, rows: int) -> tuple[int, str] | None:
    """The edges that the program names, where there are more of them than rows."""
    named = [
        (figure, each)
        for each, (figure, _) in settings.items()
        if _EDGES.search(each) and each != name and figure > rows
    ]
    return named[0] if len(named) == 1 else None


def _passes(code: tuple[Line, ...]) -> bool:
    """Whether the program gathers rows of nodes and sums them by edges."""
    return any(_SUMS.search(line.text) for line in code) and any(_GATHERS.search(line.text) for line in code)


def edges_of(request: Request) -> int | None:
    """How many edges the layer was called with: pairs of indices, or one end of each."""
    for argument in request.failed.arguments:
        sizes = [size or 0 for size in argument.shape]
        if argument.dtype not in _INTEGERS or max(sizes, default=0) < _MANY_ROWS:
            continue
        if (len(sizes) == 2 and min(sizes) == 2) or (len(sizes) == 1 and _ENDS.match(argument.name)):
            return max(sizes)
    return None
