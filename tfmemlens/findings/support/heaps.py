"""What helps where a heap, an arena or a count of memory is full that another program keeps for itself."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace

TENSTORRENT = "Tenstorrent's runtime"
OF_HOST_RAM = "PyTorch in host RAM"
_OF_PHYSICAL = regex(r"physicalBytes (?:\(|= ?\d)|maxPhysicalBytes")
_HEAPS = {
    TENSTORRENT: Remedy(
        "let the device hold less: weights and activations in bfloat16, a smaller batch, shorter sequences,"
        " an optimizer with fewer slots, or arrays sharded over several chips. Settings of JAX's pool for"
        " GPUs (XLA_PYTHON_CLIENT_*) do nothing there",
        slug="smaller-model",
    ),
    "ONNX Runtime": Remedy(
        "let fewer requests and sessions compute at once (of a Triton server: instance_group's count,"
        " max_batch_size), or feed smaller batches or inputs. Its arena keeps what it once took, and by"
        " default grows to the next power of two: let it take what is asked for, with a limit"
        " where others share the GPU",
        "providers=[('CUDAExecutionProvider', {'arena_extend_strategy': 'kSameAsRequested',"
        " 'gpu_mem_limit': 4 << 30})]",
        slug="other-arena",
    ),
    OF_HOST_RAM: Remedy(
        "hold less in host RAM at once (a smaller batch, fewer workers of the DataLoader, data that are read"
        " in parts), end other programs, or let the system swap more (on Windows a larger page file)",
        slug="smaller-batch",
    ),
    "JavaScript": Remedy(
        "give JavaScript's heap more (unless told otherwise it takes some 2 to 4 GB, whatever RAM there is),"
        " and load large models from files or URLs rather than from strings within the program",
        "node --max-old-space-size=8192 app.js",
        slug="larger-heap",
    ),
    "Java": Remedy(
        "see what the heap holds (large lists, files that are read whole), and give it more where that is"
        " needed; native memory of TensorFlow lies beside it",
        "jmap -histo PID   # then, where it must be, a larger -Xmx",
        slug="larger-heap",
    ),
    "R": Remedy(
        "hold less in R at once: a number takes 8 bytes there, and an expression (x / 255, array_reshape,"
        " abind) makes a further array of the same size. Let the data be read from files in batches, or work"
        " on parts, and give back what is no longer needed. A smaller batch of fit() changes nothing of it",
        "flow_images_from_directory(dir, batch_size = 32)   # library(tfdatasets); rm(x_raw); gc()",
        slug="read-in-parts",
    ),
}
_OF_JAVACPP = Remedy(
    "this limit is JavaCPP's own: it counts the process's resident memory, which some collectors (ZGC) make"
    " look several times as large, against twice the heap; raise it or switch it off, where the machine"
    " shows room",
    "java -Dorg.bytedeco.javacpp.maxPhysicalBytes=0 ...   # 0: no limit",
    slug="larger-heap",
)
_CLOSE_EACH = Remedy(
    "close the tensors of each call, those that are fed and those that it returns: their memory is native,"
    " and the garbage collector does not see how large they are. Where the process's memory then stays flat,"
    " that was it",
    'try (Tensor x = ...; var results = session.runner().feed("x", x).fetch("y").run()) { ... }',
    slug="close-tensors",
)
_FILE_IN_PARTS = Remedy(
    "read the data in parts instead of collecting all rows in an array: objects and arrays of numbers in"
    " JavaScript's heap take several times what a tensor of them does, which lies outside of it",
    "tf.data.csv(url, {columnConfigs}).batch(64)   // then: model.fitDataset(...)",
    slug="read-in-parts",
)
_MIB_OF_A_GIB = 1024
_RUNS = regex(r"\.runner\(\)|\bsession\.run\(|\.call\(")
_CLOSES = regex(r"\btry ?\(|\.close\(\)|\.use ?\{|TensorScope|closeables?\b")
_ROWS = regex(r"\.push\(|\.concat\(|JSON\.parse\(|readFileSync\(")


def of_a_heap(case: Case, name: str, line: Line) -> Iterator[Remedy]:
    """What helps where another program's own heap, arena or count of memory is full."""
    code = [each.text for each in code_lines(case.capture.surroundings)]
    if name == "Java" and _OF_PHYSICAL.search(line.text):
        if any(map(_RUNS.search, code)) and not any(map(_CLOSES.search, code)):
            yield _CLOSE_EACH
        yield _OF_JAVACPP
        return
    if name == "JavaScript" and any(map(_ROWS.search, code)):
        yield _FILE_IN_PARTS
    if name in _HEAPS:
        yield _larger(case, _HEAPS[name]) if name == "JavaScript" else _HEAPS[name]


def _larger(case: Case, remedy: Remedy) -> Remedy:
    """The same of a heap whose size the text states: twice as much, as far as the machine has RAM."""
    given = case.capture.surroundings.setting("max_old_space_size")
    if given is None:
        return remedy
    size, line = int(given[0]), given[1]
    room = f"{size / _MIB_OF_A_GIB:.3g} GiB"
    return replace(
        remedy,
        text=f"its heap was given {room} already ({line.place}), and that was not enough: give it more only"
        " where the machine has the RAM, and see first what it holds",
        code=f"node --max-old-space-size={2 * size} --heapsnapshot-near-heap-limit=1 app.js",
    )
