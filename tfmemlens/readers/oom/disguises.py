"""Failures that are out-of-memory errors without saying OOM: the driver, the host, copies, cuDNN, the async
allocator.
"""

from __future__ import annotations

import re

from tfmemlens.knowledge.kill_words import SESSION_ENDED, SHELLS_LINE, SHELLS_WORDS, WORDS_OF_A_SESSION
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import numpy_dtype
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.context import Context
from tfmemlens.readers.oom.rules import DEVICE, LineRule, RuleTable
from tfmemlens.readers.oom.sentence import EXCEPTION
from tfmemlens.units import Size, parse_size
from tfmemlens.values import dataclass

DRIVER = LineRule(
    r"failed to allocate (?P<size>[\d.]+[KMGTPE]?i?B?)(?: \((?P<bytes>\d+) bytes\))? from device:"
    r" (?P<error>.+)",
    "failed to allocate 3.90G (4188778496 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "failed to allocate 2.00GiB (2147483648 bytes) from device: HIP_ERROR_OutOfMemory",
    "failed to allocate 8.00G from device: hipError_t(1002)",
    "failed to allocate 16.00E (18446744073709551360 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
    needs="from device:",
)
PINNED = LineRule(
    r"could not allocate pinned host (?:memory )?of size: (?P<bytes>\d+)",
    "could not allocate pinned host of size: 4294967296",
    "could not allocate pinned host memory of size: 8589934592",
    needs="could not allocate pinned",
)
HOST = LineRule(
    r"failed to alloc(?:ate)? (?P<bytes>\d+) bytes (?:on host|unified memory)(?:: (?P<error>.+))?",
    "failed to alloc 8589934592 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "failed to alloc 2147483648 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY",
    needs="failed to alloc",
)
ARRAY = LineRule(
    r"Unable to allocate (?:(?P<size>[\d.]+ ?(?:[KMGTPE]iB|bytes|B)) for an )?array with shape"
    r" \((?P<shape>[\d, ]*)\) and data type (?P<dtype>[<>|=]?\w+)",
    "numpy.core._exceptions.MemoryError: Unable to allocate 7.91 GiB for an array with shape (1396913, 190,"
    " 4) and data type float64",
    "MemoryError: Unable to allocate array with shape (39146090, 75) and data type float64",
    "MemoryError: Unable to allocate 72.6 GiB for an array with shape (18679895,) and data type <U1043",
    needs="Unable to allocate",
)
UNABLE = LineRule(
    r"\bUnable to allocate (?P<size>[\d.]+ ?[KMGTPE]iB)(?! for an array with shape)",
    'But "Unable to allocate 512. MiB".',
    needs="Unable to allocate",
)
"""The same without its shape, as prose repeats it."""
FETCHED = LineRule(
    r"Failed to allocate np array: \[(?P<shape>[\d,]*)\]|Could not allocate ndarray",
    "Internal: Failed to allocate np array: [37,640,853]",
    "InternalError: Could not allocate ndarray",
    needs="allocate n",
)
BATCH = LineRule(
    r"Failed to allocate memory for the batch of component \d+",
    "ResourceExhaustedError: {{function_node __wrapped__IteratorGetNext}} Failed to allocate memory for the"
    " batch of component 0 [Op:IteratorGetNext]",
    needs="for the batch of component",
)
COPY = LineRule(
    rf"Failed copying input tensor from (?P<origin>{DEVICE}) to (?P<device>{DEVICE}) in order to run"
    r" (?P<op>\w+)",
    "Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to"
    " /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not"
    " initialized.",
    needs="Failed copying input tensor",
)
_EAGER = "_EagerConst"


def _is_cut(text: str, end: int, op: str) -> bool:
    """Whether the op's name is the start of `_EagerConst`, of which the end of a title left two letters or
    more. No other op begins with an underscore and an `E`.
    """
    return not text[end:].strip() and len(op) > 1 and _EAGER.startswith(op)


DST = LineRule(
    rf"(?:Error copying tensor to device: (?P<device>{DEVICE})\. |(?P<op>_EagerConst): )?Dst tensor is not"
    r" initialized",
    "InternalError: Dst tensor is not initialized.",
    "_EagerConst: Dst tensor is not initialized",
    "RuntimeError: Error copying tensor to device: /job:localhost/replica:0/task:0/device:GPU:0. Dst tensor"
    " is not initialized.",
    needs="Dst tensor is not initialized",
)
LAUNCH = LineRule(
    r"(?:Non-OK-status: )?GpuLaunchKernel\(.*(?:out of memory)",
    "Non-OK-status: GpuLaunchKernel(Fill, 1, 1, 0) status: Internal: out of memory",
    needs="GpuLaunchKernel(",
)
LIBRARY = LineRule(
    r"No algorithm worked!?"
    r"|Error: (?:UNKNOWN|INTERNAL): Failed to determine best cudnn convolution algorithm: (?:INTERNAL"
    r"|UNKNOWN)|Failed to get convolution"
    r" algorithm|(?:CUDNN|CUBLAS)_STATUS_ALLOC_FAILED|CU(?:DNN|BLAS)_STATUS_NOT_INITIALIZED"
    r"|(?i:(?:could not|failed to|couldn't) create (?:a )?cu(?:dnn|blas|solver\w*) (?:handle|instance))|Blas"
    r" (?:x?GEM[MV]|[SD]GEM[MV])\w* launch failed"
    r"|(?i:gpu|cu)(?i:solver\w*|blas|sparse|fft)Create\w*\(.*failed|CU(?:SOLVER|SPARSE)_STATUS_ALLOC_FAILED"
    r"|Failure to initialize cublas may be due to OOM|CUFFT_ALLOC_FAILED"
    r"|cu(?:Solver|BLAS|SPARSE) (?:allocation|memory allocation) failed|(?i:cusolver) internal error"
    r"|\b\w{0,8}solver\w{0,20}\.cc:\d+: operation [^\n]{1,120} failed: out of memory"
    r"|HIP(?:SOLVER|BLAS|SPARSE)_STATUS_ALLOC_FAILED|rocblas_status_memory_error|HIPFFT_ALLOC_FAILED"
    r"|roc(?:BLAS|SOLVER|SPARSE) error:[^\n]{0,60}(?:not allocate|out of memory)"
    r"|jaxlib/(?:gpu|cuda)/(?:cu)?solver\w*\.cc:\d+: oper(?!.*invalid value)"
    r"|No (?:DNN|BLAS support|BLAS) (?:in stream executor|for stream)|DNN library is not found"
    r"|(?i:(?:not enough|out of|insufficient) (?:gpu |device )?memory)\?.{0,200}"
    r"\bCU(?:BLAS|DNN|SOLVER)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)"
    r"|\bdnn != nullptr|MIOpen Error:"
    r" .*Memory not available|(?i:cu(?:dnn|fft)) failed to allocate the scratch space",
    "NotFoundError: No algorithm worked!",
    "CUDNN failed to allocate the scratch space for the runner or to find a working no-scratch runner.",
    "could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
    "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED",
    "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
    "No DNN in stream executor. [Op:Conv2D] name:",
    "INTERNAL: RET_CHECK failure (xla/service/gpu/gpu_compiler.cc:627) dnn != nullptr",
    "INTERNAL: jaxlib/gpu/handle_pool.cc:21: operation gpublasCreate(&handle) failed: cuBLAS internal error",
    "cusolverDnCreate(&handle) failed: CUSOLVER_STATUS_INTERNAL_ERROR",
    "cuSolver call failed: CUSOLVER_STATUS_ALLOC_FAILED",
    "# cuSolver internal error in jnp.linalg.eigvalsh",
    "RuntimeError: jaxlib/gpu/solver.cc:213: operation cusolverDnDsyevd_bufferSize(",
    "INTERNAL: solver_kernels_ffi.cc:310: operation hipGetLastError() failed: out of memory",
    "operation hipsolverCreate(&handle) failed: HIPSOLVER_STATUS_ALLOC_FAILED",
    "rocBLAS error: Could not allocate workspace",
    "failed to create cuFFT batched plan: CUFFT_ALLOC_FAILED",
    "Could not fold complex_3. Not enough GPU memory? INTERNAL: CUBLAS_STATUS_EXECUTION_FAILED",
    "InternalError: Blas GEMM launch failed : a.shape=(128, 784), b.shape=(784, 512), m=128, n=512, k=784",
    needs=(
        "no algorithm worked",
        "determine best cudnn",
        "failed to get conv",
        "alloc_failed",
        "not_initialized",
        "create",
        "launch failed",
        "due to oom",
        "allocation failed",
        "in stream executor",
        "for stream",
        "dnn library",
        "dnn != nullptr",
        "miopen error",
        "scratch space",
        "internal error",
        "memory?",
        "jaxlib/",
        "solver",
        "rocblas",
        "rocsparse",
    ),
)
PROFILING = LineRule(
    r"Profiling failure on (?i:cudnn|cublas\w*|miopen) engine.*?(?:trying to allocate (?P<bytes>\d+) bytes"
    r"|ALLOC_FAILED)",
    "  Profiling failure on CUDNN engine 1: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 3422552064 bytes.",
    "  Profiling failure on cuDNN engine eng1{k2=1,k3=0}: UNKNOWN: CUDNN_STATUS_ALLOC_FAILED",
    needs="Profiling failure on",
)
"""One algorithm that a library tried: none was left, or the next one was slower."""
CUDA_ERROR = LineRule(
    r"CUDA_ERROR[ _]{1,3}OUT[ _]OF[ _]MEMORY|cudaErrorMemoryAllocation|HIP_ERROR_OutOfMemory"
    r"|hipErrorOutOfMemory|CUDA"
    r" error: out of memory|[Cc]uda failure:?(?: \d+)? '?out of memory"
    r"|NCCL(?: (?:WARN|INFO|operation)\b|:| error\b).{0,80}out of memory"
    r"|Failed to CUDA (?:host )?(?:c|m)?alloc\b|\b(?:cuda|hip)[A-Z]\w{2,40}\([^\n]{0,200}\): out of memory"
    r"|\boperation (?:gpu|cuda|hip)[A-Z]\w{2,40}(?:\([^\n]{0,120}\))? failed: out of memory"
    r"|Failed (?:to )?call (?:to )?(?:cuda|hip)[A-Z]\w{2,40}[^\n]{0,40}: out of memory"
    r"|custom call '[\w.]{1,60}' failed: out of memory"
    r"|CUDA runtime implicit initialization .*out of"
    r" memory",
    "failed call to cuInit: CUDA_ERROR_OUT_OF_MEMORY",
    "CUDA_ERROR _OUT_OF_MEMORY while it trains",
    "INTERNAL: prng_kernels.cc:41: operation gpuGetLastError() failed: out of memory",
    "INTERNAL: Failed call to cudaGraphInstantiate: out of memory",
    "INTERNAL: custom call 'cu_threefry2x32_ffi' failed: out of memory",
    "RuntimeError: :0: cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, size): out of"
    " memory",
    "INTERNAL: NCCL operation ncclCommInitRank(&comm, n, id, rank) failed: unhandled cuda error. Last NCCL"
    " warning(error) log entry (may be unrelated) 'Cuda failure 2 'out of memory''.",
    "INTERNAL: NCCL operation ncclCommInitRankConfig failed: unhandled cuda error (run with"
    " NCCL_DEBUG=INFO for"
    " details). Last NCCL warning(error) log entry (may be unrelated) 'Failed to CUDA calloc async 608"
    " bytes'.",
    needs=("out_of_memory", "memoryallocation", "outofmemory", "out of memory", "failed to cuda"),
)
OUTPUT = LineRule(
    r"(?:Error: ?|RESOURCE_EXHAUSTED: |Resource exhausted: |Message: |\A\W*)(?:\{\{function_node [^}]*\}\}"
    r" ?)?"
    r"failed to allocate memory\b",
    "InternalError: failed to allocate memory [Op:AddV2]",
    "RESOURCE_EXHAUSTED: failed to allocate memory",
    "{{function_node __wrapped__Sub_device_/job:localhost/replica:0/task:0/device:GPU:0}} failed to allocate"
    " memory [Op:Sub] name: ",
    needs="failed to allocate memory",
)
BUFFER = LineRule(
    r"(?:OOM when allocating a buffer of|Ran out of GPU memory when allocating) (?P<bytes>\d+) bytes"
    r"|EigenAllocator for GPU ran out of memory when allocating (?P<of_eigen>\d+)",
    "ResourceExhaustedError: OOM when allocating a buffer of 805306368 bytes",
    "ResourceExhaustedError: Ran out of GPU memory when allocating 805306368 bytes for ",
    "F gpu_device.cc:104] EigenAllocator for GPU ran out of memory when allocating 0. See error logs",
    needs=("oom when allocating a buffer of", "gpu memory when allocating", "eigenallocator"),
)
NOTHING = LineRule(
    r"\b(?:tried|Request) to allocate 0 bytes\b",
    "E bfc_allocator.cc:244] tried to allocate 0 bytes",
    "W allocator_retry.cc:32] Request to allocate 0 bytes",
    needs="to allocate 0 bytes",
)
CONSTANT = LineRule(
    r"Failed to allocate (?P<bytes>\d+) bytes for new constant",
    "RESOURCE_EXHAUSTED: Failed to allocate 402653184 bytes for new constant",
    needs="for new constant",
)
"""A value that a compiled program holds itself, copied to the device when the program is loaded."""
PROTO = LineRule(
    r"Cannot parse tensor from (?:tensor_)?proto: dtype: (?P<dtype>DT_\w+)(?P<rest>.*)",
    "InvalidArgumentError: Cannot parse tensor from proto: dtype: DT_FLOAT",
    needs="Cannot parse tensor from",
)
"""A constant of the graph that its device has no room for: the sizes follow, line by line or on this one."""
_PROTO_SIZE = regex(r"\bsize: (\d+)")
_PROTO_SHAPE = regex(r"\s*(?:tensor_shape \{|dim \{|\}|size: \d+)\s*\Z")
BARE = LineRule(
    r"(?:\A|[\s.\"'`])ResourceExhaustedError(?: \(see above for traceback\))?:|\bRESOURCE_EXHAUSTED:"
    r" |\bResource exhausted: |\A\s*ResourceExhaustedError\s*Traceback \(most recent call last\)",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when calling layer"
    " 'conv2d_5' (type Conv2D).",
    "ResourceExhaustedError                    Traceback (most recent call last)",
    "ResourceExhaustedErrorTraceback (most recent call last)",
    needs=("resourceexhausted", "resource_exhausted: ", "resource exhausted: "),
)
BAD_ALLOC = LineRule(
    r"(?P<echo>what\(\): +)?std::bad_alloc|(?:\b|_Array)MemoryError\b(?!\s+Traceback \()"
    r"|Cannot allocate memory(?! for the (?:interpret|given input)|,? but\b)|[Tt]he paging file is too small"
    r"|\bcannot allocate memory for thread-local data"
    r"|\bCould not load library \S{1,80}\.dll\b[^\n]{0,20}\b[Ee]rror code:? 1455\b",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "OSError: [Errno 12] Cannot allocate memory",
    "cannot allocate memory for thread-local data: ABORT",
    "OSError: [WinError 1455] The paging file is too small for this operation to complete.",
    "Could not load library cudnn_ops_infer64_8.dll. Error code 1455",
    needs=("bad_alloc", "memoryerror", "cannot allocate memory", "paging file", "could not load library"),
)
_BY_HAND = regex(
    r"(?i)\b(?:has|have|had|needs?|needed|must) (?:to )?(?:be )?kill|\b(?:I|we|you) (?:\w+ )?kill(?:ed)?\b"
    r"|\bkill -(?:9|KILL|SIGKILL)\b|\b(?:simulat\w+|to test|on purpose|preempt\w*|manually|by hand"
    r"|by (?:me|the user|us(?!\w)))\b|\bsend(?:s|ing)? (?:a )?SIG(?:KILL|TERM)\b(?! to process)"
)
"""Whoever kills a program by hand, or tries what comes of it, needs no explanation."""
_DENIES = regex(
    r"(?i)(?:\b(?:no|not|nor|never|neither|without|nothing)\b|n['\u2019]t\b)"
    r"(?:[ `'\"]{1,3}(?:a|an|any|the|single|such|been|being|be|by|get|gets|getting|got|see|sees|find|found"
    r"|show|shows|report|reports|mention|mentions|contain|contains|have|has|about|of|from|like|in|sign|signs"
    r"|trace|traces|evidence|entry|entries|line|lines|event|events|kernel|dmesg|linux)\b){0,5}[ `'\"]{1,3}\Z"
)
_DENIED = regex(
    r"(?i)\A(?:er|ed|s)?(?:[ `'\"]{1,2}(?:line|entry|message|event)s?)?[`'\"]?"
    r" (?:was|were|is|are|did|has|have)(?: not|n['\u2019]t)\b"
)
_NONE = regex(r"(?i)\A(?:er|ed|s)?[`'\"]?\s?[:= ]\s?['\"]?(?:false|no|0)\b")
"""How the words around it deny a kill, and how a count or a flag does."""
KILLED = LineRule(
    r"oom[-_]kill|\b(?:was )?OOM[- ]killed\b"
    r"|Out of memory: Kill(?:ed)? process|(?:exit(?:ed with)? (?:code|status):? "
    r"|exit(?:s|ed)? with (?:(?:exit )?(?:status code|code|status):? )?"
    r"|exited with code"
    r" |status |exitcode *[:=] *)(?:137|-9|247)\b|OOMKilled|SIGKILL"
    r"|(?:terminated (?:by|due to)|died (?:with|by|from|of)|exited(?: on| with| by)?|killed by|was sent)"
    r" signal 9\b|[Cc]group out of memory: Kill"
    r"|Runtime exited with error: signal: killed|(?i:exit code):? +137\b"
    r"|(?i:\bexit[ _]?code)[\"']? ?[:=] ?137\b|\bnon-zero (?:exit )?(?:code|status):? 137\b"
    r"|\bExited \(137\)|\*\*\* \[[^\]\n]{1,120}\] Error 137\b|(?<![\w.])rc[ =:]{1,2}(?:137|-9)\b"
    r"|(?:tried |\A\W*)to allocate more memory than is available|crashed after using all available RAM"
    r"|\buse an instance type with more memory\b"
    r"|\bRayOutOfMemoryError: More than \d{1,3}% of the memory\b"
    r"|low on resource: memory\b|exceeded (?:job |step )?memory limit"
    r"|[Mm]emory limit of \S+(?: \S+)? exceeded|gone over memory limit of"
    r"|TERM_MEMLIMIT|job killed: (?:v?mem|pmem)\b|killed by YARN for exceeding memory|running low on memory\."
    r"|Killed /\S+ due to memory|sending SIG(?:TERM|KILL) to process .* badness"
    r"|task \d+: Out Of Memory|Memory quota (?:vastly )?exceeded|0xC0000017|-1073741801\b|3221225495\b"
    r"|State: OUT_OF_MEMORY|\bOUT_OF_ME(?:\+|M\b|MORY\b)|exceeded \d+% memory budget"
    r"|(?:line \d+: +|\A\w[\w -]{0,20}: )\d+ Killed\b|\A\s*[\w./~-]{1,200}: +\d{1,6}: +\d{1,8} (?i:killed)\s"
    r"|\A\s*\d{2,8} Killed\s{3,}\S"
    r"|\A\s*[a-z]{0,4}sh: (?i:killed)\b|\A(?:# )?\s*Killed: 9\s*\Z"
    r"|\d.{0,80}(?:\.{3}|\u2026) ?Killed\s*\Z"
    r"|DataLoader worker \(pid(?:\(s\))? [\d, ]{1,60}\) (?:is killed by signal: Killed|exited unexpectedly)"
    r"|\A(?:\[\d{1,4}\](?:\s{0,8}[+-])?\s{1,8}(?:\d{2,8}\s{1,8})?"
    r"|# )?(?i:killed)(?:\s+(?:\w+=\S*\s+)*\S*python[\d.]*\s.*)?\s*\Z|\A\s{1,12}Killed\s*\Z"
    rf"|{SHELLS_LINE}|{SESSION_ENDED}",
    "Out of memory: Kill process 8123 (python3) score 891",
    "exited with exit code 137",
    "    exitCode: 137",
    '"ExitCode": 137,',
    "The command '/bin/sh -c make_tables' returned a non-zero code: 137",
    'trainer   "python train.py"   2 days ago   Exited (137) 3 minutes ago',
    "make: *** [Makefile:12: all] Error 137",
    "attempt 1 ended rc 137 without completing an epoch",
    "the container exits with code 137",
    "trial 3: worker 2 exit with status code 247",
    "docker run --memory 8g ... exits with 137 while the buffer fills",
    "2000 6.2 GB | 4000 11.9 GB ... Killed",
    "[1] [WARNING] Worker with pid 9 was terminated due to signal 9",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM"
    " Killed.",
    "Memory cgroup out of memory: Killed process 4242 (python) total-vm:20000000kB, anon-rss:8000000kB",
    "RequestId: 8f5 Error: Runtime exited with error: signal: killed",
    "Your notebook tried to allocate more memory than is available. It has restarted.",
    'to allocate more memory than is available. It has restarted.")',
    "Your session crashed after using all available RAM.",
    "Tu sesi\xf3n fall\xf3 despu\xe9s de usar toda la memoria RAM disponible.",
    "Sua sess\xe3o falhou depois de usar toda a RAM dispon\xedvel.",
    "ClientError: Please use an instance type with more memory, or reduce the size of training data",
    "Killed",
    "Killed: 9",
    "# Killed",
    "    Killed",
    "\u5df2\u6740\u6b7b",
    "train.sh: \u884c 4: 71220 \u5df2\u6740\u6b7b               python train.py",
    "Get\xf6tet",
    "subprocess.CalledProcessError: Command 'make_examples' returned non-zero exit status 247.",
    "./train.sh: line 26:  6499 Killed                  python train.py",
    "worker 3: 71220 Killed                  PYTHONPATH=. python -m train",
    "51207 Killed                  CONFIG=pod.py python -m train --steps=9",
    "./run.sh:  41: 20117 killed              python3 main.py --steps=1000",
    "zsh: killed     python train.py",
    "[1]    4242 killed     python3 convert.py --model ssd",
    "[2]+  Killed                  CUDA_VISIBLE_DEVICES=0 python train.py",
    "task 5 exited: Container was OOM killed by the kernel (exit 137)",
    "RuntimeError: DataLoader worker (pid(s) 1235) exited unexpectedly",
    "RuntimeError: DataLoader worker (pid 1235) is killed by signal: Killed.",
    "systemd-oomd[812]: Killed /user.slice/user-1000.slice/session-3.scope due to memory used (31G) / total"
    " (32G) and swap used",
    'sending SIGTERM to process 4242 uid 1000 "python3": badness 1200, VmRSS 30500 MiB',
    "srun: error: node01: task 0: Out Of Memory",
    "The node was low on resource: memory.",
    "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
    "PBS: job killed: mem 10485760kb exceeded limit 8388608kb",
    "Error from slot1@node: Job has gone over memory limit of 2048 megabytes. Peak usage: 2102 megabytes.",
    "Container killed by YARN for exceeding memory limits. 5.5 GB of 5.5 GB physical memory used.",
    "RayOutOfMemoryError: More than 95% of the memory on node n1 is used (30.47 / 31.3 GB).",
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    "Memory limit of 512 MiB exceeded with 527 MiB used.",
    "Memory limit of 2048M exceeded with 2126M used.",
    "heroku[web.1]: Error R15 (Memory quota vastly exceeded)",
    "    exitcode  : -9 (pid: 4242)",
    "Process finished with exit code -1073741801 (0xC0000017)",
    "State: OUT_OF_MEMORY (exit code 0)",
    "812233.batch     batch OUT_OF_ME+    0:125  33350412K       32Gn",
    "Worker tcp://127.0.0.1:41721 (pid=9120) exceeded 95% memory budget. Restarting...",
    needs=(
        "kill",
        "exited unexpectedly",
        "137",
        "rc 137",
        "247",
        "-9",
        "signal 9",
        "more memory than is available",
        "all available ram",
        "instance type with more memory",
        "rayoutofmemoryerror: more",
        *WORDS_OF_A_SESSION,
        "memory limit",
        "memlimit",
        "low on memory",
        "low on resource",
        "out of memory",
        "badness",
        "quota",
        "out_of_me",
        "memory budget",
        "0xc0000017",
        "-1073741801",
        "3221225495",
        *map(str.lower, SHELLS_WORDS),
    ),
)


_AMOUNT = r"[\d.]+ ?(?:[kKMGT]i?[bB]?|megabytes)"
_RESIDENT = regex(r"anon-rss:(\d+)kB(?:, file-rss:(\d+)kB)?(?:, shmem-rss:(\d+)kB)?")
_IN_KILOBYTES = regex(r"memory limit \((?P<held>\d{1,15}) > (?P<limit>\d{1,15})\)")
"""SLURM's own count."""
_ALLOWED = tuple(
    regex(pattern.format(*(rf"(?P<{name}>{_AMOUNT})" for name in names)))
    for pattern, names in (
        (r"{} of {} (?:physical|virtual) memory used", ("held", "limit")),
        (r"limit of {} exceeded with {} used", ("limit", "held")),
        (r"memory limit of {}\. Peak usage: {}", ("limit", "held")),
        (r"mem {} exceeded limit {}", ("held", "limit")),
        (r"VmRSS {}", ("held",)),
    )
)
"""What killers say of the killed, in their own units."""
LAMBDA = LineRule(
    r"Memory Size: (?P<limit>\d+) MB\s+Max Memory Used: (?P<held>\d+) MB",
    "REPORT RequestId: 8f5 Duration: 8012.12 ms Billed Duration: 8013 ms Memory Size: 3008 MB Max Memory"
    " Used: 3008 MB",
    needs="Max Memory Used",
)
"""The account that AWS Lambda gives of each call: of a failure only where all was used."""
_CALL_ENDS = "END RequestId"
_CALL_KILLED = regex(r"(?i)\bRuntime exited|\bRuntime\.(?:ExitError|OutOfMemory)|\bsignal: killed")
"""How AWS Lambda tells that a call's process ended: one that ran out of time, or raised an exception of its
own, was not killed for memory.
"""
_BUFFER_OF_MIOPEN = regex(r"Memory not available to allocate buffer: (?P<bytes>\d{1,15})\b")
_DISGUISES = RuleTable.of(
    DRIVER, PINNED, HOST, ARRAY, UNABLE, FETCHED, BATCH, BUFFER, CONSTANT, PROTO, COPY, DST, LAUNCH,
    PROFILING,
    LIBRARY, OUTPUT, BAD_ALLOC, LAMBDA, KILLED, CUDA_ERROR,
)  # fmt: skip
_NO_MEMORY = regex(
    r"larger than max|Collective ops is aborted|Aborting RingReduce"
    r"|No space left|(?i:too many open files)|[Qq]uota|rate"
    r" limit|(?i:resource[ _]?exhausted(?:error)?): (?:\.{0,2}|~|[A-Za-z]:|\w{2,6}:/)[/\\]\w"
    r"|grpc_message|^\s*(?:except|raise|import|from)\b",
    re.MULTILINE,
)
_IN_OP = regex(r"\(\d+\) (?:Internal|INTERNAL)|InternalError|OP_REQUIRES failed")
_ANOTHER_REASON = regex(
    r"\bCUDA_ERROR_(?!OUT_OF_MEMORY|UNKNOWN)[A-Z_]{4,40}\b"
    r"|\b(?:cuda|hip)Error(?!OutOfMemory|MemoryAlloc|Unknown)[A-Z]\w{3,40}\b|\bdevice-side assert triggered\b"
)
_NAMES_MEMORY = regex(
    r"(?i)unified memory|out[ _]{0,2}of[ _]{0,2}memory|MemoryAllocation|Dst tensor|alloc_failed"
)
_BY_THEIR_HEADS = ("copy", "library", "host", "driver", "output")
"""Failures whose head alone is read as one of memory, whatever stands behind its colon."""
_CUT = regex(r"\bUnable to allocate\W*\Z")
_PYTHON = regex(r"(?:[\w.]+\.)?_?(?:Array)?MemoryError\b|RuntimeError\b")


@dataclass(kw_only=True)
class IndirectFailure(Context):
    """One line that stands for a failed allocation, with its context."""

    kind: RequestKind
    what: str
    size: Size | None = None
    held: Size | None = None
    """What a killed process held of the host's RAM."""
    limit: Size | None = None
    """What it was allowed to hold."""
    device: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    echo: bool = False
    """Says again what the line before it said."""

    @property
    def alone(self) -> bool:
        """Whether the driver logged it: such a line may stand amid another failure's story, and no node
        follows it.
        """
        of_a_program = "Execution of replica" in self.line.text  # which a line of the user's started
        return self.what in ("driver", "host") and not (self.in_python or of_a_program)


class IndirectFailureCollector:
    """Collects failures in disguise."""

    def __init__(self) -> None:
        self.finished: list[IndirectFailure] = []
        self._sizes: list[int] | None = None
        """The sizes of a constant whose shape is being read."""
        self._call_ended = self._call_killed = False

    def offer(self, line: Line) -> bool:
        """Take the line if it tells of memory that could not be had."""
        if self._sizes is not None and _PROTO_SHAPE.match(line.text):
            self._sizes += [int(size) for size in _PROTO_SIZE.findall(line.text)]
            self.finished[-1].shape = tuple(self._sizes)
            return True
        self._sizes = None
        self._call_ended = self._call_ended or _CALL_ENDS in line.text
        self._call_killed = self._call_killed or _CALL_KILLED.search(line.text) is not None
        if "OM when allocating" in line.text and not BUFFER.search(line.text):
            return False
        match = self._recognise(line) if _DISGUISES.likely(line.text) else None
        if match is None or _states_another_reason(match):
            return False
        match.in_python = bool(EXCEPTION.search(line.text) or _PYTHON.match(line.text))
        self.finished.append(match)
        return True

    def drop_unexplained_libraries(self) -> None:
        """Forget cuDNN's failures that do not name memory: the log gives another reason for them."""
        self.finished = [
            part
            for part in self.finished
            if part.kind is not RequestKind.WORKSPACE or "ALLOC_FAILED" in part.line.text
        ]

    def drop_calls_that_ended(self) -> None:
        """Forget the accounts of calls that ended as they should: a cache of files fills what a call has, and
        an emulator prints the limit itself.
        """
        if self._call_ended and not self._call_killed:
            self.finished = [part for part in self.finished if not LAMBDA.search(part.line.text)]

    def drop_cut_titles(self) -> None:
        """Forget a message that is cut before its figure, as titles are, where the text has it whole."""
        whole = any(part.what == "array" and (part.size or part.shape) for part in self.finished)
        self.finished = [
            part for part in self.finished if not (whole and _CUT.search(part.line.text) and not part.shape)
        ]

    def _recognise(self, line: Line) -> IndirectFailure | None:
        text = line.text
        if match := DRIVER.search(text):
            size = Size.exactly(int(match["bytes"])) if match["bytes"] else parse_size(_binary(match["size"]))
            return IndirectFailure(line, kind=RequestKind.DRIVER, what="driver", size=size)
        if match := PINNED.search(text) or HOST.search(text):
            return IndirectFailure(
                line, kind=RequestKind.HOST, what="host", size=Size.exactly(int(match["bytes"]))
            )
        if match := ARRAY.search(text):
            return IndirectFailure(
                line,
                kind=RequestKind.HOST,
                what="array",
                shape=_sizes(match["shape"]),
                dtype=numpy_dtype(match["dtype"]),
            )
        if match := UNABLE.search(text):
            size = parse_size(match["size"].replace(". ", " "))
            return IndirectFailure(line, kind=RequestKind.HOST, what="array", size=size)
        if match := FETCHED.search(text):
            return IndirectFailure(
                line,
                kind=RequestKind.HOST,
                what="array",
                shape=_sizes(match["shape"]) if match["shape"] else None,
            )
        if BATCH.search(text):
            return IndirectFailure(line, kind=RequestKind.HOST, what="batch")
        if match := BUFFER.search(text):  # DirectML's kernels, and the cross-entropy of TF 1.12
            return IndirectFailure(
                line,
                kind=RequestKind.TENSOR,
                what="buffer",
                size=Size.exactly(int(match["bytes"] or match["of_eigen"])),
            )
        if match := CONSTANT.search(text):
            return IndirectFailure(
                line, kind=RequestKind.TENSOR, what="constant", size=Size.exactly(int(match["bytes"]))
            )
        if match := PROTO.search(text):
            self._sizes = [int(size) for size in _PROTO_SIZE.findall(match["rest"])]
            return IndirectFailure(
                line,
                kind=RequestKind.TENSOR,
                what="constant",
                shape=tuple(self._sizes) or None,
                dtype=numpy_dtype(match["dtype"]),
            )
        if match := COPY.search(text):
            op = _EAGER if _is_cut(text, match.end("op"), match["op"]) else match["op"]
            return IndirectFailure(line, kind=RequestKind.COPY, what="copy", device=match["device"], op=op)
        return self._words(text, line)

    def _words(self, text: str, line: Line) -> IndirectFailure | None:
        if match := DST.search(text):
            return IndirectFailure(
                line, kind=RequestKind.COPY, what="copy", device=match["device"], op=match["op"]
            )
        if LAUNCH.search(text):
            return IndirectFailure(line, kind=RequestKind.DRIVER, what="kernel launch")
        if match := PROFILING.search(text):
            size = Size.exactly(int(match["bytes"])) if match["bytes"] else None
            return IndirectFailure(line, kind=RequestKind.WORKSPACE, what="library", size=size)
        if LIBRARY.search(text):
            asked = _BUFFER_OF_MIOPEN.search(text)
            size = Size.exactly(int(asked["bytes"])) if asked else None
            return IndirectFailure(line, kind=RequestKind.WORKSPACE, what="library", size=size)
        if OUTPUT.search(text):
            return IndirectFailure(line, kind=RequestKind.TENSOR, what="output")
        if match := BAD_ALLOC.search(text):
            return IndirectFailure(
                line,
                kind=RequestKind.HOST,
                what="array" if "MemoryError" in match[0] else "bad_alloc",
                echo=bool(match["echo"]),
            )
        if match := LAMBDA.search(text):
            used, allowed = (Size.exactly(int(match[name]) << 20) for name in ("held", "limit"))
            if used.bytes < allowed.bytes:
                return None
            return IndirectFailure(line, kind=RequestKind.HOST, what="killed", held=used, limit=allowed)
        if (match := KILLED.search(text)) and not (_BY_HAND.search(text) or _is_denied(match)):
            held, limit = _of_the_killed(text)
            return IndirectFailure(line, kind=RequestKind.HOST, what="killed", held=held, limit=limit)
        if CUDA_ERROR.search(text):
            return IndirectFailure(
                line, kind=RequestKind.DRIVER, what="call" if _IN_OP.search(text) else "driver"
            )
        return None


def _states_another_reason(failure: IndirectFailure) -> bool:
    """Whether the message names the driver's error that is its reason, and that is none of memory: what its
    head means as a rule then counts for nothing.
    """
    text = failure.line.text
    if failure.what not in _BY_THEIR_HEADS or _NAMES_MEMORY.search(text):
        return False
    return _ANOTHER_REASON.search(text) is not None


def _is_denied(kill: re.Match[str]) -> bool:
    """Whether the text says that nobody was killed: `no oom-killer line in dmesg`, `"OOMKilled": false`."""
    before, after = kill.string[max(0, kill.start() - 80) : kill.start()], kill.string[kill.end() :]
    none = kill[0].lower().startswith("oom") and _NONE.match(after)
    return bool(none or _DENIES.search(before) or _DENIED.match(after))


def bare_exception(line: Line) -> IndirectFailure | None:
    """The name of the exception alone: for pastes that hold nothing else. Other resources run out, too:
    disks, files, quotas, message sizes.
    """
    if not BARE.search(line.text) or _NO_MEMORY.search(line.text):
        return None
    return IndirectFailure(line, kind=RequestKind.TENSOR, what="bare", in_python=True)


def nothing_asked(line: Line) -> IndirectFailure | None:
    """What releases before 1.0 log of an empty request, which gets no memory: for pastes that hold nothing
    else, since an op that makes no use of it goes on.
    """
    if not NOTHING.search(line.text):
        return None
    return IndirectFailure(line, kind=RequestKind.TENSOR, what="buffer", size=Size.exactly(0))


def _of_the_killed(text: str) -> tuple[Size | None, Size | None]:
    """What the line says that the process held of the host's RAM, and what it was allowed to hold."""
    if match := _RESIDENT.search(text):
        kilobytes = sum(int(figure) for figure in match.groups() if figure)
        return Size.exactly(kilobytes << 10), None
    if match := _IN_KILOBYTES.search(text):
        return Size.exactly(int(match["held"]) << 10), Size.exactly(int(match["limit"]) << 10)
    for pattern in _ALLOWED:
        if match := pattern.search(text):
            figures = match.groupdict()
            held, limit = (figures.get(name) for name in ("held", "limit"))
            return _in_words(held) if held else None, _in_words(limit) if limit else None
    return None, None


def _in_words(text: str) -> Size:
    """`5.5 GB`, `512 MiB`, `8388608kb`, `2048 megabytes`: all of these mean powers of 1024."""
    figure, letter = re.match(r"([\d.]+) ?([a-zA-Z])", text).groups()  # type: ignore[union-attr]
    return parse_size(f"{figure}{letter.upper()}iB")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.replace(" ", "").split(",") if size)


def _binary(text: str) -> str:
    """The driver's `1.51G` is a gibibyte's worth: in TensorFlow's spelling `1.51GiB`."""
    if text.endswith("B"):
        return text
    return f"{text}iB" if text[-1] in "KMGT" else f"{text}B"
