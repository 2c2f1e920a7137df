"""Lists of buffers of which the largest are not in the text: what is left is not the matter."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first

_WEIGHT = "\tBuffer {0}:\n\t\tSize: 2.00MiB\n\t\tEntry Parameter Subshape: f32[512,1024]\n\t\t{1}\n\n"
_NORM = (
    '\tBuffer {0}:\n\t\tSize: 64.00MiB\n\t\tOperator: op_name="jit(step)/jit(main)/net/{1}"'
    ' source_file="{2}" source_line=40\n\t\tXLA Label: fusion\n\t\tShape: f32[64,256,1024]\n\t\t{3}\n\n'
)
_RULE = "=" * 26
_WEIGHTS = "".join(_WEIGHT.format(number, _RULE) for number in (8, 9))
_CELL = """-----------------------------------------------------------
XlaRuntimeError                  Traceback (most recent call last)
Cell In[7], line 4
      2 import jax
      3 {taken}
----> 4 masks = segment(params, clip)

Cell In[2], line 20, in segment(params, clip)
     19 key = jax.random.PRNGKey(1)
---> 20 out = apply(params, key, clip)
"""


@pytest.mark.parametrize(
    ("taken", "told"),
    [("clip = video[:300]", True), ("other = video[:300]", False), ("clip = video[:3]", False)],
)
def test_the_traceback_below_it_is_its_own(taken: str, told: bool) -> None:
    text = _WEIGHTS + _CELL.format(taken=taken)
    report = explained(text)
    request = report.case.moments[0].request
    assert request and request.failed.source == "In[2]:20"
    assert "arguments of at most 2.00 MiB" in report.verdict
    assert first(text).startswith("`apply` (In[2]:20) computes all that it is given at once")
    assert ("gives it 300 of `clip`" in first(text)) is told


@pytest.mark.parametrize(
    ("files", "source"),
    [(("/u/net.py", "/u/b.py"), "/u/net.py:40"), (("/v/site-packages/x.py", "/u/b.py"), None)],
)
def test_a_line_further_down_is_not_what_failed(files: tuple[str, str], source: str | None) -> None:
    text = "".join(
        _NORM.format(number, name, file, _RULE)
        for number, name, file in zip((8, 9), ("dot", "norm"), files, strict=True)
    )
    request = explained(text).case.moments[0].request
    assert request and request.failed.source == source
