"""Workers of a server that share one GPU: their number is stated, and none is somebody else's."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

_FAILED = """TF 1.12, one GPU. `{server}` with a single worker is fine, several workers on one GPU fail:
OOM when allocating tensor with shape[64,96,3] and type float on \
/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
\t [[Node: Cast = Cast[DstT=DT_FLOAT, SrcT=DT_UINT8](DecodeJpeg)]]
"""


@pytest.mark.parametrize(
    ("server", "part"),
    [
        ("gunicorn -w 6 app:api", "fraction=0.15)   # of 6 workers"),
        ("uwsgi --http :80 --processes 4", "fraction=0.22)   # of 4 workers"),
    ],
)
def test_each_worker_of_a_server_gets_its_part(server: str, part: str) -> None:
    report = pipeline.explain(_FAILED.format(server=server))
    told = next(each for each in report.findings if each.rule == "processes-on-one-device")
    assert [each.slug for each in told.remedies][:2] == ["smaller-fraction", "fewer-processes"]
    assert part in (told.remedies[0].code or "")
