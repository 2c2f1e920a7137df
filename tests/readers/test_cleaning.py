"""What stands in a line after terminals, loggers and web pages are undone, and what must stay."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.readers.oom.cleaning import clean, continues, is_escaped_bytes, strip_prefixes
from tfmemlens.readers.oom.compiler import parse_hlo_shape
from tfmemlens.readers.oom.wraps import find_wrap


def cleaned(text: str) -> list[str]:
    return [line.line.text for line in clean([(1, text)])]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("**OOM when allocating tensor**", "OOM when allocating tensor"),
        ("**OOM when allocating tensor", "OOM when allocating tensor"),
        ("see **this** and **that one**.", "see this and that one."),
        ("loss = x**2 + y**2", "loss = x**2 + y**2"),
        ("model.fit(**options)", "model.fit(**options)"),
        ("n = rows ** 2", "n = rows ** 2"),
    ],
)
def test_bold_letters_go_and_powers_stay(text: str, kept: str) -> None:
    assert cleaned(text) == [kept]


def test_a_windows_path_is_no_line_break() -> None:
    text = r'File "C:\work\training\networks.py", line 3\nResource exhausted: OOM when allocating\t[[x]]'
    assert cleaned(text) == [
        r'File "C:\work\training\networks.py", line 3',
        "Resource exhausted: OOM when allocating\t[[x]]",
    ]


@pytest.mark.parametrize(
    ("digits", "kept"),
    [("18446744073709551615", "18446744073709551615"), ("1" * 21, "…"), ("9" * 400, "…")],
)
def test_a_figure_without_end_is_none(digits: str, kept: str) -> None:
    assert cleaned(f"Chunk of size {digits} bytes") == [f"Chunk of size {kept} bytes"]


def test_figures_of_hundreds_of_digits_yield_a_page() -> None:
    for figure in ("9" * 20, "9" * 400):
        report = pipeline.explain(
            f"OOM when allocating tensor with shape[{figure},{figure}] and type float on"
            " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
        )
        assert report.case.moments[0].request is not None
        assert report.case.moments[0].request.needed_bytes is None


def test_what_no_machine_can_count_is_no_size() -> None:
    assert tensor_bytes((2**70,), "float32") == 2**72
    assert tensor_bytes((2**79,), "float32") is None


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[512,<=245]{1,0}", (512, 245)),
        ("f32[]", ()),
        ("f32[2=6,3]", None),
        ("f32[<,3]", None),
        ("(f32[2], s32[3])", None),
    ],
)
def test_a_garbled_shape_of_a_compiler_is_none(text: str, shape: tuple[int, ...] | None) -> None:
    assert parse_hlo_shape(text)[0] == shape


def lines(*texts: str) -> list[str]:
    """The logical lines of a text."""
    return [each.line.text for each in clean(enumerate(texts, 1))]


SENTENCE = (
    "OOM when allocating tensor with shape[8,256,256,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)


class TestCharacters:
    @pytest.mark.parametrize(
        ("text", "kept"),
        [
            ("\x1b[31mOOM when\x1b[0m x", ["OOM when x"]),
            (
                "\x1b(B\x1b[mOOM \x1b(0when\x1b7 x\x1bc\x1b=",
                ["OOM when x"],
            ),  # tput sgr0, a screen that is cleared
            ("[31;1mOOM when[0m x", ["OOM when x"]),
            ("^[[31mOOM when", ["OOM when"]),
            ("OOM\xa0when \u2018a\u2019 \u201cb\u201d 1\u22122\u2026", ["OOM when 'a' \"b\" 1-2..."]),
            ("a &lt;x&gt; &amp;lt;", ["a <x> <"]),
            ("<p>a<br/>b</p>", ["a", "b"]),
            ("<p>it says</p><pre>OOM when</pre><p>why?</p>", ["it says", "OOM when", "why?"]),
            ("a < b and c > d", ["a < b and c > d"]),
            (r"net\_a\[0\]", ["net_a[0]"]),
            (r"C:\Users\net\_a", [r"C:\Users\net\_a"]),
            (r"OOM when\n  x\"y", ["OOM when", '  x"y']),
            (r"step 3\nstep 4", [r"step 3\nstep 4"]),
            ('{"log":"OOM when\\n","stream":"stderr"}', ["OOM when"]),
            ('{"log":"OOM \\u0041\\n"', ["OOM A"]),
            ('{"log":OOM', ['{"log":OOM']),
            ("*" * 20 + "**x** ", ["*" * 20 + "**x** "]),
        ],
    )
    def test_what_terminals_and_pages_put_into_a_line(self, text: str, kept: list[str]) -> None:
        assert cleaned(text) == kept

    def test_quotes_and_fences(self) -> None:
        assert lines("```text", "> OOM when", "~~~", "x", "> > y") == ["OOM when", "x", "y"]
        assert lines("# 2019-01-01 x", "# OOM x", "# A remark") == ["2019-01-01 x", "OOM x", "# A remark"]


class TestPrefixes:
    @pytest.mark.parametrize(
        ("text", "rank", "origin", "bare"),
        [
            ("2019-01-01 10:00:00.123456: W tensorflow/core/a.cc:42] x", "", "tensorflow/core/a.cc", "x"),
            ("W tensorflow/core/a.cc:42] x", "", "tensorflow/core/a.cc", "x"),
            ("W 17 tensorflow/core/a.cc:42] x", "", "tensorflow/core/a.cc", "x"),
            ("W0101 10:00:00.123456   17 bfc_allocator.cc:42] x", "", "absl:bfc_allocator.cc", "x"),
            ("W0000 00:00:1731000000.123456   17 bfc_allocator.cc:42] x", "", "bfc_allocator.cc", "x"),
            ("W0101 10:00:00.123456   17 train.py:42] x", "", "", "x"),
            ("[1,3]<stderr>:x", "1,3", "", "x"),
            ("(trainer pid=12, ip=1.2.3.4) x", "trainer pid=12, ip=1.2.3.4", "", "x"),
            ("[rank 3]: x", "rank 3", "", "x"),
            ("worker_1 | x", "worker_1", "", "x"),
            ("[7]: x", "7", "", "x"),
            ("[1,3]<stderr>:[rank 2]: x", "1,3", "", "x"),
            ("2019-01-01T10:00:00.1Z stderr F [1,0]<stdout>:W a.cc:4] x", "1,0", "a.cc", "x"),
            ("INFO:root: x", "", "", "x"),
            ("Jan  3 10:00:00 host python[12]: x", "", "", "x"),
            ("plain words", "", "", "plain words"),
        ],
    )
    def test_who_said_it(self, text: str, rank: str, origin: str, bare: str) -> None:
        assert strip_prefixes(text) == (rank, origin, bare)

    def test_the_month_of_the_first_line_that_has_one(self) -> None:
        stamp = "2018-{}-07 10:00:00.123456: W a.cc:42] x"
        found = list(clean(enumerate([stamp.format(month) for month in ("09", "10")], 1)))
        assert [each.month for each in found] == ["2018-09", ""]
        python = list(clean([(1, "2018-09-07 10:00:00 x"), (2, stamp.format("10"))]))
        assert [each.month for each in python] == ["", "2018-10"]


class TestNumbersBeforeLines:
    def test_rising_numbers_are_lines_others_ranks(self) -> None:
        assert lines(*(f"{at}:x{at}" for at in range(5, 10))) == [f"x{at}" for at in range(5, 10)]
        ranks = list(clean(enumerate((f"{at}: x" for at in (0, 1, 0, 1, 0)), 1)))
        assert [(each.rank, each.line.text) for each in ranks] == [
            (f"rank {at}", "x") for at in (0, 1, 0, 1, 0)
        ]

    def test_four_are_too_few(self) -> None:
        assert lines(*(f"{at}:x" for at in range(4))) == [f"{at}:x" for at in range(4)]

    @pytest.mark.parametrize(("others", "counted"), [(1, True), (2, False)])
    def test_a_tenth_may_have_none(self, others: int, counted: bool) -> None:
        found = lines(*(f"{at}:x{at}" for at in range(9)), *["other"] * others)
        assert (found[0] == "x0") is counted

    def test_launchers_speak_without_a_number(self) -> None:
        assert lines(*(f"{at}:x{at}" for at in range(5)), *["srun: error"] * 3)[:2] == ["x0", "x1"]

    @pytest.mark.parametrize(
        ("texts", "kept"),
        [
            (["# a", "# b", "# c"], ["a", "b", "c"]),
            (["# a", "# b"], ["# a", "# b"]),
            (["# a"] * 9 + ["b"], ["a"] * 9 + ["b"]),
            (["# a"] * 8 + ["b"], ["# a"] * 8 + ["b"]),
            (["E a", "E b", "E c"], ["a", "b", "c"]),
        ],
    )
    def test_a_mark_before_nearly_every_line(self, texts: list[str], kept: list[str]) -> None:
        assert lines(*texts) == kept


BROKEN_AT_40 = ["x" * 40, "y", "x" * 40, "z", "x" * 40, "y"]


class TestBrokenLines:
    def test_a_terminal_breaks_at_one_column(self) -> None:
        long = [f"{word} " + "abcdefg " * 30 for word in ("one", "two", "six")]
        broken = [text[at : at + 80] for text in long for at in range(0, len(text), 80)]
        wrap = find_wrap(broken, continues)
        assert wrap is not None and wrap.width == 80
        assert [text.rstrip() for text in lines(*broken)] != broken

    @pytest.mark.parametrize(
        ("texts", "width"),
        [
            (["x" * 40, "y", "x" * 40, "z", "x" * 40, "y"], 40),
            (["x" * 40, "y", "x" * 40, "z"], None),  # three at least
            (["x" * 40, "y"] * 3, None),  # the same line below each carries nothing on
            (["x" * 39, "y", "x" * 39, "z", "x" * 39, "y"], None),  # of 40 columns at least
            ([*BROKEN_AT_40, "x" * 40, "Traceback"], 40),
            ([*BROKEN_AT_40, *["x" * 40, "Traceback"] * 2], None),  # as many whole lines of that length
            ([*BROKEN_AT_40, "x" * 60, "Traceback"], 40),
            ([*BROKEN_AT_40, *["x" * 60, "Traceback"] * 2], None),  # longer ones are none of a terminal
        ],
    )
    def test_when_a_column_is_a_terminals(self, texts: list[str], width: int | None) -> None:
        wrap = find_wrap(texts, continues)
        assert (wrap and wrap.width) == width

    @pytest.mark.parametrize("cut", [10, 24, 43, 60, 76, 100, len(SENTENCE) - 4])
    def test_a_sentence_takes_the_lines_that_make_it_whole(self, cut: int) -> None:
        head, tail = SENTENCE[:cut], SENTENCE[cut:]
        found = lines("W " + head, tail, "next")
        assert len(found) == (3 if cut < 19 else 2)
        if cut >= 19:
            assert "".join(found[0].split()) == "W" + "".join(SENTENCE.split())

    def test_no_more_than_four_lines(self) -> None:
        parts = [
            "OOM when allocating tensor with",
            "shape[8]",
            "and",
            "type float on",
            "/device:GPU:0",
            "by allocator GPU_0_bfc",
        ]
        assert len(lines(*parts)) < len(parts)
        assert lines("[[node a", "Traceback", "]]") == ["[[node a", "Traceback", "]]"]

    def test_lists_without_line_breaks(self) -> None:
        assert lines("Current usage: 1.0KiB from a  2.0KiB from b  Remaining 3 nodes with 1B") == [
            "Current usage:", "1.0KiB from a", "2.0KiB from b", "Remaining 3 nodes with 1B",
        ]  # fmt: skip
        glued = "50%|###2019-01-01 10:00:00.123456: W a.cc:42] x"
        assert [(each.origin, each.line.text) for each in clean([(1, glued)])] == [
            ("", "50%|###"),
            ("a.cc", "x"),
        ]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (
            "[<ipython-input-43-518c>](https://localhost:8080/#) in <cell line: 1>()",
            "<ipython-input-43-518c> in <cell line: 1>()",
        ),
        ("[/usr/lib/run.py](https://localhost:8080/#) in run(op)", "/usr/lib/run.py in run(op)"),
        (
            "File ~/fit.py:[2](https://vscode-remote+ssh.vscode-resource.net/fit.py:2), in f(x)",
            "File ~/fit.py:2, in f(x)",
        ),
        ("Cell In[3], line [7](vscode-notebook-cell:?execution_count=3&line=7)", "Cell In[3], line 7"),
        (
            "see [the guide](https://www.tensorflow.org/guide)",
            "see [the guide](https://www.tensorflow.org/guide)",
        ),
    ],
)
def test_links_of_notebooks_go(text: str, bare: str) -> None:
    assert cleaned(text) == [bare]


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ('tensor_content: "' + r"0\003\t>\350\247\003>z\rL?X\241\377>" * 9, True),
        (r"0\003\t>\350\247\003>", False),  # short: it may stand in any message
        (r"C:\Users\me\AppData\Local\Programs\tensorflow\core\framework " * 9, False),
        (r"\033[1m\033[31mOOM\033[0m " * 20, False),
        (r"OOM when allocating tensor with shape[2,3]\n" * 20, False),
    ],
)
def test_the_content_of_a_tensor_is_no_text(text: str, bytes_: bool) -> None:
    assert is_escaped_bytes(text) is bytes_


def test_a_message_above_the_content_of_a_tensor_is_read() -> None:
    content = "Cannot parse tensor from proto: " + r"\003\t>\350\247" * 200
    message = (
        "ResourceExhaustedError: OOM when allocating tensor with shape[512,512] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    )
    verdict = pipeline.explain(f"{message}\n{content}\n").verdict
    assert "[512,512] float32" in verdict


def test_a_pods_prefix_names_the_process_whatever_follows() -> None:
    rows = [
        f"[pod/job-{pod}/tf] 2023-05-03 10:00:{at:02d},001 INFO train.py:8 step {at}"
        for at in range(9)
        for pod in (0, 1)
    ]
    cleaned = list(clean(enumerate(rows, 1)))
    assert {line.rank for line in cleaned} == {"job-0/tf", "job-1/tf"}
    assert cleaned[-1].line.text.endswith("step 8") and "pod" not in cleaned[-1].line.text
