"""Lines that look like a program's end, whoever wrote them: for texts in which nothing else is understood."""

from __future__ import annotations

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule, RuleTable

ENDS = {
    "an OpenCL driver": LineRule(
        r"Out of (?:host|device) memory|\bCL_OUT_OF_\w+|\bCL_MEM_OBJECT_ALLOCATION_FAILURE\b"
        r"|\bcl[A-Z]\w{3,40}\b.{0,80}(?:fail|error)|\bOpenCL\b.{0,80}(?i:fail|error)",
        "E tflite: Failed to build program executable - Out of host memoryError: Program not built!",
        "clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES",
        needs=("out of host", "out of device", "cl_", "opencl", "clenqueue", "clcreate", "clbuild"),
    ),
    "a Vulkan driver": LineRule(
        r"\bVK_ERROR_\w+|\bvk::\w*Error\b",
        "vkAllocateMemory failed: VK_ERROR_OUT_OF_DEVICE_MEMORY",
        needs=("vk_error", "vk::"),
    ),
    "Direct3D": LineRule(
        r"\bDXGI_ERROR_\w+|\b0x887[Aa]00\w\w\b|\bE_OUTOFMEMORY\b|\b0x8007000[Ee]\b",
        "F dml_util: HRESULT failed with 0x887a0005: device->GetDeviceRemovedReason()",
        "HRESULT failed with 0x8007000e: E_OUTOFMEMORY",
        needs=("dxgi_error", "0x887a", "e_outofmemory", "0x8007000e"),
    ),
    "ROCm": LineRule(
        r"\bhip(?:Error[A-Z]\w+|_error\w*)|\bHSA_STATUS_ERROR\w*",
        "Memory access fault: HSA_STATUS_ERROR_OUT_OF_RESOURCES",
        "failed: hipErrorLaunchOutOfResources",
        needs=("hiperror", "hip_error", "hsa_status"),
    ),
    "Rust": LineRule(
        r"\bthread '[^']{0,80}'(?: \(\d+\))? panicked at|\bmemory allocation of \d+ bytes failed",
        "thread 'main' panicked at src/main.rs:41:10:",
        "memory allocation of 8589934592 bytes failed",
        needs=("panicked at", "memory allocation of"),
    ),
    "Go": LineRule(
        r"\A\s*(?:panic: |fatal error: runtime:)",
        "fatal error: runtime: out of memory",
        needs=("panic: ", "fatal error: "),
    ),
    "Java": LineRule(
        r"\bException in thread \"|\A\s*(?:Caused by: )?"
        r"(?:java|javax|android|androidx|kotlin|scala|com|org|net|io|edu|gov|ai|de|fr|uk|cn|jp|ru)"
        r"\.(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Error|Exception)\b"
        r"|\A\s*(?:Caused by: )?java\.[a-z]\w*\.[A-Z]\w*(?:Error|Exception)\b"
        r"|\bAndroidRuntime: .{0,40}(?:Exception|Error)\b",
        'Exception in thread "main" java.lang.IllegalStateException: Cannot allocate',
        "org.tensorflow.exceptions.TFInvalidArgumentException: No session factory registered",
        "E AndroidRuntime: java.lang.IllegalArgumentException: Internal error: Failed to apply delegate",
        needs=("exception", "error"),
    ),
    "R": LineRule(
        r"\A\s*Error in \w[\w.]{0,60}\(",
        "Error in py_call_impl(callable, dots$args, dots$keywords) :",
        needs=("error in ",),
    ),
    "Python": LineRule(
        r"\A\s*(?:E +)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Died)\w*: \S"
        r"|\A\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\s*\Z",
        "InternalError: No allocator statistics",
        "subprocess.CalledProcessError: Command 'python train.py' returned non-zero exit status 1.",
        needs=("error", "exception", "exit", "interrupt", "died"),
    ),
    "JavaScript": LineRule(
        r"\A\s*(?:Uncaught (?:\(in promise\) )?|\(node:\d+\) )(?:Unhandled|[A-Z])\w*"
        r"|\A\s*Error: .{0,200}(?:WebGL|shader|texture|\b[\w-]+\.[cm]?js\b|[Tt]ensor\.dispose|tfjs)",
        "Uncaught (in promise) Error: Failed to compile fragment shader.",
        "Error: Requested texture size [20000x4096] greater than WebGL maximum",
        needs=("uncaught", "error: ", "unhandled"),
    ),
    "C++": LineRule(
        r"\bterminate called after\b|\A\s*what\(\): |\bF [\w/]+\.(?:cc|cpp|cu|h):\d+\]"
        r"|\bAborted\s*\Z|\A\s*(?:libc\+\+abi|libprotobuf FATAL)\b",
        "terminate called after throwing an instance of 'std::system_error'",
        "2021-01-01 10:00:00.0: F tensorflow/core/framework/tensor.cc:681] Check fails",
        needs=("terminate called", "what():", "f tensorflow", "aborted", "libc++abi", "protobuf fatal"),
    ),
    "the process's exit status": LineRule(
        r"(?i)\bexit(?:ed|s)?(?: \w+)? (?:code|status)\b\D{0,12}[1-9]\d*|\breturned non-zero\b"
        r"|\bdied with <Signals",
        "worker 2 exited with code 1",
        "Process finished with exit code 1",
        needs=("exit", "non-zero", "died with"),
    ),
    "a program that does not say its name": LineRule(
        r"\A\s*Error: \S",
        "Error: The device was lost before the result was read",
        needs="Error: ",
    ),
    "an error of a logger": LineRule(
        r"\A(?:\S+ ){0,4}\[?(?:ERROR|FATAL|CRITICAL)\b[\]:|]? .{8}|\b(?:ERROR|FATAL|CRITICAL): \S",
        "ERROR: Failed to apply delegate",
        "[CRITICAL] worker timeout, the device is gone",
        needs=("error", "fatal", "critical"),
    ),
}
"""Who wrote the line, and how to know it; what tells more of who it was goes first."""
_TABLE = RuleTable(ENDS.items())
_PART_OF_MORE = regex(r"During handling of the above exception|The above exception was|\bWarning: ")
_SENTENCE = regex(r"(?i)\b(?:I|I'm|it|my|we|our|anyone|please|thanks|somebody|how (?:can|do|to))\b|\?\s*\Z")
_FALLS_BACK = regex(r"(?i)\A\W*(?:falling|fell|falls) back (?:to|on)\b")
_LONGEST = 2000


class LastErrors:
    """Of each writer the first line that looks like an end, and of tracebacks the last."""

    def __init__(self) -> None:
        self._found: dict[str, Line] = {}
        self._latest: tuple[str, Line] | None = None

    def observe(self, line: Line) -> None:
        """Note the line where it looks like an end, and nobody asks in it."""
        text = line.text
        if self._latest and _FALLS_BACK.match(text) and line.number - self._latest[1].number == 1:
            self._found.pop(self._latest[0], None)  # it went on in another way
        if len(text) > _LONGEST or not (likely := _TABLE.likely(text)):
            return
        who = next((who for who, rule in likely if rule.search(text)), None)
        if who is None or (who in self._found and who != "Python"):
            return
        if not (_PART_OF_MORE.search(text) or _SENTENCE.search(text)):
            self._found[who] = line
            self._latest = who, line

    def value(self) -> tuple[tuple[str, Line], ...]:
        """Who wrote what, what tells most of it first."""
        return tuple((who, self._found[who]) for who in ENDS if who in self._found)
