"""Encodings, lines of a text, and JSON of our own: what each rule takes, and its nearest misses."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tfmemlens.errors import UnreadableInput
from tfmemlens.readers.bytes import batches, json_events, own_json, own_pages, texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened


def opened(raw: bytes, **more: Any) -> Opened:
    return Opened("f", "f", io.BytesIO(raw), more.pop("size", len(raw)), **more)


class TestEncodings:
    @pytest.mark.parametrize(
        "head, encoding",
        [
            (b"\xff\xfea", "utf-16"),
            (b"\xfe\xffa", "utf-16"),
            (b"plain text of a log", "utf-8-sig"),
            (b"", "utf-8-sig"),
            ("a log line".encode("utf-16-le"), "utf-16-le"),
            ("a log line".encode("utf-16-be"), "utf-16-be"),
            ("abcd".encode("utf-16-le"), "utf-8-sig"),  # 8 bytes tell too little
            ("abcd".encode("utf-16-be"), "utf-8-sig"),
            ("abcd".encode("utf-16-le") + b"e", "utf-16-le"),
            ("abcde".encode("utf-16-be"), "utf-16-be"),
            (bytes(20), "utf-8-sig"),  # zeros everywhere
            (b"a\0b\0c\0d\0e\0f\0gxhxixjx", "utf-8-sig"),  # 6 of 10 are not more than six tenths
            (b"a\0b\0c\0d\0e\0f\0g\0hxixjx", "utf-16-le"),
            (b"\0a\0b\0c\0d\0e\0fxgxhxixj", "utf-8-sig"),
            (b"\0a\0b\0c\0d\0e\0f\0gxhxixj", "utf-16-be"),
            (b"\0\0" * 2 + b"a\0" * 8, "utf-16-le"),
            (b"\0\0" * 2 + b"\0a" * 8, "utf-16-be"),
            (b"\0\0" * 3 + b"a\0" * 7, "utf-8-sig"),
            (b"\0\0" * 3 + b"\0a" * 7, "utf-8-sig"),
        ],
    )
    def test_by_the_zeros(self, head: bytes, encoding: str) -> None:
        assert texts.encoding_of(head) == encoding

    def test_the_first_two_hundred_bytes_tell(self) -> None:
        wide = "x" * 61
        assert texts.encoding_of(wide.encode("utf-16-le") + b"y" * 78) == "utf-16-le"
        assert texts.encoding_of(wide[1:].encode("utf-16-le") + b"y" * 80) == "utf-8-sig"
        assert texts.encoding_of(wide.encode("utf-16-le") + b"y" * 999) == "utf-16-le"
        assert texts.encoding_of(wide.encode("utf-16-be") + b"y" * 999) == "utf-16-be"

    @pytest.mark.parametrize("count, binary", [(0, False), (20, False), (21, True)])
    def test_what_no_text_has_is_at_most_two_of_a_hundred(self, count: int, binary: bool) -> None:
        assert texts.looks_binary(b"a" * (1000 - count) + b"\x01" * count) is binary
        assert not texts.looks_binary(b"a" * 4096 + b"\x01" * count * 99)

    @pytest.mark.parametrize(
        "letter", [b"\x07", b"\x08", b"\t", b"\n", b"\r", b"\x0b", b"\x0c", b"\x1b", b"\x1f", b"\xe9", b" "]
    )
    def test_letters_of_texts(self, letter: bytes) -> None:
        assert not texts.looks_binary(letter * 9)

    @pytest.mark.parametrize("letter", [b"\0", b"\x06", b"\x0e", b"\x1a"])
    def test_letters_of_no_text(self, letter: bytes) -> None:
        assert texts.looks_binary(letter * 3)

    def test_wide_letters_are_text(self) -> None:
        assert not texts.looks_binary("a log line".encode("utf-16-le"))

    @pytest.mark.parametrize("raw, speaks", [(b"\0\0OOM when\0", True), (b"\0\0when\0", False)])
    def test_a_log_with_holes(self, monkeypatch: pytest.MonkeyPatch, raw: bytes, speaks: bool) -> None:
        monkeypatch.setattr(texts, "SMALL", 100)
        assert texts.speaks_of_memory(opened(raw)) is speaks
        assert texts.speaks_of_memory(opened(raw, size=texts.SMALL + 1)) is speaks
        late = opened(bytes(texts.SMALL) + raw)
        assert not texts.speaks_of_memory(late)


class TestLines:
    def of(self, raw: bytes, **more: Any) -> list[tuple[int, str]]:
        lines, whole = texts.text_lines(opened(raw, **more))
        assert whole
        return list(lines)

    def test_are_numbered_from_one(self) -> None:
        assert self.of(b"a\nb\r\nc") == [(1, "a"), (2, "b"), (3, "c")]

    def test_a_carriage_return_begins_a_line_of_the_same_number(self) -> None:
        assert self.of(b"10%\r20%\r\nb") == [(1, "10%"), (1, "20%"), (2, "b")]

    def test_eight_blank_lines_say_all(self) -> None:
        found = self.of(b"a" + b"\n" * 12 + b"b" + b"\n" * 3 + b"c")
        assert [number for number, text in found if not text] == [*range(2, 10), 14, 15]
        assert [(number, text) for number, text in found if text] == [(1, "a"), (13, "b"), (16, "c")]

    def test_in_other_encodings(self) -> None:
        assert self.of("a log\nline é".encode("utf-16")) == [(1, "a log"), (2, "line é")]
        assert self.of(b"\xef\xbb\xbfa\xff") == [(1, "a\ufffd")]

    def test_what_another_format_takes_is_left_out(self) -> None:
        assert self.of(b"a\nb\nc", taken=(lambda text: text == "b", lambda text: text == "z")) == [
            (1, "a"), (3, "c"),
        ]  # fmt: skip

    def test_in_a_long_text_numbers_are_places(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(texts, "SMALL", 10_000)
        filler = b"x" * 99 + b"\n"
        raw = filler * (texts.SMALL // 100 + 1) + b"ResourceExhaustedError: OOM when allocating\n"
        for given in (raw, raw.decode().encode("utf-16")):
            lines, whole = texts.text_lines(opened(given))
            assert not whole
            assert [number for number, text in lines if "OOM when" in text] == [len(raw) - 44]


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_pieces_of_any_size_are_the_same_text(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Messages that are taken together, and a wide text that is recoded, whose letters pieces may cut."""
    monkeypatch.setattr(batches, "_TOGETHER", size)
    taken = list(batches.batches(range(20)))
    assert [number for each in taken for number in each] == [*range(20)]
    assert max(map(len, taken)) == min(size, 20)
    monkeypatch.setattr(texts, "_PIECE", size)
    monkeypatch.setattr(texts, "SMALL", 10)
    lines, _ = texts.text_lines(opened("é: OOM when allocating\nbelow".encode("utf-16")))
    assert (0, "é: OOM when allocating") in list(lines)


class TestOwnJson:
    @pytest.mark.parametrize(
        "text, sure",
        [
            (b'{"a": 1}', True),
            (b' \n{ "a" : 1}', True),
            (b'{"b": 1}', False),
            (b'[{"a": 1}]', False),
            (b'{"ab": 1}', False),
            (b'{"b": {"a": 1}}', False),
            (b" " * 196 + b'{"a"', True),
            (b" " * 197 + b'{"a"', False),
        ],
    )
    def test_begins_with_its_key(self, text: bytes, sure: bool) -> None:
        sample = Sample(opened(text), text, is_text=True)
        assert own_json.sniff(sample, "a") is (Confidence.CERTAIN if sure else Confidence.NO)

    def test_is_read_whole_or_refused(self) -> None:
        assert own_json.read(opened(b'{"a": 1}')) == {"a": 1}
        assert own_json.read(opened(b'{"a": 1}', size=64 << 20)) == {"a": 1}
        for refused in (opened(b'{"a": 1}', size=(64 << 20) + 1), opened(b'{"a"'), opened(b"[" * 100_000)):
            with pytest.raises(UnreadableInput):
                own_json.read(refused)

    @pytest.mark.parametrize(
        "value, known", [(3, 3), (0, 0), (-1, None), (1.5, None), ("3", None), (None, None)]
    )
    def test_numbers(self, value: object, known: int | None) -> None:
        assert own_json.number({"n": value}, "n") == known
        assert own_json.number({}, "n") is None

    def test_rows_and_shapes(self) -> None:
        assert own_json.rows({"r": [{"a": 1}, 3, None, {}]}, "r") == [{"a": 1}, {}]
        assert own_json.rows({"r": {"a": 1}}, "r") == own_json.rows({}, "r") == []
        assert own_json.shape({"shape": [3, 0, -1, "4", None]}) == (3, 0, 0, 0, 0)
        assert own_json.shape({"shape": 3}) == own_json.shape({}) == ()


class TestEvents:
    @pytest.mark.parametrize(
        "text, start",
        [
            (b'{"traceEvents": [1]', 17),
            (b'\xef\xbb\xbf {"a": [1], "b": {}, "c": -1.5e3, "traceEvents":[', 52),
            (b'[{"name": "x", "ph": "M"}', 1),
            (b' \xef\xbb\xbf[{"ph": 1', -1),
            (b'  [ {"ph":', 3),
            (b"{}", -1),
        ],
    )
    def test_where_they_begin(self, text: bytes, start: int) -> None:
        assert json_events.start_of(text) == start

    def of(self, raw: bytes) -> list[Any]:
        return list(json_events.events(opened(raw)))

    def test_what_ends_well_ends_without_a_word(self) -> None:
        assert self.of(b'{"traceEvents": [{"a": 1} , 3,\n{"b": 2}], "x": [{"c": 3}]}') == [{"a": 1}, {"b": 2}]
        assert self.of(b'{"traceEvents": []}') == []
        assert self.of(b"nothing") == []

    @pytest.mark.parametrize(
        "rest, said",
        [
            (b"", "its end is missing"),
            (b",", "its end is missing"),
            (b', {"b"', "it is cut in the middle of an event"),
            (b", x]", "it is cut in the middle of an event"),
        ],
    )
    def test_what_does_not_says_so(self, rest: bytes, said: str) -> None:
        assert self.of(b'{"traceEvents": [{"a": 1}' + rest) == [{"a": 1}, said]

    @pytest.mark.parametrize("most, said", [(20, "damaged"), (10_000, "cut in the middle")])
    def test_an_event_without_an_end_is_not_waited_for(
        self, monkeypatch: pytest.MonkeyPatch, most: int, said: str
    ) -> None:
        monkeypatch.setattr(json_events, "PIECE", 16)
        monkeypatch.setattr(json_events, "_LARGEST_EVENT", most)
        *whole, last = self.of(b'{"traceEvents": [{"a": 1}, {"b": "' + b"x" * 100)
        assert whole == [{"a": 1}]
        assert said in last

    def test_as_large_as_may_be(self, monkeypatch: pytest.MonkeyPatch) -> None:
        event = {"name": "x" * 40}
        monkeypatch.setattr(json_events, "PIECE", 8)
        raw = b'{"traceEvents": [' + json.dumps(event).encode() + b"]}"
        monkeypatch.setattr(json_events, "_LARGEST_EVENT", len(json.dumps(event)))
        assert self.of(raw) == [event]
        monkeypatch.setattr(json_events, "_LARGEST_EVENT", 30)
        assert self.of(raw) == ["one of its events is damaged"]


class TestOwnPages:
    MARK = b'<meta name="generator" content="tfmemlens">'

    @pytest.mark.parametrize(
        "head",
        [
            b"<!doctype html>\n<head>" + MARK,
            b"\xef\xbb\xbf\n<!DOCTYPE HTML>" + MARK,
            b"<!-- saved from a browser --><html>" + MARK,
            b"<html><meta name=generator content=tfmemlens>",
            b'<html><meta name="generator" content="tfmemlens 0.2">',
        ],
    )
    def test_pages_bear_their_mark(self, head: bytes) -> None:
        assert own_pages.is_page(head)

    @pytest.mark.parametrize(
        "head",
        [
            b"",
            MARK,  # a log that quotes a page
            b"grep says: <html>" + MARK,
            b"<html><title>tfmemlens</title>",
            b'<html><meta name="generator" content="another">tfmemlens',
            b'<html><meta name="generator" content="tfmemlensing">',
        ],
    )
    def test_others_do_not(self, head: bytes) -> None:
        assert not own_pages.is_page(head)

    CARD = b'<div style="color:inherit" data-tfmemlens="train.log">'

    @pytest.mark.parametrize(
        "head, own",
        [
            (CARD, True),
            (b"\n<html><body>" + CARD, True),
            (b"<!-- kept -->" + b" " * 1011 + CARD, True),
            (b"<!-- kept -->" + b" " * 1012 + CARD, False),  # a notebook that holds a card tells more
            (b"the card: " + CARD, False),
            (b'<div style="color:inherit">', False),
        ],
    )
    def test_cards_are_known_where_they_begin(self, head: bytes, own: bool) -> None:
        assert own_pages.is_own(head) is own
        assert not own_pages.is_page(head)

    @pytest.mark.parametrize(
        "source, hint",
        [
            ("train.log", "give the file that it was made from, train.log"),
            ("a &amp; b.log", "give the file that it was made from, a & b.log"),
            ("", "give the file that it was made from"),
            ("(text)", "give the file that it was made from"),
            ("-", "give the file that it was made from"),
        ],
    )
    def test_they_are_refused_with_what_they_were_made_from(self, source: str, hint: str) -> None:
        page = b'<html>%b<p class="source"><bdi title="%b">' % (self.MARK, source.encode())
        card = b'<div style="" data-tfmemlens="%b">' % source.encode()
        for head in (page, card):
            with pytest.raises(UnreadableInput) as refused:
                own_pages.refuse(head, "old.html")
            assert refused.value.sentence == "old.html is a page that tfmemlens wrote, not a log or trace"
            assert refused.value.hint == hint

    def test_other_pages_are_read(self) -> None:
        own_pages.refuse(b"<html><pre>OOM when allocating</pre>", "issue.html")
