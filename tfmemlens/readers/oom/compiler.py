"""What XLA and the TPU compiler print when one executable does not fit: peak buffers, HBM ledgers, padding,
rematerialisation.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.incident import CompilerMemory, PaddedBuffer, PrintedConvolution, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import numpy_dtype
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.context import Context
from tfmemlens.readers.oom.rules import SIZE, TPU_SIZE, LineRule, RuleTable
from tfmemlens.readers.oom.tuning import TunedArray, TunedKernels
from tfmemlens.units import MIB, Size, parse_size
from tfmemlens.values import dataclass, field

XLA = LineRule(
    r"[Oo]ut of (?:host )?memory while trying to allocate"
    rf" (?P<size>{SIZE}|\d+(?:\.\d+)? ?[KMGT]B\b|\d+(?!\.?\d))(?P<plain> ?bytes)?\.?"
    r"(?: ?with allocator (?P<allocator>\S+) on device (?P<device>\d+)\.?)?"
    r"(?: ?\[tf-[\w-]{1,60}=(?:'[^']*'|\"[^\"]*\")\]){0,4}"
    r"(?: ?\[executable_name=['\"](?P<executable>[^'\"]+)['\"]\])?",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.06 TB",
    "Out of memory while trying to allocate 16.00GiB with allocator GPU_0_bfc on device 0."
    " [executable_name='jit_train_step']",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
    " [tf-allocator-allocation-error='']",
    "Out of memory while trying to allocate 16.00GiB with allocator GPU_0_bfc on device 0."
    " [tf-allocator-allocation-error=''] [executable_name='jit_train_step']",
    needs="while trying to allocate",
)
XLA_BROKEN = LineRule(
    r"[Oo]ut of memory while trying to allocate\s*\Z",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
    needs="while trying to allocate",
)
"""The same, whose figure was written by hand on the line below."""
_BY_HAND = regex(r"\A\W{0,3}~? ?(?P<figure>\d{1,4}(?:\.\d{1,2})?) ?(?P<unit>[MGT])i?B\W*\Z")
REQUEST = LineRule(
    rf"Failed to allocate request for (?P<size>{SIZE}|\d+(?:\.\d+)? [KMGT]i?B\b|\d+ bytes)"
    r"(?: ?\((?P<bytes>\d+) ?B(?:ytes)?\))?"
    r"(?: on device(?: ordinal)? (?P<device>\d+))?",
    "Failed to allocate request for 10.58GiB (11364872192B) on device ordinal 0",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB on device ordinal 0",
    "it ends with `Failed to allocate request for 105.47 MiB on device ordinal 0`",
    needs="Failed to allocate request",
)
ALLOCATING = LineRule(
    r"Out of memory allocating (?P<bytes>\d+) ?bytes",
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 51367680000 bytes.",
    "jax.errors.JaxRuntimeError: INTERNAL: Error dispatching computation: Out of memory allocating"
    " 274877906944 bytes.",
    needs="Out of memory allocating",
)
"""JAX's CPU client: the memory is the machine's own."""
REMAT = LineRule(
    rf"Can't reduce memory use below (?P<goal>{SIZE})(?: \((?P<goal_bytes>-?\d+) bytes\))? by"
    rf" rematerialization; only reduced to (?P<reached>{SIZE})(?: \((?P<reached_bytes>\d+) bytes\))?"
    rf"(?:, down from (?P<down>{SIZE})(?: \((?P<down_bytes>\d+) bytes\))? originally)?",
    "Can't reduce memory use below 8.48GiB (9105000000 bytes) by rematerialization; only reduced to 13.00GiB"
    " (13958643712 bytes), down from 13.01GiB (13969381130 bytes) originally",
    "Can't reduce memory use below 18.20GiB by rematerialization; only reduced to 21.33TiB",
    needs="Can't reduce memory use",
)
BEYOND = LineRule(
    r"The byte size of input/output arguments \((?P<bytes>\d+)\) exceeds the base limit"
    r"(?: \((?P<limit>\d+)\))?",
    "The byte size of input/output arguments (8501100448) exceeds the base limit (6244368384). This indicates"
    " an error in the calculation!",
    needs="exceeds the base limit",
)
"""What a program is given and returns is more than XLA may use, whatever its temporaries are."""
ANALYSIS = LineRule(
    r"\bCompiledMemoryStats\((?P<stats>(?:\w+=[^,)]*,? ?)+)",
    "CompiledMemoryStats(generated_code_size_in_bytes=0, argument_size_in_bytes=102400000,"
    " output_size_in_bytes=102400000, alias_size_in_bytes=0, temp_size_in_bytes=10000000000,"
    " host_generated_code_size_in_bytes=0, host_argument_size_in_bytes=0, host_output_size_in_bytes=0,"
    " host_alias_size_in_bytes=0, host_temp_size_in_bytes=0)",
    needs="CompiledMemoryStats",
)
"""What JAX's `compiled.memory_analysis()` prints: an account, no failure."""
_SECTION_OF = {
    "argument": "parameter",
    "output": "maybe_live_out",
    "temp": "preallocated temp",
    "generated_code": "generated code",
}
POST_ANALYSIS = LineRule(
    r"Post Compilation Analysis: (?P<name>Graph input|Graph output|Aliased Input|Intermediate tensor"
    r"|Compiled program) size: (?P<size>\d+(?:\.\d+)?) GB",
    "Post Compilation Analysis: Graph input size: 1.548000 GB",
    "pt-xla-profiler: Post Compilation Analysis: Intermediate tensor size: 12.124478 GB",
    needs="Post Compilation Analysis",
)
"""What torch_xla prints of each program with PT_XLA_DEBUG: an account, no failure."""
_POST_SECTIONS = {
    "Graph input": "parameter",
    "Graph output": "maybe_live_out",
    "Aliased Input": "shared",
    "Intermediate tensor": "preallocated temp",
    "Compiled program": "generated code",
}
DEBUGGING = LineRule(
    r"BufferAssignment (?:OOM Debugging|stats)", "BufferAssignment OOM Debugging.", needs="BufferAssignment"
)
SECTION = LineRule(
    r"(?P<name>parameter|constant|maybe_live_out|preallocated temp|total)"
    rf" (?P<what>allocation|fragmentation): *(?P<size>{SIZE})",
    "             parameter allocation:   46.29MiB",
    "    preallocated temp fragmentation:         2B (0.00%)",
    needs=": ",
)
PEAK_BUFFERS = LineRule(r"Peak buffers:", "Peak buffers:", needs="Peak buffers")
BUFFER = LineRule(r"\bBuffer (?P<index>\d+):\s*\Z", "\tBuffer 1:", needs="Buffer ")
BUFFER_SIZE = LineRule(rf"(?:\A|\s)Size: (?P<size>{SIZE})\s*\Z", "\t\tSize: 3.15GiB", needs="Size: ")
OPERATOR = LineRule(
    r"Operator: (?:op_type=\"(?P<type>[^\"]*)\" ?)?(?:op_name=\"(?P<name>[^\"]*)(?:\"|\Z))?(?:"
    r" ?source_file=\"(?P<file>[^\"]*)\")?(?: ?source_line=(?P<line>\d+))?",
    'Operator: op_name="jit(train_step)/jit(main)/jvp(Transformer)/dot_general" source_file="model.py"'
    " source_line=31",
    needs="Operator:",
)
METADATA = LineRule(
    r"metadata=\{[^}]*?source_file=\"(?P<file>[^\"]+)\" source_line=(?P<line>\d+)",
    '%mm.1 = f32[4096,4096]{1,0} custom-call(%a), metadata={op_name="jit(mm)/pallas_call" source_file="mm.py"'
    " source_line=44}",
    needs="source_file=",
)
"""An instruction that a message quotes says where it was written."""
PARAMETER = LineRule(
    r"Entry Parameter Subshape: (?P<shape>.+?)\s*\Z",
    "\t\tEntry Parameter Subshape: f32[512,512]",
    needs="Entry Parameter",
)
LABEL = LineRule(
    r"XLA [Ll]abel: (?P<label>.+?)\s*\Z",
    "\t\tXLA Label: fusion",
    "     XLA label: %fusion.12 = ...",
    needs="XLA ",
)
SHAPE = LineRule(
    r"(?:\A|\s)Shape: (?P<shape>.+?)\s*\Z",
    "\t\tShape: f32[1024,1024]",
    "     Shape: f32[512,245,256]{2,1,0:T(8,128)}",
    needs="Shape: ",
)
RULE = LineRule(r"\A\W*={10,}\s*\Z", "\t\t==========================", needs="=====")
TPU = LineRule(
    r"Ran out of memory in memory space (?P<space>\w+)\.\s*(?:It should not be possible.*?)?Used"
    rf" (?P<used>{TPU_SIZE}) of (?P<capacity>{TPU_SIZE}) \w+\.(?:\s*Exceeded \w+ capacity by"
    rf" (?P<excess>{TPU_SIZE})\.?)?",
    "Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm. Exceeded hbm capacity by 25.74G.",
    "Ran out of memory in memory space hbm.Used 41.74G of 16.00G hbm.Exceeded hbm capacity by 25.74G.",
    needs="Ran out of memory in memory space",
)
ESTIMATED = LineRule(
    r"(?:memory space (?P<space>\w+)\.\s*)?Estimated (?P<used>\d+(?:\.\d+)? ?[KMG]B) exceeds"
    r" (?P<capacity>\d+(?:\.\d+)? ?[KMG]B) (?P<named>[vs]mem|hbm) capacity",
    "Ran out of memory in memory space vmem. Estimated 268.96MB exceeds 67.11MB vmem capacity.",
    "Estimated 268.96MB exceeds 67.11MB vmem capacity.",
    needs="capacity",
)
"""An autotuner's own sum of a kernel's blocks, in powers of ten."""
ON_STACK = LineRule(
    r"Ran out of memory in memory space (?P<space>\w+) while allocating on stack for %?(?P<name>[\w.-]*\w)"
    rf"(?:.*?Scoped allocation with size (?P<used>{TPU_SIZE}) and limit (?P<capacity>{TPU_SIZE}) exceeded"
    rf" scoped \w+ limit(?: by (?P<excess>{TPU_SIZE}))?)?",
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for"
    " %gated_matmul_kernel.18 = bf16[2048,4096]{1,0:T(8,128)(2,1)} custom-call(",
    needs="while allocating on stack",
)
SCOPED = LineRule(
    rf"(?:Scoped allocation with size )?(?P<used>{TPU_SIZE}) and limit (?P<capacity>{TPU_SIZE}) exceeded"
    rf" scoped (?P<space>\w+) limit\b(?: by (?P<excess>{TPU_SIZE}))?",
    "Scoped allocation with size 40.50M and limit 32.00M exceeded scoped vmem limit by 8.50M.",
    needs="exceeded scoped",
)
"""The end of that sentence, where its head is missing or on another line."""
NAMED_SPACE = LineRule(
    r"\bCompileTime(?:Scoped)?(?P<space>[VSC]mem)Oom\b",
    "E1001: CompileTimeScopedVmemOom",
    needs="CompileTime",
)
"""libtpu's name of the error, which may stand alone."""
TOLD_SPACE = LineRule(
    r"(?i)\A(?!.*(?:memory space|scoped vmem limit|space=|vmem capacity|\d ?G(?:i?B)? (?:of )?[VS]MEM\b"
    r"|\b[VS]MEM (?:of )?\d{1,3}(?:\.\d{1,2})? ?G(?:i?B)?\b))[^\n]*?"
    r"(?:\b(?:OOM\w*|out of memory|ran out|exceed\w*|too (?:small|large)|smaller)\b"
    r"[^\n]{0,100}\b(?P<space>vmem|smem)s?\b"
    r"|\b(?P<other>vmem|smem)s?\b[^\n]{0,100}\b(?:OOM\w*|out of memory|ran out|exceed\w*"
    r"|(?:running|run) into|this error|too (?:small|large))\b)",
    "the vmem fix does not work on TPUs with smaller vmems; I run into this error still",
    "# [Bug]: VMEM OOM with a vision model",
    needs=("vmem", "smem"),
)
"""Prose that says that a core's own memory ran out: of a text that quotes no message. Gigabytes are no
core's own memory, which has some hundred megabytes at most, but HBM by a wrong name.
"""
SMALL_SPACE = LineRule(
    r"(?i:ran out of) memory in memory space [`'\"]?(?P<space>[vsc]mem|sflag|imem)\b"
    r"(?!.{0,80}(?:Used \d|Estimated|while allocating))",
    "Resource exhausted: Ran out of memory in memory space smem. It should not be possible to run out of smem"
    " - please file a bug against XLA.",
    "Ran out of memory in memory space vmem. Please file a bug against XLA.",
    needs="memory in memory space",
)
"""The head of those sentences alone: the figures were not printed, or not pasted."""
TWO_CORES = LineRule(
    rf"TPU TensorCore Hbm usage: (?P<tensor>{TPU_SIZE}), SparseCore Hbm usage:? (?P<sparse>{TPU_SIZE}),"
    rf" exceeding available bytes: (?P<capacity>{TPU_SIZE})",
    "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available"
    " bytes: 95.74G",
    needs="SparseCore Hbm usage",
)
ON_CHIP = LineRule(
    r"Allocation \(size=(?P<size>\d+)\) would exceed memory \(size=(?P<capacity>\d+)\)(?:.*?shape ="
    r" '(?P<shape>[^']*)')?(?:.*?space=(?P<space>\w+))?(?:.*?tag = '(?P<tag>[^']*)'"
    r"(?:\] :: (?P<kernel>[\w.-]+))?)?",
    "RESOURCE_EXHAUSTED: Allocation (size=134217728) would exceed memory (size=67108864) :: #allocation25"
    " [shape = 'u8[134217728]{0}', space=vmem, size = 0x8000000, tag = 'scoped memory for"
    " gated_matmul_kernel.2'] :: gated_matmul_kernel.2",
    needs="would exceed memory",
)
BELOW_ON_CHIP = LineRule(
    r"\A\W*#allocation\d+ \[shape = '[^']*'(?:.*?space=(?P<space>\w+))"
    r"|\A\W*tag = '(?P<tag>[^']*)'\](?: :: (?P<kernel>[\w.-]+))?",
    ":: #allocation4 [shape = 'u8[1048576]{0}', space=smem, size = 0x100000, scoped,",
    "   tag = 'prefetched SMEM operand 1'] :: paged_attention_kernel.4",
    needs=("space=", "tag = '"),
)
"""The rest of that sentence, where it was broken into lines."""
TPU_RESERVE = LineRule(
    rf"Attempting to (?:reserve|allocate) (?P<size>{TPU_SIZE})(?: at the bottom of memory)?\. That was not"
    rf" possible\b\.?(?: There are (?P<free>{TPU_SIZE}) free(?:, (?P<reserved>{TPU_SIZE}) reserved, and"
    rf" (?P<reservable>{TPU_SIZE}) reservable)?)?",
    "Attempting to reserve 8.37G at the bottom of memory. That was not possible. There are 6.26G free, 0B"
    " reserved, and 6.26G reservable.",
    "Error allocating device buffer: Attempting to allocate 8.00M. That was not possible. There are 6.43M"
    " free.; (0x0x0_HBM0)",
    "Error loading program 'jit__multi_slice': Attempting to reserve 6.14G at the bottom of memory. That was"
    " not possible.",
    needs="That was not possible",
)
TPU_LEDGER = LineRule(
    r"(?P<name>Top-of-Memory reserved|Currently allocated|Program requirement|Available after request):"
    rf" +(?P<size>{TPU_SIZE}) \( *(?P<bytes>-?[\d,]+) bytes\)",
    "    Currently allocated:        9.21G (  9,889,120,256 bytes)",
    needs=" bytes)",
)
TPU_TOTAL = LineRule(
    rf"Total (?P<space>\w+) usage >= (?P<size>{TPU_SIZE})", "Total hbm usage >= 42.26G:", needs="usage >="
)
TPU_REQUIREMENT = LineRule(
    rf"Program (?P<space>\w+) requirement:? +(?P<size>{TPU_SIZE}):",
    "Program hbm requirement 41.74G:",
    "Program host requirement 145.69G:",
    needs=" requirement",
)
"""The head of a listing, which may be all that is left of the message. `host` is the host's RAM, where arrays
are offloaded to."""
TPU_ROW = LineRule(
    r"(?:\A|\s)(?P<name>reserved|program|arguments|output|HLO"
    rf" temp|global|scoped|overlays|stack)(?:\([^)]*\))? +(?P<size>{TPU_SIZE}|unknown size)"
    r"(?=\s*(?:[(\[]|\Z))",
    "    program          41.74G ",
    "    HLO temp         41.73G (99.9% utilization: Unpadded (20.01G) Padded (20.01G), 0.0% fragmentation"
    " (2.00K))",
    "    arguments       unknown size ",
    "    output                     5.06G (71.6% utilization) [may share some memory with arguments]",
    "arguments 12.0G",
    needs=("reserved", "program", "arguments", "output", "hlo temp", "global", "scoped", "overlays", "stack"),
)
_TEMPORARIES = regex(
    rf"HLO temp +[^(]*\([^:]{{0,40}}: Unpadded \((?P<data>{TPU_SIZE})\) Padded \((?P<size>{TPU_SIZE})\)"
)
"""What all temporaries of a program hold, and what they take with the padding to tiles."""
TPU_OUTPUT = LineRule(
    rf"Output size (?P<size>{TPU_SIZE}); shares (?P<shared>{TPU_SIZE}) with arguments",
    "Output size 8.45G; shares 8.45G with arguments.",
    needs="Output size",
)
EARLY = LineRule(
    r"Aborting compilation early because it's unlikely to have enough (?:device )?memory\. Requires"
    rf" (?P<used>{TPU_SIZE}), has (?P<capacity>{TPU_SIZE}) available",
    "Aborting compilation early because it's unlikely to have enough device memory."
    " Requires 17.24G, has 14.71G available.",
    needs="Aborting compilation early",
)
TPU_ENTRY = LineRule(
    rf"(?:\A|\s)(?P<index>\d+)\\?\. Size: (?P<size>{TPU_SIZE})\s*\Z", "  1. Size: 32.00G", needs=". Size: "
)
TPU_PLAIN_SIZE = LineRule(
    r"\A\W{0,8}Size: (?P<size>\d+(?:\.\d+)?[KMG])\s*\Z", "     Size: 50.23M", needs="Size: "
)
"""The same, where the number of the entry was lost."""
TPU_UNPADDED = LineRule(
    rf"Unpadded size: (?P<size>{TPU_SIZE})", "     Unpadded size: 1.00G", needs="Unpadded size"
)
TPU_EXTRA = LineRule(
    rf"Extra memory due to padding: (?P<size>{TPU_SIZE}) \((?P<factor>[\d.]+)x expansion\)",
    "     Extra memory due to padding: 31.00G (32.0x expansion)",
    needs="due to padding",
)
TPU_TYPE = LineRule(
    r"Allocation type: (?P<type>.+?)\s*\Z", "     Allocation type: HLO temp", needs="Allocation type"
)
BORING = LineRule(
    r"Largest program allocations|Output size unknown|Compilation failure"
    r"|Persistent allocations include|Heap allocator status|Max free chunk|heap allocations|profiler will"
    r" not|XLA:TPU compile permanent error|xprof|Total allocation time|Total allocations?\b",
    "  Largest program allocations in hbm:",
    needs=(
        "allocation",
        "output size",
        "compilation failure",
        "heap",
        "free chunk",
        "profiler will",
        "compile permanent",
        "xprof",
    ),
)

_OUTSIDE_A_LIST = RuleTable.of(
    XLA, XLA_BROKEN, REQUEST, ALLOCATING, ANALYSIS, POST_ANALYSIS, TPU, ESTIMATED, TPU_RESERVE, EARLY,
    ON_CHIP, BELOW_ON_CHIP, ON_STACK,
    SCOPED, SMALL_SPACE, TPU_TYPE, TWO_CORES, REMAT, BEYOND,
    DEBUGGING, PEAK_BUFFERS, TPU_TOTAL, TPU_REQUIREMENT, BUFFER, TPU_ENTRY, TPU_LEDGER, SHAPE, TPU_UNPADDED,
    TPU_PLAIN_SIZE, BUFFER_SIZE, PARAMETER, OPERATOR, LABEL, NAMED_SPACE, TOLD_SPACE,
)  # fmt: skip
_MOST_ON_CHIP = 256 * MIB
"""More than the vmem of any TPU core."""
SPILLS = "register spill slots"
_SPILLS = regex(r"spill slots")
_PRINTED_PARAMETERS = regex(r"\[(?:\\n|\s)*\w+=.*\Z", re.DOTALL)
"""Older JAX prints a primitive with its parameters: `concatenate[dimension=0]`."""
_LAID_OUT = regex(r"\b(?P<side>lhs|rhs)_(?P<what>spec|shape)=\((?P<sizes>\d{1,9}(?:, ?\d{1,9}){2,6})\)")
"""Of a convolution the axes (samples or outputs, features, then the rest) and sizes of both operands."""


@dataclass
class XlaBuffer:
    """One buffer of a listing, as it is read."""

    line: Line
    size: Size
    name: str | None = None
    op_type: str | None = None
    source: str | None = None
    label: str | None = None
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    layout: str = ""
    parameter: bool = False
    unpadded: Size | None = None
    kind: str | None = None

    @property
    def convolution(self) -> PrintedConvolution | None:
        """The convolution whose parameters stand in the operation's name, as older JAX prints them."""
        found = {
            (match["side"], match["what"]): tuple(int(size) for size in match["sizes"].split(","))
            for match in _LAID_OUT.finditer(self.name or "")
        }
        keys = [(side, what) for side in ("lhs", "rhs") for what in ("spec", "shape")]
        if any(key not in found for key in keys):
            return None
        axes, sizes, of_kernel, kernel = (found[key] for key in keys)
        if sorted(axes) != list(range(len(sizes))) or sorted(of_kernel) != list(range(len(kernel))):
            return None
        return PrintedConvolution(sizes, sizes[axes[1]], kernel[of_kernel[0]], self.size)

    def allocation(self) -> Allocation:
        """The buffer as a row of the table."""
        instruction = re.match(r"%?([A-Za-z_][\w-]*)(?:\.\d+)?", self.label or "")
        node = instruction[0] if instruction and instruction[0].startswith("%") else None
        if self.name:
            node = _PRINTED_PARAMETERS.sub("", self.name)
        elif _SPILLS.search(self.label or ""):
            instruction, node = None, SPILLS
        purpose = "parameter" if self.parameter else self.kind
        op = self.op_type or (instruction[1] if instruction else None)
        return Allocation(
            node,
            self.size.bytes,
            op=op,
            shape=self.shape,
            dtype=self.dtype,
            error_bytes=self.size.error_bytes,
            purpose=purpose,
            line=self.line,
        )


class _Warning(NamedTuple):
    """What XLA warned of a program when it compiled it: one of both is known."""

    line: Line
    remat: tuple[Size, Size, Size | None, Line] | None = None
    beyond: tuple[Size, Size, Line] | None = None


@dataclass
class Executable:
    """One compiled program that does not fit, as it is read."""

    line: Line
    kind: RequestKind
    size: Size | None = None
    allocator: str | None = None
    device: str | None = None
    name: str | None = None
    capacity: Size | None = None
    needed: Size | None = None
    free: Size | None = None
    excess: Size | None = None
    remat: tuple[Size, Size, Size | None, Line] | None = None
    beyond: tuple[Size, Size, Line] | None = None
    """What it is given and returns, XLA's limit that this alone exceeds, and the line that says so."""
    sections: list[tuple[str, Size, Line]] = field(default_factory=list)
    buffers: list[XlaBuffer] = field(default_factory=list)
    tellings: list[Line] = field(default_factory=list)
    """The lines whose sentence says that it failed."""
    temporaries: PaddedBuffer | None = None
    """All temporaries together, where the listing says what padding to tiles makes of them."""
    cut: bool = False
    before: int = 0
    """How many entries of its list stood above the first that is here."""
    """Whether the list of buffers begins after its first."""
    place: str | None = None
    """The line of code that the message itself names, in the instruction that it quotes."""
    context: Context | None = None
    """What stands around the message: the user's line, the node, the layer."""
    tuned: TunedArray | None = None
    """The array of a kernel that XLA tried while it compiled, where that asked for it."""
    squares: tuple[int, ...] = ()
    """Sizes that stand twice in a shape of a kernel that was tried."""
    warnings: list[_Warning] = field(default_factory=list)
    """All that XLA warned of since the failure before it, in the log's order."""

    def begins_at(self, line: Line) -> bool:
        """Whether the line is its message, or the first that is left of its list where that is gone."""
        if self.tellings:
            return self.tellings[-1] == line
        return self.context is not None and self.context.line == line

    def believe(self, asked: Line) -> None:
        """Take the warnings for what they are: those behind the line at which the allocator refused this
        request are of a later program.
        """
        before = [each for each in self.warnings if each.line.number < asked.number]
        if len(before) == len(self.warnings):
            return
        self.remat = next((each.remat for each in reversed(before) if each.remat), None)
        self.beyond = next((each.beyond for each in reversed(before) if each.beyond), None)

    @property
    def source(self) -> str | None:
        """The line of code behind the largest buffer that a line outside the libraries made; of a list
        without its beginning only that of the first which is left, as one further down is not the matter.
        """
        ranked = sorted(self.buffers, key=lambda buffer: -buffer.size.bytes)[: 1 if self.cut else None]
        of_buffers = (buffer.source for buffer in ranked if buffer.source and user_frame(buffer.source))
        return self.place or next(of_buffers, None)

    @property
    def listed(self) -> bool:
        """Whether more than the one sentence is known of it."""
        return bool(self.buffers or self.sections or self.remat or self.beyond or self.capacity)

    def memory(self) -> CompilerMemory:
        """The compiler's figures as a value."""
        padded = tuple(
            PaddedBuffer(b.name or b.label or "", b.size, b.unpadded, b.shape, b.dtype, b.layout, b.line)
            for b in self.buffers
            if b.unpadded is not None and b.unpadded.bytes < b.size.bytes
        )
        together = self.temporaries
        grown = together and together.unpadded.bytes < together.size.bytes
        goal, reached, down, line = self.remat or (None, None, None, None)
        given, limit, told = self.beyond or (None, None, None)
        return CompilerMemory(
            tuple(self.sections),
            self.needed,
            self.capacity,
            down,
            reached,
            limit or goal,
            told or line,
            padded,
            padded_together=together if grown else None,
            excess=self.excess,
            cut=self.cut,
            before=self.before,
            arguments_and_results=given,
            free=self.free,
            tried=self.tuned.line if self.tuned else None,
            squares=self.squares,
            convolution=max(self.buffers, key=lambda b: b.size.bytes).convolution if self.buffers else None,
        )


_SIZES = r"(?:(?:<=)?\d{1,18}(?:,(?:<=)?\d{1,18})*,?)?"
"""One way to read each text: with a comma that may be left out, 400 digits have more ways than atoms."""
_HLO_SHAPE = regex(rf"\(?(?P<dtype>[a-z]+\d*\w*)\[(?P<shape>{_SIZES})\](?P<layout>\{{[^}}]*\}})?\s*\Z")


def parse_hlo_shape(text: str) -> tuple[tuple[int | None, ...] | None, str | None, str]:
    """Shape, dtype and layout of `f32[512,245,256]{2,1,0:T(8,128)}`; nothing for a tuple."""
    match = _HLO_SHAPE.match(text.strip())
    if not match:
        return None, None, ""
    sizes = tuple(int(size.removeprefix("<=")) for size in match["shape"].split(",") if size)
    return sizes, numpy_dtype(match["dtype"]), match["layout"] or ""


def _with_account(failed: Executable, account: Executable) -> None:
    """A buffer that found too little free has no account of its own: the largest program's tells what that
    one keeps and returns.
    """
    if failed.kind is RequestKind.TPU and failed.free and not (failed.sections or failed.buffers):
        failed.sections = list(account.sections)


class CompilerCollector:
    """Collects the failures of compiled programs."""

    def __init__(self) -> None:
        self.finished: list[Executable] = []
        self._buffer: XlaBuffer | None = None
        self._remat: tuple[Size, Size, Size | None, Line] | None = None
        self._beyond: tuple[Size, Size, Line] | None = None
        self._warnings: list[_Warning] = []
        self._kernels = TunedKernels()
        self._broken: Line | None = None
        """A message that ends before its figure."""
        self._told: tuple[str, Line] | None = None
        """A small memory that prose says ran out."""
        self._accounts: list[Executable] = []
        """Of programs that torch_xla compiled, as its debug output tells them."""
        self._listing = False
        self._type_above: str | None = None
        """Where the list begins within an entry: of which type that one is."""
        self._shape_above: Line | None = None
        """The line of its shape, where its size is missing."""
        self._size_above: Line | None = None
        """The line of its size, where its number is missing."""

    def offer(self, line: Line) -> bool:
        """Take the line if it belongs to a compiler's account."""
        text = line.text
        self._kernels.take(line)
        if self._broken and self._goes_on_by_hand(self._broken, text, line):
            return True
        if XLA_BROKEN.search(text):
            self._broken = line
        if "Profiling failure on" in text or not (self._listing or _OUTSIDE_A_LIST.likely(text)):
            return False
        for rule, take in (
            (XLA, self._xla),
            (REQUEST, self._request),
            (ALLOCATING, self._allocating),
            (ANALYSIS, self._analysis),
            (POST_ANALYSIS, self._post_analysis),
            (TPU, self._tpu),
            (ESTIMATED, self._estimated),
            (TPU_RESERVE, self._reserve),
            (EARLY, self._early),
            (ON_CHIP, self._on_chip),
            (BELOW_ON_CHIP, self._below_on_chip),
            (ON_STACK, self._on_stack),
            (SCOPED, self._scoped),
            (SMALL_SPACE, self._small_space),
            (NAMED_SPACE, self._small_space),
            (TWO_CORES, self._two_cores),
            (REMAT, self._reduced),
            (BEYOND, self._exceeds),
        ):
            if match := rule.search(text):
                take(match.groupdict(), line)
                self._listing = self._listing or DEBUGGING.search(text) is not None
                return True
        if DEBUGGING.search(text) or PEAK_BUFFERS.search(text) or TPU_TOTAL.search(text):
            program = self._program(line, RequestKind.TPU if "usage" in text else RequestKind.XLA)
            if (total := TPU_TOTAL.search(text)) and program.size is None:
                program.size = program.needed = parse_size(total["size"])
            self._listing = True
            return True
        if match := TPU_REQUIREMENT.search(text):
            self._required(match.groupdict(), line)
            return True
        if self._told is None and (match := TOLD_SPACE.search(text)):
            self._told = (match["space"] or match["other"]).lower(), line
        if not self._listing and self._begins_within(text, line):
            return True
        if not self._listing and (match := BUFFER.search(text) or TPU_ENTRY.search(text)):
            program = self._program(line, RequestKind.TPU if "Size" in text else RequestKind.XLA)
            program.cut = program.cut or int(match["index"]) > 1
            program.before = max(program.before, int(match["index"]) - 1)
            self._listing = True  # the head of the list was not pasted
        return (
            self._body(text, line)
            if self._listing
            else bool(TPU_LEDGER.search(text) and self._ledger(text, line))
        )

    def _goes_on_by_hand(self, broken: Line, text: str, line: Line) -> bool:
        """`~140GB` below a message that ends before its figure."""
        match = _BY_HAND.match(text) if line.number - broken.number <= 2 else None
        if match is None:
            return False
        program, self._broken = self._new(broken, RequestKind.XLA), None
        program.size = parse_size(f"{match['figure']}{match['unit']}iB")
        return True

    def _begins_within(self, text: str, line: Line) -> bool:
        """A list whose first entry lost its head: its shape stands above what it holds without padding, which
        is the least that it takes.
        """
        if match := TPU_TYPE.search(text):
            self._type_above = match["type"]
        if TPU_PLAIN_SIZE.search(text) or BUFFER_SIZE.search(text):
            self._size_above = line
            return False
        if self._goes_on_below_a_size(text, line):
            return True
        if SHAPE.search(text):
            self._shape_above = line
        above, match = self._shape_above, TPU_UNPADDED.search(text)
        if not (match and above and above.number + 1 == line.number):
            return False
        self._program(line, RequestKind.TPU).cut = True
        self._listing = True
        self._open(above, parse_size(match["size"]))
        assert self._buffer
        return self._detail(self._buffer, above.text) and self._detail(self._buffer, text)

    def _goes_on_below_a_size(self, text: str, line: Line) -> bool:
        """A list whose first entry lost its number or its head: its size, and what it is below it."""
        above = self._size_above
        if above is None or above.number + 1 != line.number or above.source != line.source:
            return False
        of_a_tpu = TPU_PLAIN_SIZE.search(above.text)
        size = of_a_tpu or BUFFER_SIZE.search(above.text)
        if size is None or not any(rule.search(text) for rule in (OPERATOR, LABEL, SHAPE, PARAMETER)):
            return False
        kind = RequestKind.TPU if of_a_tpu else RequestKind.XLA
        self._program(line, kind).cut = self._listing = True
        self._open(above, parse_size(size["size"]))
        assert self._buffer
        return self._detail(self._buffer, text)

    def _body(self, text: str, line: Line) -> bool:
        if head := BUFFER.search(text) or TPU_ENTRY.search(text):
            self._second(int(head["index"]))
        if match := TPU_ENTRY.search(text) or TPU_PLAIN_SIZE.search(text):
            self._open(line, parse_size(match["size"]))
            return True
        if BUFFER.search(text):
            self._buffer = None
            return True
        if match := BUFFER_SIZE.search(text):
            self._open(line, parse_size(match["size"]))
            return True
        if self._buffer and self._detail(self._buffer, text):
            return True
        if match := SECTION.search(text) or TPU_ROW.search(text):
            self._section(match.groupdict(), line)
            if temp := _TEMPORARIES.search(text):
                size, data = parse_size(temp["size"]), parse_size(temp["data"])
                together = PaddedBuffer("all temporaries", size, data, None, None, "", line)
                self._program(line, RequestKind.TPU).temporaries = together
            return True
        if match := TPU_OUTPUT.search(text):
            known = self._program(line, RequestKind.TPU).sections
            known += [
                ("output", parse_size(match["size"]), line),
                ("shared", parse_size(match["shared"]), line),
            ]
            return True
        return bool(RULE.search(text) or BORING.search(text) or self._ledger(text, line))

    def _second(self, number: int) -> None:
        """What stands above the second entry is the first, so that no larger one is missing."""
        program = self.finished[-1] if self.finished else None
        if program and number == 2 and len(program.buffers) == 1:
            program.cut = False

    def _detail(self, buffer: XlaBuffer, text: str) -> bool:
        if match := OPERATOR.search(text):
            buffer.name, buffer.op_type = match["name"] or buffer.name, match["type"] or None
            buffer.source = f"{match['file']}:{match['line']}" if match["file"] else None
        elif match := PARAMETER.search(text):
            buffer.parameter = True
            buffer.shape, buffer.dtype, buffer.layout = parse_hlo_shape(match["shape"])
        elif match := LABEL.search(text):
            buffer.label = match["label"]
        elif match := TPU_UNPADDED.search(text):
            buffer.unpadded = parse_size(match["size"])
        elif match := TPU_TYPE.search(text):
            buffer.kind = match["type"]
        elif match := SHAPE.search(text):
            buffer.shape, buffer.dtype, buffer.layout = parse_hlo_shape(match["shape"])
        else:
            return bool(TPU_EXTRA.search(text))
        return True

    def _open(self, line: Line, size: Size) -> None:
        self._buffer = XlaBuffer(line, size)
        self._program(line, RequestKind.XLA).buffers.append(self._buffer)

    def _program(self, line: Line, kind: RequestKind) -> Executable:
        if not self.finished or (
            self._listing and self.finished[-1].kind is not kind and kind is RequestKind.TPU
        ):
            self.finished.append(Executable(line, kind, context=Context(line)))
        return self.finished[-1]

    def _new(self, line: Line, kind: RequestKind) -> Executable:
        program = Executable(line, kind, remat=self._remat, beyond=self._beyond, context=Context(line))
        program.tellings.append(line)
        program.warnings, self._warnings = self._warnings, []
        quoted = METADATA.search(line.text)
        if quoted and user_frame(quoted["file"]):
            program.place = f"{quoted['file']}:{quoted['line']}"
        self._remat, self._beyond, self._buffer, self._listing = None, None, None, False
        self.finished.append(program)
        return program

    def _xla(self, groups: dict[str, str | None], line: Line) -> None:
        text = groups["size"] or "0B"
        host = "ut of host memory" in line.text
        program = self._new(line, RequestKind.HOST if host else RequestKind.XLA)
        program.size = Size.exactly(int(text)) if text.isdigit() else parse_size(text)
        function = re.search(r"\[Op:(__\w+)\]", line.text)
        program.allocator, program.name = (
            groups["allocator"],
            groups["executable"] or (function[1] if function else None),
        )
        program.device = f"/device:GPU:{groups['device']}" if groups["device"] else None
        program.tuned = self._kernels.array_of(program.size) if program.name is None else None

    def _request(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.XLA)
        size = (groups["size"] or "").removesuffix(" bytes")
        exact = groups["bytes"] or (size if size.isdigit() else None)
        program.size = Size.exactly(int(exact)) if exact else parse_size(size)
        program.device = f"/device:GPU:{groups['device']}" if groups["device"] else None

    def _allocating(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.HOST)
        program.size, program.device = Size.exactly(int(groups["bytes"] or 0)), "/device:CPU:0"

    def _analysis(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.PROGRAM)
        sizes = dict(re.findall(r"\b([a-z]\w*?)_size_in_bytes=(\d+)", groups["stats"] or ""))
        program.sections = [
            (section, Size.exactly(int(sizes[name])), line)
            for name, section in _SECTION_OF.items()
            if name in sizes
        ]
        shared = Size.exactly(int(sizes.get("alias", 0)))
        taken = sum(size.bytes for _, size, _ in program.sections) - shared.bytes
        program.size = program.needed = Size.exactly(taken)
        program.sections.append(("shared", shared, line))

    def _post_analysis(self, groups: dict[str, str | None], line: Line) -> None:
        """One line of it: the first begins an account, and so does a name that the last one has already."""
        name = _POST_SECTIONS[groups["name"] or ""]
        size = _decimal(f"{groups['size']}GB")
        if not self._accounts or any(name == known for known, _, _ in self._accounts[-1].sections):
            self._accounts.append(Executable(line, RequestKind.PROGRAM, context=Context(line)))
        account = self._accounts[-1]
        account.sections.append((name, size, line))
        parts = {known: each.bytes for known, each, _ in account.sections}
        account.size = account.needed = Size.exactly(max(sum(parts.values()) - 2 * parts.get("shared", 0), 0))

    def _tpu(self, groups: dict[str, str | None], line: Line) -> None:
        _exceeded(self._new(line, RequestKind.TPU), groups["space"], groups)

    def _required(self, groups: dict[str, str | None], line: Line) -> None:
        """What the listing is of, where the sentence above it is missing."""
        program, self._listing = self._program(line, RequestKind.TPU), True
        if program.needed is None:
            program.allocator = program.allocator or groups["space"]
            program.size = program.needed = parse_size(groups["size"] or "0B")

    def _estimated(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.TPU)
        program.allocator = groups["space"] or groups["named"]
        program.size = program.needed = _decimal(groups["used"] or "")
        program.capacity = _decimal(groups["capacity"] or "")

    def _early(self, groups: dict[str, str | None], line: Line) -> None:
        _exceeded(self._new(line, RequestKind.TPU), "hbm", groups)

    def _on_stack(self, groups: dict[str, str | None], line: Line) -> None:
        last = self.finished[-1] if self.finished else None
        named = last and last.allocator == groups["space"] and last.name is None and last.size is None
        program = last if last and named else self._new(line, RequestKind.TPU)
        program.allocator, program.name = groups["space"], groups["name"]
        if groups["used"]:
            _exceeded(program, groups["space"], groups)

    def _scoped(self, groups: dict[str, str | None], line: Line) -> None:
        last = self.finished[-1] if self.finished else None
        unfinished = last and last.allocator == groups["space"] and last.capacity is None
        program = last if last and unfinished else self._new(line, RequestKind.TPU)
        _exceeded(program, groups["space"], groups)

    def _small_space(self, groups: dict[str, str | None], line: Line) -> None:
        self._new(line, RequestKind.TPU).allocator = (groups["space"] or "").lower()

    def _two_cores(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.TPU)
        tensor, sparse = (parse_size(groups[name] or "0B") for name in ("tensor", "sparse"))
        program.size = program.needed = tensor + sparse
        program.capacity, program.allocator = parse_size(groups["capacity"] or "0B"), "hbm"
        program.sections += [("TensorCore", tensor, line), ("SparseCore", sparse, line)]

    def _on_chip(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.TPU)
        program.size = program.needed = Size.exactly(int(groups["size"] or 0))
        program.capacity = Size.exactly(int(groups["capacity"] or 0))
        program.excess = Size.exactly(program.needed.bytes - program.capacity.bytes)
        self._below_on_chip(groups, line)

    def _below_on_chip(self, groups: dict[str, str | None], line: Line) -> None:
        """The memory, and the kernel: by its own name, else by that of what it asks for."""
        del line
        if not self.finished:
            return
        program, tag = self.finished[-1], groups["tag"] or ""
        program.allocator = program.allocator or groups["space"]
        program.name = program.name or groups["kernel"] or tag.removeprefix("scoped memory for ") or None

    def _reserve(self, groups: dict[str, str | None], line: Line) -> None:
        program = self._new(line, RequestKind.TPU)
        program.size = parse_size(groups["size"] or "0B")
        program.free = parse_size(groups["free"]) if groups["free"] else None
        loading = re.search(r"Error loading program '([^']+)'", line.text)
        program.name = loading[1] if loading else None

    def _reduced(self, groups: dict[str, str | None], line: Line) -> None:
        down = parse_size(groups["down"]) if groups["down"] else None
        if groups["down_bytes"]:
            down = Size.exactly(int(groups["down_bytes"]))
        self._remat = (
            _exactly(groups["goal_bytes"], groups["goal"]),
            _exactly(groups["reached_bytes"], groups["reached"]),
            down,
            line,
        )
        self._warnings.append(_Warning(line, remat=self._remat))
        if self.finished and self.finished[-1].remat is None and not self.finished[-1].tellings:
            self.finished[-1].remat = self._remat

    def _exceeds(self, groups: dict[str, str | None], line: Line) -> None:
        self._beyond = (
            Size.exactly(int(groups["bytes"] or 0)),
            _exactly(groups["limit"], None),
            line,
        )
        self._warnings.append(_Warning(line, beyond=self._beyond))

    def finish(self, dumped: Line | None = None, short: bool = False) -> None:
        """Make a failure of a program of which XLA warned, where what it is given and returns alone is more
        than XLA may use and no message of the failure is in the text, or where an allocator's dump follows
        the warning; a goal that is missed otherwise fails no program.
        """
        for program in self.finished:
            program.squares = self._kernels.squares if program.tuned else ()
            if program.allocator is None and self._is_scratch(program):
                program.allocator = "vmem"
        if self._told and not (self.finished or dumped or self._accounts or self._remat):
            self._new(self._told[1], RequestKind.TPU).allocator = self._told[0]
        largest = max(self._accounts, key=lambda each: each.needed.bytes if each.needed else 0, default=None)
        if largest and len(self.finished) == 1:
            _with_account(self.finished[0], largest)
        if largest and not (self.finished or dumped):
            largest.tellings.append(largest.line)
            self.finished.append(largest)
        if self._remat and self._beyond is None and self._remat[0].bytes < 0:
            goal, reached, _, line = self._remat  # older versions print how much remains of the limit
            self._beyond = (reached, Size.exactly(reached.bytes + goal.bytes), line)
        if self._beyond and not self._beyond[1].bytes and self._remat:
            self._beyond = (self._beyond[0], self._remat[0], self._beyond[2])  # the same limit, by its name
        if self._beyond and self._beyond[0].bytes > self._beyond[1].bytes > 0 and not self.finished:
            needed = self._remat[1] if self._remat else self._beyond[0]
            self._new(self._beyond[2], RequestKind.XLA).needed = needed
        elif (
            self._remat
            and not self.finished
            and (short or (dumped is not None and dumped.number > self._remat[3].number))
        ):
            self._new(self._remat[3], RequestKind.XLA)

    def _is_scratch(self, program: Executable) -> bool:
        """Whether all that is listed is scratch of ops, which lies on the chip; in HBM temporaries, arguments
        and results stand beside it.
        """
        types = {buffer.kind for buffer in program.buffers if buffer.kind} or {self._type_above or ""}
        small = all(buffer.size.bytes < _MOST_ON_CHIP for buffer in program.buffers)
        listed = program.kind is RequestKind.TPU and bool(program.buffers) and not program.sections
        return listed and small and types == {"scoped"}

    def _section(self, groups: dict[str, str | None], line: Line) -> None:
        if not groups["size"] or groups["size"] == "unknown size":
            return
        name = (
            f"{groups['name']} {groups['what']}"
            if groups.get("what") == "fragmentation"
            else str(groups["name"])
        )
        program = self._program(line, RequestKind.XLA)
        if all(name != known for known, _, _ in program.sections):
            program.sections.append((name, parse_size(groups["size"]), line))

    def _ledger(self, text: str, line: Line) -> bool:
        match = TPU_LEDGER.search(text)
        if match and self.finished:
            self.finished[-1].sections.append(
                (match["name"], Size.exactly(int(match["bytes"].replace(",", ""))), line)
            )
        return bool(match)


def _exactly(written: str | None, rounded: str | None) -> Size:
    """The bytes that a line states, else its figure; an exact nothing where it has neither."""
    return Size.exactly(int(written)) if written else parse_size(rounded or "0B")


def _exceeded(program: Executable, space: str | None, groups: dict[str, str | None]) -> None:
    """What the program needs of a memory, what that has, and by how much it is too little."""
    program.allocator = space
    program.size = program.needed = parse_size(groups["used"] or "0B")
    program.capacity = parse_size(groups["capacity"] or "0B")
    excess = groups.get("excess")
    program.excess = parse_size(excess) if excess else None


def _decimal(text: str) -> Size:
    """`268.96MB` in powers of ten."""
    figure, unit = re.match(r"([\d.]+) ?([KMG])B", text).groups()  # type: ignore[union-attr]
    scale = {"K": 10**3, "M": 10**6, "G": 10**9}[unit]
    size, half = round(float(figure) * scale), scale // 200
    return Size(size, size - half, size + half)
