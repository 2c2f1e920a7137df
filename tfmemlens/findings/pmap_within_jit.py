"""JAX warned that a jitted function includes a pmap: the outer jit gathers its arrays on one device.

What it means: pmap spreads its arguments over the devices, and jit around it knows nothing of that: all that
goes in and comes out passes through the first device, whole.
When it fires: the warning stands in a text in which memory of a device ran out.
What to do: call the pmapped function outside of jit, or write it with shard_map, which jit understands.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the request"

_FUNCTION = regex(r"The jitted function (?P<name>\S{1,120}) includes a pmap")


def check(case: Case) -> Iterator[Finding]:
    line = case.capture.surroundings.shows("pmap within jit")
    match = _FUNCTION.search(line.text) if line else None
    if line is None or match is None or framework_of(case) != JAX:
        return
    for index, moment, request in list(requests(case))[:1]:
        if on_host(moment):
            continue
        because = (
            f"JAX warned that the jitted `{match['name']}` includes a pmap: the outer jit gathers all that"
            " goes in and comes out on one device"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=request.needed_bytes,
            evidence=(Evidence("the warning", line), Evidence("the message", request.failed.line)),
            remedies=(
                Remedy(
                    f"call the pmapped function outside of jit, or write it with shard_map: `{match['name']}`"
                    " then keeps its arrays spread over the devices",
                    "f = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P('data'), out_specs=P('data')))",
                    slug="no-pmap-within-jit",
                ),
            ),
            moment=index,
        )
