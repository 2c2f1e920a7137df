"""The two tables of a scan: a contract in the order of its columns, which Arrow and the docs repeat."""

from __future__ import annotations

import pytest

from tfmemlens.errors import MissingExtra
from tfmemlens.fleet import extras, schema

NAMES = {
    "incidents": """source offset line time team job rank host labels framework version device allocator
        limit_bytes in_use_bytes free_bytes largest_free_bytes requested_bytes shape dtype node op layer
        rule severity verdict action saves_bytes kinds occurrences signature report scan schema""",
    "inputs": """source size mtime etag status reason incidents team job rank host labels
        first_time last_time bytes_read seconds scan schema""",
}


@pytest.mark.parametrize("name", NAMES)
def test_columns_keep_their_order(name: str) -> None:
    assert [column.name for column in schema.TABLES[name]] == NAMES[name].split()


@pytest.mark.parametrize("name", NAMES)
def test_arrow_has_the_same_columns(name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = schema.TABLES[name]
    arrow = schema.arrow_schema(table)
    assert arrow.names == [column.name for column in table]
    for column, field in zip(table, arrow, strict=True):
        assert str(field.type) == column.type.replace("float64", "double")
        assert field.nullable is not column.always
        assert field.metadata[b"meaning"].decode() == column.meaning
    row = schema.empty(table) | {"source": "a.log", "verdict": "", "occurrences": 1, "status": "read"}
    assert pa.Table.from_pylist([row | {"labels": {"zone": "b"}}], arrow).to_pylist()[0]["labels"] == [
        ("zone", "b")
    ]


def test_markdown_has_a_row_for_each_column() -> None:
    lines = schema.markdown(schema.INPUTS).splitlines()
    assert len(lines) == 2 + len(schema.INPUTS)
    assert lines[3] == "| `size` | int64 | bytes | size in storage |"
    assert {line.count("|") for line in lines} == {5}


def test_what_is_not_installed_is_a_hint() -> None:
    with pytest.raises(MissingExtra) as missing:
        extras.load("tfmemlens_no_such_package.inner", "s3")
    assert missing.value.hint == "pip install tfmemlens[s3]"
