"""What ended a run, or only alarmed, without TensorFlow, JAX or XLA running out of memory: other programs on
the same GPU, full disks, quotas, versions that do not match, crashes.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

FOREIGN = {
    "ffmpeg": LineRule(
        r"OpenEncodeSessionEx failed|\[(?:h264|hevc|av1)_(?:nvenc|cuvid) @ \w+\].*(?:emory|No capable"
        r" devices)",
        "[h264_nvenc @ 0x55d0] OpenEncodeSessionEx failed: out of memory (10): (no details)",
        needs=" @ ",
    ),
    "ONNX Runtime": LineRule(
        r"onnxruntime.{0,400}(?:BFCArena|Failed to allocate memory|out of memory|ALLOC_FAILED)",
        "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Conv node."
        " Status Message: /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:342 void*"
        " onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested"
        " buffer of size 12582912",
        needs="onnxruntime",
    ),
    "TensorRT": LineRule(
        r"\[TRT\].*(?:OutOfMemory|[Oo]ut of memory|could not be allocated|[Ii]nsufficient memory)"
        r"|\bCuda Error in allocate: 2\b",
        "[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::140] Error Code 2: OutOfMemory (no further"
        " information)",
        "[TRT] [W] Requested amount of GPU memory (34359738368 bytes) could not be allocated. There may not"
        " be enough free memory for allocation to succeed.",
        "trt_logger.cc:38] DefaultLogger runtime.cpp (24) - Cuda Error in allocate: 2",
        needs=("[trt]", "error in allocate"),
    ),
    "RAPIDS (RMM)": LineRule(
        r"\brmm\b.{0,400}(?:out[_ ]of[_ ]memory|cudaErrorMemoryAllocation)",
        "MemoryError: std::bad_alloc: out_of_memory: CUDA error at:"
        " /opt/conda/include/rmm/mr/device/cuda_memory_resource.hpp:70: cudaErrorMemoryAllocation out of"
        " memory",
        needs="rmm",
    ),
    "XGBoost": LineRule(
        r"XGBoostError.{0,400}(?:[Mm]emory allocation error|[Oo]ut of memory|bad_alloc)",
        "xgboost.core.XGBoostError: [10:11:12] /workspace/src/common/device_helpers.cuh:431: Memory"
        " allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory",
        needs="XGBoostError",
    ),
    "Numba": LineRule(
        r"CudaAPIError: \[.*CUDA_ERROR_OUT_OF_MEMORY",
        "numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY",
        needs="CudaAPIError",
    ),
    "JCuda": LineRule(
        r"\bjcuda\.\w+: CUDA_ERROR_OUT_OF_MEMORY",
        "jcuda.CudaException: CUDA_ERROR_OUT_OF_MEMORY",
        needs="jcuda",
    ),
    "PyCUDA": LineRule(
        r"\bpycuda\._driver\.MemoryError",
        "pycuda._driver.MemoryError: cuMemAlloc failed: out of memory",
        needs="pycuda",
    ),
    "CUDA.jl (Julia)": LineRule(
        r"\bOut of GPU memory trying to allocate\b",
        "ERROR: LoadError: Out of GPU memory trying to allocate 4.000 GiB",
        needs="Out of GPU memory",
    ),
    "Darknet": LineRule(
        r"\bTry to set subdivisions=\d+ in your cfg-file\b|\bcuda_make_array\b.{0,40}\bout of memory",
        "  0  Try to set subdivisions=64 in your cfg-file. ",
        needs=("set subdivisions", "cuda_make_array"),
    ),
    "Caffe": LineRule(
        r"Check failed: error == cudaSuccess \(2 vs\. 0\) +out of memory",
        "F0512 10:11:12.123456  4242 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out of"
        " memory",
        needs="== cudaSuccess",
    ),
    "PaddlePaddle": LineRule(
        r"Out of memory error on GPU \d+\. Cannot allocate",
        "Out of memory error on GPU 0. Cannot allocate 1.5GB memory on GPU 0, 10.7GB memory has been"
        " allocated",
        needs="Out of memory error on GPU",
    ),
    "llama.cpp": LineRule(
        r"\bggml_\w{1,80}:.{0,400}(?:out of memory|failed to allocate)"
        r"|failed to allocate (?:CUDA|Metal)\d* buffer",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed:"
        " out of memory",
        needs="ggml_",
    ),
    "a Thrust or CUB program": LineRule(
        r"thrust::.*bad_alloc|bad_alloc: cudaErrorMemoryAllocation",
        "terminate called after throwing an instance of 'thrust::system::detail::bad_alloc'",
        "  what():  std::bad_alloc: cudaErrorMemoryAllocation: out of memory",
        needs="bad_alloc",
    ),
    "PyTorch": LineRule(
        r"torch\.(?:cuda\.)?OutOfMemoryError|(?:CUDA|HIP|XPU|MPS backend) out of memory\b(?![\s.!?]*\Z)"
        r"|[Ee]rror: (?:CUDA|HIP|XPU) out of memory"
        r"|\bTHCudaCheck FAIL [^\n]{0,160}\berror=2 : out of memory"
        r"|\bcuda runtime error \(2\) ?: out of memory at \S{0,120}\bTHC",
        "RuntimeError: CUDA out of memory. Tried to allocate 8.13 GiB (GPU 0; 10.76 GiB total capacity;"
        " 643.57 MiB already allocated)",
        "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory",
        "RuntimeError: cuda runtime error (2) : out of memory at /opt/pytorch/aten/src/THC/THCStorage.cu:58",
        needs="emory",
    ),
    "PyTorch in host RAM": LineRule(
        r"\bDefaultCPUAllocator: (?:not enough memory|can't allocate memory)"
        r"\W{1,3}you tried to allocate \d",
        "RuntimeError: [enforce fail at CPUAllocator.cpp:75] data. DefaultCPUAllocator: not enough memory:"
        " you tried to allocate 536870912 bytes. Buy new RAM!",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate"
        " memory: you tried to allocate 8388608000 bytes. Error code 12 (Cannot allocate memory)",
        needs="DefaultCPUAllocator",
    ),
    "NVIDIA Warp": LineRule(
        r"\bWarp CUDA error 2: out of memory",
        "Warp CUDA error 2: out of memory (in function wp_alloc_device_async, warp/native/warp.cu:769)",
        needs="Warp CUDA",
    ),
    "Tenstorrent's runtime": LineRule(
        r"Not enough space to allocate \d+ B (?:DRAM|L1\w*) buffer across \d+ banks",
        "Out of Memory: Not enough space to allocate 6710886400 B DRAM buffer across 12 banks, where each"
        " bank needs to store 559243264 B, but bank size is only 1073741792 B (assert.hpp:111)",
        needs="buffer across",
    ),
    "CuPy": LineRule(
        r"cupy\.\S*OutOfMemoryError|\bout of memory to allocate \d+ bytes \(total \d+ bytes\)"
        r"|\bOut of memory allocating [\d,]+ bytes \(allocated so far: ",
        "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 200000000000 bytes",
        "OutOfMemoryError: out of memory to allocate 800000000 bytes (total 6400000000 bytes)",
        "OutOfMemoryError: Out of memory allocating 8,000,000 bytes (allocated so far: 64,000,000 bytes).",
        needs=("cupy", "out of memory"),
    ),
    "OpenMM": LineRule(
        r"OpenMMException[^\n]{0,200}(?:OUT_OF_MEMORY|[Oo]ut of memory)",
        "simtk.openmm.OpenMMException: Error creating array interactingAtoms: CUDA_ERROR_OUT_OF_MEMORY (2)",
        needs="OpenMMException",
    ),
    "MXNet": LineRule(
        r"MXNetError.{0,400}(?:out of memory|cudaMalloc)",
        "mxnet.base.MXNetError: cudaMalloc failed: out of memory",
        needs="MXNetError",
    ),
    "OpenCV": LineRule(
        r"OpenCV.*Insufficient memory|\(-4:Insufficient memory\)",
        "cv2.error: OpenCV(4.5.1) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 2147483648"
        " bytes in function 'OutOfMemoryError'",
        needs="Insufficient memory",
    ),
    "Java": LineRule(
        r"java\.lang\.OutOfMemoryError",
        "java.lang.OutOfMemoryError: Java heap space",
        needs="OutOfMemoryError",
    ),
    "R": LineRule(
        r"\b(?:cannot allocate vector of (?:size|length) \d|vector memory (?:exhausted \(|limit of \d))",
        "Error: cannot allocate vector of size 5.6 Gb",
        "Error: vector memory exhausted (limit reached?)",
        "Error: vector memory limit of 16.0 Gb reached, see mem.maxVSize()",
        needs=("allocate vector of", "vector memory"),
    ),
    "JavaScript": LineRule(
        r"JavaScript heap out of memory"
        r"|\bRangeError: (?:Array buffer allocation failed|Invalid typed array length)",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        "UnhandledPromiseRejectionWarning: RangeError: Array buffer allocation failed",
        needs=("javascript heap", "rangeerror"),
    ),
}
"""Programs and libraries with allocators of their own, by their messages."""

WITHOUT_FIGURES = {
    "the tensor arena of TensorFlow Lite Micro is too small": LineRule(
        r"Failed to (?:resize buffer|allocate (?:tail|persistent|temp) (?:memory|buffer))\. Requested:? (\d+)"
        r"(?: bytes)?, available:? (\d+)(?: bytes)?, missing:? (\d+)|Arena size is too small for all buffers"
        r"|Failed to allocate (?:tail|temp) memory\. Requested:? \d+",
        "Failed to resize buffer. Requested: 40960, available 30720, missing: 10240",
        "Failed to allocate tail memory. Requested: 512, available 96, missing: 416",
        "Arena size is too small for all buffers. Needed 99840 but only 81920 was available.",
        needs=("failed to resize buffer", "failed to allocate ", "arena size"),
    ),
    "Metal had no memory left for a command buffer of Apple's GPU, which shares the CPU's RAM": LineRule(
        r"kIOGPUCommandBufferCallbackErrorOutOfMemory"
        r"|MTLCommandBufferErrorDomain.{0,400}(?:Insufficient Memory|Code=8\b)",
        "\tInsufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
        "Error Domain=MTLCommandBufferErrorDomain Code=8 Insufficient Memory",
        needs="CommandBuffer",
    ),
    "Metal's table of buffers was full, which counts how many there are and not how large they are": LineRule(
        r"\[metal::malloc\] Resource limit \(\d+\) exceeded",
        "[MPS ERROR] Exception dispatching stablehlo.dynamic_update_slice: [metal::malloc] Resource limit"
        " (499000) exceeded.",
        needs="metal::malloc",
    ),
    "a program that draws or computes with Vulkan got no memory from the GPU": LineRule(
        r"\b(?:VK_)?ERROR_OUT_OF_DEVICE_MEMORY\b|\bErrorOutOfDeviceMemory\b|OomError\(OutOfDeviceMemory\)"
        r"|carb\.graphics-vulkan\S* Out of GPU memory",
        "VkResult: ERROR_OUT_OF_DEVICE_MEMORY",
        "vulkan_buffer.cc:61: Vulkan Error, code=-2: VK_ERROR_OUT_OF_DEVICE_MEMORY",
        "[carb.graphics-vulkan.plugin] Out of GPU memory allocating resource 'Foundation Resource Allocator'",
        needs=("of_device_memory", "ofdevicememory", "graphics-vulkan"),
    ),
    "a tensor needs a larger texture than WebGL has here: a fixed limit, no lack of memory": LineRule(
        r"Requested texture size \[\d+x\d+\] greater than WebGL maximum",
        "Requested texture size [6000x6000] greater than WebGL maximum on this browser / GPU [4096x4096].",
        needs="texture size",
    ),
    "the browser's GPU (WebGL) had no memory left for TensorFlow.js's textures": LineRule(
        r"Unable to create WebGLTexture",
        "Error: Unable to create WebGLTexture.",
        needs="WebGLTexture",
    ),
    "TensorFlow.js's textures fill the browser's GPU (WebGL)": LineRule(
        r"High memory usage in GPU: [\d.]+ MB",
        "High memory usage in GPU: 1456.10 MB, most likely due to a memory leak",
        needs="High memory usage",
    ),
    "the browser (WebGL) took the context from TensorFlow.js, as happens where textures fill its GPU's"
    " memory, where a page has many contexts, and where the driver restarts": LineRule(
        r"CONTEXT_LOST_WEBGL.{0,400}context lost",
        "WebGL: CONTEXT_LOST_WEBGL: loseContext: context lost",
        needs="CONTEXT_LOST",
    ),
    "the browser could not compile a shader of TensorFlow.js (WebGL), as happens where its GPU has no memory"
    " left, or for its driver": LineRule(
        r"Failed to compile (?:fragment|vertex) shader|Unable to create (?:fragment|vertex) WebGLShader",
        "Error: Failed to compile fragment shader.",
        needs="shader",
    ),
    "the browser gave a page no room for what it asked for at once, most likely WebAssembly's"
    " memory": LineRule(
        r"\bRangeError: (?:(?i:out of memory)(?![^\n]*heap)"
        r"|WebAssembly\.(?:Memory|instantiate)\(\):[^\n]{0,40}"
        r"(?i:could not allocate memory|out of memory))",
        "Unhandled Promise Rejection: RangeError: Out of memory",
        "RangeError: WebAssembly.Memory(): could not allocate memory",
        "RangeError: WebAssembly.instantiate(): Out of memory: wasm memory",
        needs="RangeError",
    ),
    "OpenCL found no host memory, which is the process's own RAM and no buffer of the GPU's (TensorFlow"
    " Lite's GPU delegate, or others)": LineRule(
        r"\bCL_OUT_OF_HOST_MEMORY\b"
        r"|(?:\bclCreate\w+\)?|[Ff]ailed to build program executable|\bclBuildProgram\b)"
        r"[^\n]{0,20}(?:: | - )Out of host memory",
        "Failed to apply delegate: Failed to build program executable - Out of host memoryError: Program not"
        " built!",
        "clBuildProgram failed: CL_OUT_OF_HOST_MEMORY",
        "ERROR: Failed to allocate device memory (clCreateBuffer): Out of host memory",
        needs=("host memory", "host_memory"),
    ),
    "OpenCL had no memory for a buffer or picture (TensorFlow Lite's GPU delegate, or others)": LineRule(
        r"clCreate(?:Buffer|Image)\w*\)?: (?:Memory object allocation failure|Out of resources)"
        r"|\bCL_(?:OUT_OF_RESOURCES|MEM_OBJECT_ALLOCATION_FAILURE)\b",
        "ERROR: Failed to allocate device memory (clCreateBuffer): Memory object allocation failure",
        "clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES",
        needs=("clcreate", "cl_"),
    ),
    "OpenCL refused one buffer of another library (LightGBM's GPU learner, or others)": LineRule(
        r"\A\s*(?:what\(\): +)?Memory Object Allocation Failure\s*\Z",
        "  what():  Memory Object Allocation Failure",
        needs="bject ",
    ),
    "TensorFlow Serving has no room to load a model: the models would exceed the RAM it counts on": LineRule(
        r"Insufficient resources to load servable|[Ss]ervable:? \{.*RESOURCE_EXHAUSTED",
        "Servable {name: ranker version: 12} cannot be loaded: RESOURCE_EXHAUSTED: Insufficient resources to"
        " load servable {name: ranker version: 12}",
        needs="ervable",
    ),
    "the GPU's memory ran out under DirectML (E_OUTOFMEMORY)": LineRule(
        r"HRESULT failed with 0x8007000E|\bE_OUTOFMEMORY\b|\bDML allocator out of memory\b",
        "F tensorflow/core/common_runtime/dml/dml_heap_allocator.cc:120] HRESULT failed with 0x8007000E:"
        " device->CreateCommittedResource(&heap)",
        "F tensorflow/core/common_runtime/dml/dml_allocator.cc:97] DML allocator out of memory!",
        needs=("0x8007000e", "e_outofmemory", "dml allocator"),
    ),
    "DirectML lost the GPU (device removed): often memory ran out, else one call took too long": LineRule(
        r"(?i:0x887A000[567]|DXGI_ERROR_DEVICE_(?:REMOVED|HUNG|RESET))",
        "F tensorflow/c/logging.cc:43] HRESULT failed with 0x887A0005: dml_device->GetDeviceRemovedReason()",
        needs=("0x887a000", "dxgi"),
    ),
}
"""Memory that ran out where no report of TensorFlow, JAX or XLA says more: what ran out, by its message."""

NO_PORT = "the platform ended the program itself, since it opened no port in time ($PORT)"
FAILED_PROBE = (
    "Kubernetes ended the container itself, since it did not answer a probe in time: it was still loading, or"
    " busy"
)
NO_ANSWER = (
    "the web server ended a worker itself, since that did not answer in time: loading a model or one request"
    " took longer than its timeout"
)
OUT_OF_TIME = "the batch system ended the job itself, since its time was over"
CALL_OUT_OF_TIME = (
    "a call of the cloud function took longer than its own limit of time, and was ended for that"
)
NO_CODE_FOR_IT = (
    "the code that was compiled for the GPU does not fit it: an assembler (ptxas), a driver or a build that"
    " does not know this kind of GPU"
)
LAUNCH_TOO_LARGE = (
    "a GPU kernel asks for more registers or threads than this GPU gives to one block, which is no matter of"
    " the GPU's memory"
)
ASSERTED = (
    "a check inside a kernel of the GPU failed, most often for an index or a label outside of its range, and"
    " every later call of its process only says so again"
)
KERNEL_CRASHED = "a kernel on the GPU crashed or reached outside its memory"
NO_LAUNCH = "a kernel could not be started on the GPU, and this line does not say why"
KERNEL_TOO_SLOW = (
    "the driver ended a kernel on the GPU that ran longer than the watchdog of a GPU with a display allows"
)
OF_A_KERNEL = frozenset(
    {NO_CODE_FOR_IT, LAUNCH_TOO_LARGE, ASSERTED, KERNEL_CRASHED, KERNEL_TOO_SLOW, NO_LAUNCH}
)
"""Failures of a kernel, which had its memory."""
BY_A_SUPERVISOR = frozenset((NO_PORT, FAILED_PROBE, NO_ANSWER, OUT_OF_TIME))
"""Ends with SIGKILL or status 137 whose reason the text states, and which is no lack of memory."""
CUDNN_VERSION = "cuDNN's version is not the one that this TensorFlow or JAX was built for"
ELSEWHERE = {
    "a tensor could not be sent to another device or task in the form that it has, as a data set or another"
    " variant cannot": LineRule(
        r"\bin order to run \w+: (?:Unable to parse tensor proto|No unary variant device copy function)\b",
        "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to"
        " /job:worker/replica:0/task:0/device:CPU:0 in order to run RebatchDataset: Unable to parse tensor"
        " proto",
        needs="in order to run",
    ),
    "the hosts of a job ran different programs, or the same ones in another order, and a chip"
    " stopped": LineRule(
        r"\bunexpected peer shows up in the launch group\b"
        r"|\bdifferent launch id than the current group leader\b",
        "An unexpected peer shows up in the launch group with a different launch id than the current group"
        " leader.",
        needs=("launch group", "launch id"),
    ),
    "the server did not start: the cache of keys and values for one request of the longest length that it"
    " allows is larger than what is left of the devices beside the weights": LineRule(
        r"\bKV cache is needed, which is larger than the available KV cache memory"
        r"|\bNo available memory for the cache blocks",
        "ValueError: To serve at least one request with the models's max seq len (131072), (62.00 GiB KV"
        " cache is needed, which is larger than the available KV cache memory (41.22 GiB).",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when"
        " initializing the engine.",
        needs=("kv cache", "cache blocks"),
    ),
    "a compiler was killed while something is built, or the build's own server, most likely since the host"
    " RAM was full; no program of TensorFlow or JAX ran": LineRule(
        r"\b(?:gcc|g\+\+|c\+\+|clang(?:\+\+)?|nvcc): (?:fatal |internal compiler )?error: "
        r"[^\n]{0,40}[Kk]illed\b"
        r"|\bKilled signal terminated program cc1(?:plus)?\b|\bcc1plus: out of memory\b"
        r"|\bclang[^\n]{0,40}frontend command failed due to signal\b"
        r"|\bcollect2: fatal error: ld terminated with signal 9\b"
        r"|\bServer terminated abruptly \(error code: 14\b",
        "gcc: fatal error: Killed signal terminated program cc1plus",
        "cc1plus: out of memory allocating 65536 bytes after a total of 1048576 bytes",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
        "Server terminated abruptly (error code: 14, error message: 'Socket closed', log file: 'jvm.out')",
        needs=("killed", "cc1plus", "due to signal", "ld terminated", "terminated abruptly"),
    ),
    "a check found numbers that are NaN or infinite": LineRule(
        r": Tensor had (?:NaN|-?Inf|\+Inf|infinite)\b[^\n]{0,40}\bvalues\b"
        r"|\bNaN loss during training\b|NanLossDuringTrainingError|\bNan in summary histogram for\b",
        "InvalidArgumentError: LossTensor is inf or nan. : Tensor had NaN values",
        "InvalidArgumentError: gradients/head : Tensor had Inf and NaN values [Op:CheckNumerics]",
        "NanLossDuringTrainingError: NaN loss during training.",
        "InvalidArgumentError: Nan in summary histogram for: tracker/rnn_outputs",
        needs=("tensor had", "nan loss", "nan in summary"),
    ),
    "the shared memory between worker processes (/dev/shm) was too small": LineRule(
        r"out of shared memory\b|insufficient shared memory|creating shared memory segment"
        r"|unable to (?:open shared memory object|write to file </torch_)"
        r"|\bSemLock\b[^\n]{0,40}\bNo space left\b"
        r"|\bNo space left on device\W{1,4}joblib will operate in serial mode"
        r"|\bposix_fallocate failed\b.{0,20}\bNo space left\b|/dev/shm/[^\n]{0,80}\bNo space left\b",
        "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible that"
        " dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        "Error while creating shared memory segment /dev/shm/nccl-xUVtzy (size 9637888)",
        "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
        "UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode",
        needs=("shared memory", "posix_fallocate", "/dev/shm/", "serial mode", "semlock"),
    ),
    "a cloud service's quota of requests or machines was used up": LineRule(
        r"[Qq]uota (?:exceeded for quota|failure\b)|exceed(?:s|ed)? quota limits?|\b429 (?:RESOURCE_EXHAUSTED"
        r"|Resource (?:has been )?exhausted)|exceeds the allowed maximum of \d+ [A-Z]"
        r"|(?:: |HTTP |[Cc]ode[= :]{1,3}|[Ss]tatus[= :]{1,3})429\b[^\n]{0,60}\b[Qq]uota\b"
        r"|\b429 Quota exceeded\b|\b[Qq]uota exceeded\b[^\n]{0,60}\b429\b|\bexceeded your current quota\b"
        r"|\bdetails ?= ?\"[^\n\"]{0,80}\b[Qq]uota\b|\(e\.g\. check quota\)"
        r"|\bgoogle\.rpc\.QuotaFailure",
        "google.api_core.exceptions.ResourceExhausted: 429 RESOURCE_EXHAUSTED: The following quota metrics"
        " exceed quota limits: custom_model_training_nvidia_t4_gpus",
        "google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded for base_model: chat",
        '\tdetails = "Resource has been exhausted (e.g. check quota)."',
        "ResourceExhaustedError: Quota exceeded for quota metric 'Requests' of service"
        " 'aiplatform.googleapis.com'",
        '"message": "Quota failure for project lab-1. The request for 4 T4 accelerators exceeds the allowed'
        ' maximum of 0 A100, 0 T4 accelerators."',
        needs=("quota", "429", "allowed maximum"),
    ),
    "TensorFlow Lite could not prepare the model (an op, a type or a shape that this runtime does not take),"
    " which its releases call memory": LineRule(
        r"(?i)\bcan(?: ?not|'t) allocate memory for the (?:interpret|given inputs?\b)",
        "NullPointerException: Can not allocate memory for the interpreter",
        "IllegalArgumentException: Can not allocate memory for the given inputs: tensor at index 3",
        needs="allocate memory for the",
    ),
    "XLA could not start CUDA's assembler, ptxas": LineRule(
        r"FAILED_PRECONDITION: Couldn't get ptxas",
        "FAILED_PRECONDITION: Couldn't get ptxas version string: INTERNAL: Running ptxas --version returned"
        " 32512",
        needs="get ptxas",
    ),
    NO_CODE_FOR_IT: LineRule(
        r"CUDA_ERROR_(?:INVALID_IMAGE|NO_BINARY_FOR_GPU|UNSUPPORTED_PTX_VERSION|INVALID_PTX)"
        r"|device kernel image is invalid|no kernel image is available for execution"
        r"|PTX was compiled with an unsupported toolchain"
        r"|\binvalid device function\b|\b(?:hip|cuda)Error(?:InvalidDeviceFunction|NoBinaryForGpu)\b"
        r"|\bhipError_t\((?:98|209)\)",
        "Failed to load PTX text as a module: CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid",
        "INTERNAL: cudaGetErrorString: no kernel image is available for execution on the device",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain.",
        "INTERNAL: Failed to launch ROCm kernel: loop_add with block dimensions: 256x1x1: hipError_t(98)",
        "GpuLaunchKernel(Fill, n) status: Internal: invalid device function",
        needs=(
            "cuda_error_",
            "kernel image",
            "unsupported toolchain",
            "device function",
            "devicefunction",
            "nobinaryforgpu",
            "hiperror_t(",
        ),
    ),
    "XLA did not find CUDA's libdevice": LineRule(
        r"\blibdevice(?: is required by this HLO module but was)? not found at|Can't find libdevice",
        "error: libdevice not found at ./libdevice.10.bc",
        "libdevice is required by this HLO module but was not found at ./libdevice.10.bc",
        needs="libdevice",
    ),
    "the disk quota was used up": LineRule(
        r"\b(?i:dis[ck]|storage|home|file|user|group|block|inode) quota exceeded\b"
        r"|\[Errno 122\]|(?<!Memory )(?<!429 )(?<!\")\b[Qq]uota exceeded(?! for\b)[^\n]{0,40}[/\\]\w",
        "ResourceExhaustedError: /scratch/data.tf-data_0.lockfile; Disk quota exceeded",
        "OSError: [Errno 122] Disk quota exceeded: '/scratch/ckpt'",
        needs=("uota exceeded", "errno 122"),
    ),
    "another run holds the file of tf.data's `cache(filename)`": LineRule(
        r"concurrent caching iterator running|cache lockfile already exists",
        "AlreadyExistsError: There appears to be a concurrent caching iterator running - cache lockfile"
        " already"
        " exists ('/tmp/cache_0.lockfile').",
        needs="caching iterator",
    ),
    "Ray had no disk left to spill its objects to": LineRule(
        r"\bOutOfDiskError\b|\bfile_system_monitor\.cc\b[^\n]{0,80}over 95% full"
        r"|(?i:\bray\b[^.\n]{0,40}\bspill\w*\b[^.\n]{0,20}\b(?:out of dis[ck]|dis[ck] full|no space)\b)",
        "ray.exceptions.OutOfDiskError: Local disk is full",
        "Ray spills until it is out of disk",
        needs=("outofdisk", "out of dis", "file_system_monitor", "disk full", "disc full", "no space"),
    ),
    "the disk was full": LineRule(
        r"(?<!posix_fallocate failed : )"
        r"(?i:\bno (?:more )?space left on (?:the |this |my )?(?:device|disk|drive))"
        r"(?!: '/dev/shm/)"
        r"|(?i:\b(?:dis[ck]|hard drive|partition|volume|file ?system) (?:is|was|got|became) (?:\w+ )?full\b)"
        r"|(?i:\br[ua]n(?:s|ning)? out of (?:\d+ ?[GT]B of )?(?:(?:disk|storage|free|drive) )?space\b)"
        r"|(?i:\bnot enough (?:free )?(?:dis[ck]|storage) space\b|\binsufficient dis[ck] space\b)"
        r"|Auf dem Ger\u00e4t ist kein Speicherplatz mehr verf\u00fcgbar|Aucun espace disponible sur le"
        r" p\u00e9riph\u00e9rique|No queda espacio en el dispositivo|N\u00e3o h\u00e1 espa\u00e7o"
        r" dispon\u00edvel no dispositivo"
        r"|\u8bbe\u5907\u4e0a\u6ca1\u6709\u7a7a\u95f4|\u78c1\u76d8\u7a7a\u95f4\u4e0d\u8db3"
        r"|\u041d\u0430 \u0443\u0441\u0442\u0440\u043e\u0439\u0441\u0442\u0432\u0435"
        r" \u043d\u0435 \u043e\u0441\u0442\u0430\u043b\u043e\u0441\u044c"
        r"|(?i:\b(?:runs?|ran|running) (?:\w+ )?out of (?:disk|disc|hard drive|storage)\b)"
        r"|(?i:(?<!spill )\bout[- ]of[- ]dis[ck](?: space)? (?:error|exception|failure|problem)s?\b)"
        r"|low on resource: ephemeral-storage|local ephemeral storage limit"
        r"|ephemeral local storage usage exceeds|EmptyDir volume \S{1,80} exceeds the limit",
        "ResourceExhaustedError: /logs/model.ckpt-1000.tempstate; No space left on device",
        "could not install: no space left on the device",
        "the disk was full after two checkpoints",
        "OSError: [Errno 28] Auf dem Ger\u00e4t ist kein Speicherplatz mehr verf\u00fcgbar",
        "\u78c1\u76d8\u7a7a\u95f4\u4e0d\u8db3",
        "the machine quickly runs out of storage",
        "it ends with an out of disk error after an hour",
        "The node was low on resource: ephemeral-storage. Container trainer was using 52428800Ki",
        "Pod ephemeral local storage usage exceeds the total limit of containers 20Gi.",
        'Usage of EmptyDir volume "cache" exceeds the limit "8Gi".',
        needs=(
            "no space",
            "no more space",
            " full",
            "disk space",
            "disc space",
            "storage space",
            "of space",
            "free space",
            "drive space",
            "speicherplatz",
            "aucun espace",
            "queda espacio",
            "no dispositivo",
            "\u7a7a\u95f4",
            "\u043e\u0441\u0442\u0430\u043b\u043e\u0441\u044c",
            "out of dis",
            "out-of-dis",
            "outofdisk",
            "out of hard",
            "out of storage",
            "ephemeral",
            "emptydir",
        ),
    ),
    "the model is larger than the 2 GiB that a file of TensorFlow Lite may hold": LineRule(
        r"Model size is bigger than 2 ?gb",
        "E tensorflow/compiler/mlir/lite/flatbuffer_export.cc:2015] Model size is bigger than 2gb",
        needs="bigger than 2",
    ),
    "a file of a checkpoint could not be written: as a rule the disk or a quota was full": LineRule(
        r"(?i:resource[ _]?exhausted(?:error)?(?: \(see above for traceback\))?): ?\.{0,2}[\w~./\\: -]{1,200}"
        r"(?:\.tempstate\d+|\.(?:data|tmp)-\d{5}-of-\d{5}[^\s`'\")]{0,40}|\.part-\d+[^\s`'\")]{0,40})"
        r"\s*(?:[;`'\")]|\Z)",
        "ResourceExhaustedError: ./run/net-12.tempstate1234567890123456789",
        "W op_kernel.cc:975] Resource exhausted:/home/net-35.data-00000-of-00001",
        "(`ResourceExhaustedError (see above for traceback): out/net-9.tempstate12`)",
        needs=("exhausted:", "exhaustederror:", "for traceback):"),
    ),
    "a file could not be written: as a rule the disk or a quota was full": LineRule(
        r"(?:ResourceExhaustedError(?: \(see above for traceback\))?|RESOURCE_EXHAUSTED): "
        r"(?:[A-Z]:|~|\.{1,2})?(?:[\w.-]*[/\\]){1,20}"
        r"[\w.-]*(?:-of-\d{2,6}|\.[A-Za-z]\w{1,11})\s*(?:[;`'\")]|\Z)",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: out/train/cats_train_00002-of-00004",
        "ResourceExhaustedError: /data/run/train.tfrecords",
        needs=("exhaustederror: ", "exhausted: ", "for traceback): "),
    ),
    "a file could not be opened for writing: the disk or its inodes were full, or the process had as many"
    " open as it may have": LineRule(
        r"\bNew(?:Writable|Appendable)File\([^\n]{0,60}(?i:\bresource[ _]ex\w{4,10}): ?"
        r"(?:[A-Z]:|~|\.{1,2})?[/\\]\w",
        "Non-OK-status: env->NewWritableFile(path, &f) status: Resource exhausted: /tmp/dump_1/relu_0",
        needs="File(",
    ),
    "a quota of the cloud's is used up, of devices and not of memory": LineRule(
        r"\bQuota '\w{4,90}' (?:was )?exhausted\b|\bQuota exceeded for quota metric\b"
        r"|\bQUOTA_EXCEEDED\b|\bQuota limit '\w{4,90}' has been exceeded",
        "Quota 'TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted.",
        "Quota limit 'TPUV3CoresPerProject' has been exceeded. Limit: 8 in region us-central1.",
        needs=("quota",),
    ),
    "Keras Tuner refused every model that it proposed, as each had more parameters than it was told to"
    " allow (max_model_size), which has nothing to do with free memory": LineRule(
        r"\bToo many consecutive oversized models\b",
        "RuntimeError: Too many consecutive oversized models.",
        needs="oversized models",
    ),
    "a message between processes was larger than gRPC's limit": LineRule(
        r"(?:Received|Sent) message larger than max",
        "ResourceExhaustedError: Received message larger than max (5243000 vs. 4194304)",
        needs="larger than max",
    ),
    "a server turned a request away (gRPC's status RESOURCE_EXHAUSTED) without a word of memory, as one does"
    " whose queue of requests, or whose limit of what runs at once, is full": LineRule(
        r"\"grpc_message\": ?\"\"[^\n]{0,40}\"grpc_status\": ?8\b"
        r"|\"grpc_status\": ?8\b[^\n]{0,40}\"grpc_message\": ?\"\""
        r"|\b[Bb]atch(?:ing| scheduling) queue\b[^\n]{0,60}\bis full\b",
        'debug_error_string = "{"file":"src/core/lib/surface/call.cc","grpc_message":"","grpc_status":8}"',
        "The batch scheduling queue to which this task was submitted is full",
        needs=("grpc_message", "queue"),
    ),
    "TensorFlow 2.5's allocator `cuda_malloc_async` keeps no statistics, so that Python's start of the GPU"
    " fails with it": LineRule(
        r"\bNo allocator statistics\b",
        "InternalError: No allocator statistics",
        needs="allocator statistics",
    ),
    "TensorFlow could not open a file that it was to write": LineRule(
        r"Could not open events file|Write failed because file could not be opened",
        "Could not open events file: /logs/events.out.tfevents.1: Resource exhausted",
        "Resource exhausted; Write failed because file could not be opened.",
        needs=("events file", "could not be opened"),
    ),
    "too many files were open": LineRule(
        r"(?i)too many open files",
        "ResourceExhaustedError: data.tfrecord; Too many open files",
        "from_parquet: RESOURCE_EXHAUSTED......too many open files",
        needs=("too many open",),
    ),
    "an op counts a tensor's elements in 32 bits, and this one has 2^31 of them or more": LineRule(
        r"[Nn]umber of elements was larger than representable by 32-bit|too large for 32-?\s?bit index"
        r"|Check failed: narrow == wide \(-?\d{1,10} vs\. (?:2(?:1[5-9]|[2-9])|[3-9]|\d\d)\d{7,9}\)",
        "InvalidArgumentError: Number of elements was larger than representable by 32-bit output type",
        "cuda_dnn.cc:114] Check failed: narrow == wide (-792887296 vs. 3502080000)checked narrowing failed",
        needs=("representable by 32", "too large for 32", "narrow == wide"),
    ),
    "Python met a whole number of 2^31 or more where 32 bits hold it, most likely a count of elements or an"
    " index": LineRule(
        r"OverflowError: Python int(?:eger)? (?P<number>\d{10,18}) (?:is )?(?:too large to convert to int32"
        r"|too large to convert to C (?:int|long)|out of bounds for int32)",
        "OverflowError: Python int 4831838208 too large to convert to int32",
        "OverflowError: Python integer 2147483648 out of bounds for int32",
        needs="OverflowError",
    ),
    "a solver of differential equations came to the end of the steps that it may take": LineRule(
        r"(?i)\bmaximum number of solver steps was reached|\bsolver\b.{0,60}\bmax_steps\b.{0,20}\breached",
        "RuntimeError: The maximum number of solver steps was reached. Try increasing `max_steps`.",
        "equinox.EquinoxRuntimeError: The maximum number of solver steps was reached.",
        needs=("solver",),
    ),
    "a setting of the GPU's memory came after TensorFlow had started the GPU, and was refused": LineRule(
        r"\b(?:Physical|Virtual) devices cannot be modified after being initialized"
        r"|\bCannot set memory growth on device when virtual devices configured",
        "RuntimeError: Physical devices cannot be modified after being initialized",
        "RuntimeError: Virtual devices cannot be modified after being initialized",
        needs=("cannot be modified after", "cannot set memory growth"),
    ),
    "the data ended before as many steps and epochs as were asked for, and the training ended with"
    " them": LineRule(
        r"\b[Yy]our (?:input|dataset(?: iterator)?|generator) ran out of data\b",
        "WARNING:tensorflow:Your input ran out of data; interrupting training. Make sure that your dataset or"
        " generator can generate at least `steps_per_epoch * epochs` batches",
        needs="ran out of data",
    ),
    "what TensorFlow Lite's GPU delegate was given has another size than the model's input": LineRule(
        r"\b(?:To|From)TensorConverter: (?:input|output) data size does not match expected size",
        "TfLiteGpuDelegate Invoke: ToTensorConverter: input data size does not match expected size.",
        needs="data size does not match",
    ),
    "the system would start no further thread or process": LineRule(
        r"pthread_create(?:\(\))? failed|can't start new thread|[Tt]hread creation failed"
        r"|resources for OMP thread|\bfork\b.{0,40}Resource temporarily unavailable"
        r"|\A\W*(?:what\(\): +)?Resource temporarily unavailable\W*\Z"
        r"|std::system_error\b.{0,60}Resource temporarily unavailable",
        "Check failed: ret == 0 (11 vs. 0)Thread tf_Compute creation via pthread_create() failed.",
        "OpenBLAS blas_thread_init: pthread_create failed for thread 12 of 64: Resource temporarily"
        " unavailable",
        "RuntimeError: can't start new thread",
        "libgomp: Thread creation failed: Resource temporarily unavailable",
        "OMP: Error #34: System unable to allocate necessary resources for OMP thread:",
        "bash: fork: retry: Resource temporarily unavailable",
        "  what():  Resource temporarily unavailable",
        needs=(
            "pthread_create",
            "start new thread",
            "thread creation",
            "omp thread",
            "fork",
            "resource temporarily",
        ),
    ),
    "the process died of a bus error (SIGBUS): as a rule /dev/shm, or a mapped file's disk, was full": (
        LineRule(
            r"(?i:\bbus error\b)(?!.*DataLoader)|\bSIGBUS\b|exit(?:ed with)? (?:code|status):? 135\b",
            "Bus error (core dumped)",
            "Fatal Python error: Bus error",
            "exited with exit code 135",
            needs=("bus error", "sigbus", "135"),
        )
    ),
    "a GPU kernel wants more shared memory than one core has, which is on the chip and not the GPU's RAM": (
        LineRule(
            r"out of resource: shared memory|Shared memory size limit exceeded"
            r"|Shared memory requested exceeds device resources|uses too much shared data"
            r"|(?i:\b(?<!not )(?:go(?:es|ing)? (?:over|beyond)|exceed(?:s|ed|ing)?|out of)\b[^.\n]{0,24}"
            r"\b(?:static|dynamic) shared memory\b"
            r"|\bshared memory (?:limit |size )?per (?:thread )?block\b[^.\n]{0,24}"
            r"\b(?:exceed(?:s|ed)|too small)\b)",
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware"
            " limit: 101376. Reducing block sizes or `num_stages` may help.",
            "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 280664, available: 232448",
            "ptxas error   : Entry function 'fusion_1' uses too much shared data (0x1c000 bytes, 0xc000 max)",
            "with float32 tiles of 256 it exceeds the dynamic shared memory of the card",
            needs="hared ",
        )
    ),
    "a constant or data set is larger than the 2 GiB that a graph may hold": LineRule(
        r"[Cc]annot create a tensor proto whose content is larger than 2GB|GraphDef cannot be larger than 2GB"
        r"|(?:exceeded maximum protobuf size of|Exceeds? maximum protobuf size of) 2GB"
        r"|Cannot allocate buffer larger than kint32max",
        "ValueError: Cannot create a tensor proto whose content is larger than 2GB.",
        "ValueError: GraphDef cannot be larger than 2GB.",
        "[libprotobuf ERROR google/protobuf/io/zero_copy_stream_impl_lite.cc:164] Cannot allocate buffer"
        " larger than kint32max for StringOutputStream.",
        needs=("2gb", "kint32max"),
    ),
    "the graph itself is larger than the 2 GiB that one message may hold": LineRule(
        r"[Cc]annot serialize protocol buffer of type tensorflow\.GraphDef as the serialized size"
        r" \((?P<bytes>\d{1,18}) ?bytes\)|tensorflow\.GraphDef exceeds maximum protobuf size of 2GB",
        "Cannot serialize protocol buffer of type tensorflow.GraphDef as the serialized size"
        " (2155902411bytes) would be larger than the limit (2147483647 bytes)",
        "ValueError: Message tensorflow.GraphDef exceeds maximum protobuf size of 2GB: 2237555411",
        needs="GraphDef ",
    ),
    "the driver refused an exportable allocation, which WSL2 does from some size on, and calls it out of"
    " memory": LineRule(
        r"CUDA_ERROR_OUT_OF_MEMORY.{0,60}\bCU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR",
        "cuMemCreate gives CUDA_ERROR_OUT_OF_MEMORY with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR",
        needs="POSIX_FILE_DESCRIPTOR",
    ),
    CUDNN_VERSION: LineRule(
        r"Loaded runtime CuDNN library: .* but source was compiled with"
        r"|\bFound cuDNN version \d+, but JAX was built against version \d+",
        "Loaded runtime CuDNN library: 7.1.4 but source was compiled with: 7.6.0.  CuDNN library major and"
        " minor version needs to match or have higher minor version in case of CuDNN 7.0 or later version.",
        "CUDA backend failed to initialize: Found cuDNN version 8700, but JAX was built against version 8905",
        needs=("loaded runtime cudnn", "found cudnn version"),
    ),
    "the driver let this process start on no GPU: as a rule another process has it for itself (the compute"
    " mode Exclusive_Process), or the number is of none that this process may use": LineRule(
        r"\bcuDevicePrimaryCtxRetain: (?:CUDA_ERROR_INVALID_DEVICE|CUDA_ERROR_DEVICE_UNAVAILABLE)\b"
        r"|(?<!thrust::)\b(?:GPU:\d{1,3} failed|StreamExecutor|cuDevicePrimaryCtxRetain|cudaSetDevice\(\))"
        r"[^\n]{0,160}\b(?:CUDA-capable device(?:s|\(s\)) (?:are|is/are) busy or unavailable"
        r"|CUDA_ERROR_DEVICES?_UNAVAILABLE|CUDA_ERROR_INVALID_DEVICE)",
        "failed initializing StreamExecutor for CUDA device ordinal 1: Internal: failed call to"
        " cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal",
        "InternalError: CUDA runtime implicit initialization on GPU:0 failed. Status: all CUDA-capable"
        " devices are busy or unavailable",
        "cudaSetDevice() on GPU:0 failed. Status: CUDA-capable device(s) is/are busy or unavailable",
        needs=("cudeviceprimaryctxretain", "busy or unavailable", "device_unavailable", "invalid_device"),
    ),
    "the GPU's driver is too old for this CUDA": LineRule(
        r"driver version is insufficient for CUDA runtime|CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "CUDA runtime implicit initialization on GPU:0 failed. Status: CUDA driver version is insufficient"
        " for CUDA runtime version",
        needs=("driver version", "ptx_version"),
    ),
    "CUDA showed JAX no GPU: its driver does not work in this machine or container, or all GPUs are"
    " hidden": LineRule(
        r"\bFAILED_PRECONDITION: No visible GPU devices",
        "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: No visible GPU devices.",
        needs="No visible GPU",
    ),
    "the GPU's driver in the system's kernel and the driver's library are of different releases, so that no"
    " GPU can be used": LineRule(
        r"\bkernel version [\d.]{3,20} does not match DSO version [\d.]{3,20}"
        r"|\bFailed to initialize NVML: Driver/library version mismatch"
        r"|\bCUDA_ERROR_SYSTEM_DRIVER_MISMATCH\b|\bCUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE\b",
        "E cuda_diagnostics.cc:303] kernel version 384.130.0 does not match DSO version 375.66.0 -- cannot"
        " find working devices in this configuration",
        "Failed to initialize NVML: Driver/library version mismatch",
        "failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver",
        needs=("does not match dso", "version mismatch", "cuda_error_"),
    ),
    LAUNCH_TOO_LARGE: LineRule(
        r"\btoo many resources requested for launch\b|\bCUDA_ERROR_LAUNCH_OUT_OF_RESOURCES\b"
        r"|\bcudaErrorLaunchOutOfResources\b",
        "Non-OK-status: GpuLaunchKernel(kernel, n) status: Internal: too many resources requested for launch",
        "could not launch: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        needs=("too many resources", "out_of_resources", "outofresources"),
    ),
    "a CUDA call was given a stream, an event or a handle that is not of its device or context": LineRule(
        r"\binvalid resource handle\b|\bCUDA_ERROR_INVALID_(?:HANDLE|CONTEXT)\b"
        r"|\bcudaErrorInvalidResourceHandle\b",
        "cudaCheckError() failed : invalid resource handle",
        "could not synchronize on the stream: CUDA_ERROR_INVALID_HANDLE: invalid resource handle",
        needs=("resource handle", "invalid_", "invalidresource"),
    ),
    "sessions of one process chose different GPUs for the same device": LineRule(
        r"\bmapped to multiple (?:CUDA|ROCM|GPU) devices\b",
        "AlreadyExistsError: TensorFlow device (GPU:0) is being mapped to multiple CUDA devices (1 now, and 0"
        " previously), which is not supported.",
        needs="mapped to multiple",
    ),
    "CUDA was shut down while TensorFlow still asked it, as at a program's end": LineRule(
        r"\bCUDA_ERROR_DEINITIALIZED\b|\bdriver shutting down\b",
        "failed to query event: CUDA_ERROR_DEINITIALIZED: driver shutting down",
        needs=("deinitialized", "shutting down"),
    ),
    ASSERTED: LineRule(
        r"\bCUDA_ERROR_ASSERT\b|\bcudaErrorAssert\b|\bdevice-side assert triggered\b",
        "CUDA error: Error recording CUDA event: CUDA_ERROR_ASSERT: device-side assert triggered",
        needs=("error_assert", "errorassert", "device-side assert"),
    ),
    KERNEL_CRASHED: LineRule(
        r"CUDA_ERROR_(?:ILLEGAL_ADDRESS|LAUNCH_FAILED|MISALIGNED_ADDRESS|ECC_UNCORRECTABLE"
        r"|ILLEGAL_INSTRUCTION)",
        "Error polling for event status: failed to query event: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory"
        " access was encountered",
        needs="CUDA_ERROR_",
    ),
    KERNEL_TOO_SLOW: LineRule(
        r"\bCUDA_ERROR_LAUNCH_TIMEOUT\b|\bcudaErrorLaunchTimeout\b"
        r"|\bthe launch timed out and was terminated\b",
        "failed to synchronize the stop event: CUDA_ERROR_LAUNCH_TIMEOUT: the launch timed out and was"
        " terminated",
        "cudaErrorLaunchTimeout: the launch timed out and was terminated",
        needs=("launch_timeout", "launchtimeout", "launch timed out"),
    ),
    "the program opens a window, and its shell has no display (a connection without one, a container, a"
    " service)": LineRule(
        r"\b(?:cannot|could not|unable to) (?:connect to (?:the )?X server|open display)\b"
        r"|\bcouldn't connect to display\b|\bno display name and no \$DISPLAY\b"
        r"|\bcould not connect to display\b",
        ": cannot connect to X server",
        "_tkinter.TclError: no display name and no $DISPLAY environment variable",
        "qt.qpa.xcb: could not connect to display",
        needs=("x server", "open display", "to display", "$display"),
    ),
    "a library of CUDA refused the sizes or types that it was given": LineRule(
        r"(?i:cu(?:solver|blas|sparse)) invalid value error|CU(?:SOLVER|BLAS|SPARSE)_STATUS_INVALID_VALUE",
        "INTERNAL: jaxlib/gpu/solver_kernels_ffi.cc:593: operation cusolverDnXsyevBatched(...) failed:"
        " cuSolver invalid value error",
        needs=("invalid value", "invalid_value"),
    ),
    "another process of the job ended, or the network between them failed, and NCCL only says so": LineRule(
        r"NCCL operation \w+ failed: remote process exited|due to async NCCL error: remote process exited",
        "INTERNAL: nccl_utils.cc:216: NCCL operation async_err failed: remote process exited or there was a"
        " network error",
        needs="NCCL",
    ),
    "a call of the operating system failed in NCCL, not one of CUDA: as a rule shared memory (/dev/shm, 64"
    " MiB in a container), locked memory or the network between its processes": LineRule(
        r"\bunhandled system error\b(?!.{0,400}(?:out of memory|CUDA (?:host )?(?:c|m)?alloc))",
        "NCCL: unhandled system error. Set NCCL_DEBUG=WARN for detail.",
        "INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled system error (run with NCCL_DEBUG=INFO for"
        " details)",
        needs="unhandled system error",
    ),
    "another process holds the TPU, or left its lock behind: one process at a time may use it, and JAX then"
    " falls back to the CPU or stops": LineRule(
        r"TPU is already in use by (?:process|another)|libtpu(?:\.so)? (?:is )?already in use by"
        r"|libtpu multi-process lockfile|already in use by another process probably owned by",
        "ABORTED: The TPU is already in use by process with pid 4242. Not attempting to load libtpu.so in"
        " this process.",
        "ABORTED: libtpu.so is already in use by another process probably owned by another user.",
        "Internal error when accessing libtpu multi-process lockfile.",
        needs=("already in use by", "lockfile"),
    ),
    "not all processes of the job connected in time, and this one waited for them; no program ran"
    " yet": LineRule(
        r"DEADLINE_EXCEEDED: (?:Barrier timed out\b.{0,80}\b(?:PjRT_Client_Connect"
        r"|Wait_for_all_tasks_to_register)|Timed out waiting for (?:clients?|tasks?) \d+/\d+)"
        r"|Getting local topologies failed",
        "DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:",
        "DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0.",
        "DEADLINE_EXCEEDED: Timed out waiting for clients 1/2",
        needs=("timed out", "local topologies"),
    ),
    "another process of the job did not reach a barrier in time, or ended before it, and this line does not"
    " say why": LineRule(
        r"DEADLINE_EXCEEDED: Barrier timed out\b(?!.{0,80}\b(?:PjRT_Client_Connect"
        r"|Wait_for_all_tasks_to_register))",
        "DEADLINE_EXCEEDED: Barrier timed out. Id: orbax_save_12::0. This usually happens because a task"
        " triggered the barrier too early or too slowly.",
        needs="Barrier timed out",
    ),
    "a process of the job sent no heartbeat in time: it ended, was preempted, or was too busy to answer, and"
    " this line does not say which": LineRule(
        r"Task /job:\S{1,60}/task:\d{1,6} heartbeat timeout\b"
        r"|The following tasks are unhealthy \(stopped sending heartbeats\)",
        "UNAVAILABLE: Task /job:jax_worker/replica:0/task:3 heartbeat timeout. This indicates that the remote"
        " task has failed, got preempted, or crashed unexpectedly.",
        "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):",
        needs="heartbeat",
    ),
    "Apple's GPU did not finish a command buffer in the time that macOS gives it, and this line does not say"
    " why": LineRule(
        r"kIOGPUCommandBufferCallbackError(?:Timeout|Hang|ImpactingInteractivity)\b"
        r"|\bCaused GPU (?:Timeout|Hang) Error\b|MTLCommandBufferErrorDomain.{0,400}Code=2\b",
        "\tCaused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
        "Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)",
        needs=("commandbuffer", "caused gpu"),
    ),
    "a test expects an out-of-memory error, and got another one or none": LineRule(
        r"(?i:\bassert(?:ionerror:(?: assert)?)?) ['\"][^'\"\n]{0,80}"
        r"(?:OOM\b|[Oo]ut of memory|RESOURCE_EXHAUSTED|[Rr]esource exhausted)"
        r"[^'\"\n]{0,80}['\"] in ['\"]"
        r"|\bDID NOT RAISE\b[^\n]{0,99}(?:ResourceExhausted|XlaRuntimeError|MemoryError|OutOfMemory)",
        "E    AssertionError: assert 'OOM when allocating tensor' in 'failed to allocate memory [Op:Fill]'",
        "E       Failed: DID NOT RAISE <class 'tensorflow...ResourceExhaustedError'>",
        needs=("assert", "did not raise"),
    ),
    NO_PORT: LineRule(
        r"\bError R1(?:0 \(Boot timeout|1 \(Bad bind)\)|\bfailed to bind to \$PORT within \d+ seconds\b",
        "heroku[web.1]: Error R10 (Boot timeout) -> Web process failed to bind to $PORT within 60 seconds",
        needs=("boot timeout", "bind"),
    ),
    FAILED_PROBE: LineRule(
        r"\bfailed (?:liveness|startup) probe, will be (?:restarted|killed)"
        r"|\bKilling container with \S{1,80}:.{0,80}\b(?:liveness|startup) probe",
        "Normal   Killing    3m5s  kubelet  Container serving failed liveness probe, will be restarted",
        needs=("probe",),
    ),
    NO_ANSWER: LineRule(
        r"\bWORKER TIMEOUT \(pid: ?\d{1,8}\)",
        "[2024-01-19 00:48:31 +0000] [2973] [CRITICAL] WORKER TIMEOUT (pid:2976)",
        needs="WORKER TIMEOUT",
    ),
    CALL_OUT_OF_TIME: LineRule(
        r"\bTask timed out after \d{1,6}(?:\.\d+)? seconds\b"
        r"|\bFunction execution took \d{1,9} ?ms,? (?:and )?finished with status: '?timeout\b",
        "2021-05-02T10:11:12.345Z 1f2e Task timed out after 30.03 seconds",
        "Function execution took 60002 ms, finished with status: 'timeout'",
        needs=("task timed out", "function execution took"),
    ),
    OUT_OF_TIME: LineRule(
        r"\bCANCELLED AT \S{1,40} DUE TO TIME LIMIT\b|\bTERM_RUNLIMIT\b"
        r"|\bjob killed: walltime \d+ exceeded limit\b",
        "slurmstepd: error: *** JOB 4711 ON node01 CANCELLED AT 2024-03-01T10:11:12 DUE TO TIME LIMIT ***",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
        "PBS: job killed: walltime 86437 exceeded limit 86400",
        needs=("time limit", "term_runlimit", "walltime"),
    ),
    NO_LAUNCH: LineRule(
        r"(?i)\bfunction failed to launch\b|\bfailed to launch (?:the )?(?:(?:CUDA|ROCm|HIP|GPU) )?kernel\b"
        r"(?!.*(?:out[_ ]of[_ ]memory))",
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: the function failed to launch on the GPU",
        "INTERNAL: Failed to launch CUDA kernel: fusion_3 with block dimensions: 256x1x1:"
        " CUDA_ERROR_NOT_FOUND",
        needs=("failed to launch",),
    ),
}
"""What ran out or failed that is no memory, though some of it is called `Resource exhausted`, too."""

STARTUP = {
    "TensorFlow's pool of host memory, from which it copies to the GPU, finds its size": LineRule(
        r"PoolAllocator: After \d+ get requests|Raising pool_size_limit_ from \d+ to \d+",
        "PoolAllocator: After 2906 get requests, put_count=2662 evicted_count=1000 eviction_rate=0.375657 and"
        " unsatisfied allocation rate=0.462491",
        "Raising pool_size_limit_ from 100 to 110",
        needs=("poolallocator", "pool_size_limit_"),
    ),
    "CUDA's libraries were not found, so TensorFlow runs on the CPU": LineRule(
        r"Cannot dlopen some GPU libraries|Could not (?:load dynamic|dlopen) library '?(?:lib)?cu(?:d|blas)"
        r"|Could not find cuda drivers",
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared"
        " object file: No such file or directory",
        "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are"
        " installed properly if you would like to use GPU.",
        "Could not find cuda drivers on your machine, GPU will not be used.",
        "Could not dlopen library 'libcudart.so.10.1'; dlerror: libcudart.so.10.1: cannot open shared object",
        needs=("cannot dlopen", "could not load", "could not find", "could not dlopen"),
    ),
    "CUDA found no GPU that it may use, so TensorFlow runs on the CPU": LineRule(
        r"\bfailed call to cuInit: (?:CUDA_ERROR_(?:NO_DEVICE|UNKNOWN|NOT_FOUND|NOT_INITIALIZED)"
        r"|CUresult\(-1\)|UNKNOWN ERROR \(303\)|INTERNAL: CUDA error: Failed call to cuInit)"
        r"|\bno NVIDIA GPU device is present\b",
        "E cuda_driver.cc:318] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is"
        " detected",
        "failed call to cuInit: UNKNOWN ERROR (303)",
        "no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        needs=("cuinit", "no nvidia gpu"),
    ),
    "JAX found no accelerator that it can use, so it runs on the CPU": LineRule(
        r"[Ff]alling back to cpu\b|falling back to CPU\b|Unable to initialize backend '(?:cuda|gpu)'"
        r"|CUDA backend failed to initialize",
        "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling"
        " back to cpu.",
        "No GPU/TPU found, falling back to CPU. (Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)",
        "Unable to initialize backend 'cuda': INTERNAL: no supported devices found for platform CUDA",
        needs=("falling back", "unable to initialize", "failed to initialize"),
    ),
    "TensorRT is not installed, which matters only to those who use it": LineRule(
        r"TF-TRT Warning", "TF-TRT Warning: Could not find TensorRT", needs="TF-TRT"
    ),
    "the kernel does not say which NUMA node the GPU is on": LineRule(
        r"successful NUMA node read|could not open file to read NUMA node",
        "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA"
        " node, so returning NUMA node zero",
        needs="NUMA node",
    ),
    "CUDA's plug-ins were registered twice": LineRule(
        r"Unable to register cu\w+ (?:factory|plugin)",
        "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has"
        " already been registered",
        needs="Unable to register",
    ),
    "TensorFlow says which instructions of the CPU it uses": LineRule(
        r"oneDNN custom operations are on|optimized (?:to use available CPU instructions|with oneAPI)"
        r"|CPU supports instructions that this TensorFlow binary was not compiled to use",
        "This TensorFlow binary is optimized to use available CPU instructions in performance-critical"
        " operations.",
        "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA",
        needs=("onednn", "optimized ", "cpu supports"),
    ),
    "TensorFlow 2.0 and 2.1 say this where an epoch's generator is given up, which is no error; 2.2 and later"
    " no longer do": LineRule(
        r"\bGeneratorDataset iterator: Cancelled\b",
        "generator_dataset_op.cc:103] Error occurred when finalizing GeneratorDataset iterator: Cancelled:"
        " Operation was cancelled",
        needs="GeneratorDataset",
    ),
}
"""Messages of the first seconds that end no run."""

CPP_FRAME = LineRule(
    r"\A\s*@ +0x[0-9a-f]{6,16} +\S",
    "    @     0x7f6768339f9c  tsl::BFCAllocator::DeallocateRawInternal()",
    needs="@ ",
)
CRASH = LineRule(
    r"Segmentation fault|\bsegfault(?:s|ed|ing)?\b|SIGSEGV"
    r"|signal 11\b|Illegal instruction|SIGILL|Bus error|\bCheck failed: "
    r"|\bAborted \(core dumped\)|SIGABRT|: +\d+ Aborted\b|Fatal Python error: Aborted"
    r"|(?i:exit(?:ed)?(?: with)? ?(?:code|status)):? +(?:13[49]|-11|-6"
    r"|-?(?:1073741819|1073740791|1073740940|1073741571|1073741795)"
    r"|322122(?:5477|6505|6356|5725|5501))\b|(?i:0xC0000005|0xC0000409|0xC0000374|0xC00000FD|0xC000001D)",
    "Check failed: h != kInvalidChunkHandle",
    "./train.sh: line 8: 27582 Aborted                 python train.py",
    "Segmentation fault (core dumped)",
    "the interactive shell still results in a segfault",
    "Fatal Python error: Segmentation fault",
    "Process finished with exit code -1073741819 (0xC0000005)",
    "Process finished with exit code -1073740791 (0xC0000409)",
    "Process finished with exit code 134 (interrupted by signal 6: SIGABRT)",
    needs=(
        "segmentation",
        "segfault",
        "sigsegv",
        "sigill",
        "sigabrt",
        "signal 11",
        "illegal instr",
        "bus error",
        "check failed",
        "aborted",
        "exit code",
        "exit status",
        "exitcode",
        "exitstatus",
        "exit with",
        "exited",
        "0xc0000",
    ),
)
KERNEL_DIED = LineRule(
    r"kernel (?:for \S{1,80} )?appears to have died|\b[Kk]ernel (?:has |have |just )?died\b"
    r"|KernelRestarter: restarting kernel|[Kk]ernel crashed while executing code"
    r"|DeadKernelError|\bkernel [0-9a-f-]{36} restarted\b"
    r"|\bkernel ?[^\n]{0,60}\u5d29\u6e83|\u5185\u6838\u5d29\u6e83"
    r"|\b(?:[Jj]upyter|[Nn]otebook|[Mm]y|[Tt]he|[Pp]ython|IPython)(?:'s)? kernel"
    r" (?:(?:keeps?|always|just|then) )?"
    r"(?:dies|dying|died|restart(?:s|ed|ing)|crash(?:es|ed|ing))\b|session crashed for an unknown reason"
    r"|\b[Kk]ernel (?:is |was |keeps (?:on )?)?[Rr]estart(?:s|ed|ing)(?: [Aa]utomatically)?\b(?! to\b)"
    r"|\b[Rr]untime (?:[Dd]ies|died|crashe[sd])\b",
    "The kernel appears to have died. It will restart automatically.",
    "The Kernel crashed while executing code in the current cell or a previous cell.",
    "nbclient.exceptions.DeadKernelError: Kernel died",
    "Kernel Restarting: The kernel for train.ipynb appears to have died.",
    "My jupyter kernel keeps dying when I run model.fit",
    "WARNING:root:kernel 01234567-89ab-cdef-0123-456789abcdef restarted",
    "Your session crashed for an unknown reason.",
    "\u4e4b\u540e kernel \u5c31\u5d29\u6e83\u4e86",
    "[I 10:11:12.123 NotebookApp] KernelRestarter: restarting kernel (1/5), keep random ports",
    needs=("kernel", "for an unknown reason", "untime "),
)
"""A notebook's process ended, and the notebook does not know why."""
