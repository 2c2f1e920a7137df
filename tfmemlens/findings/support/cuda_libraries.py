"""The libraries of CUDA that a program did not find: which release they are of, and how it is made to find
them.
"""

from __future__ import annotations

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.situation import on_windows
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

WITHOUT_CUDA = "CUDA's libraries were not found, so TensorFlow runs on the CPU"
WITHOUT_GPU = "CUDA found no GPU that it may use, so TensorFlow runs on the CPU"
"""What the readers call the messages."""
NO_GPU_FOUND = Remedy(
    "if a GPU is there and meant to be used, see whether its driver works: where nvidia-smi fails, load it"
    " anew (restart the machine; start a container with --gpus all). Where it lists the GPU, look at"
    " CUDA_VISIBLE_DEVICES, at who may open /dev/nvidia*, and whether card and driver are new enough for the"
    " CUDA of this TensorFlow: the last driver of an old card often is not",
    "nvidia-smi; echo $CUDA_VISIBLE_DEVICES; ls -l /dev/nvidia*",
    slug="check-the-device",
)


def ask_for_a_gpu(case: Case) -> tuple[Remedy, ...]:
    """What helps first where the script of the job stands in the text, and asks for none."""
    told = case.capture.surroundings
    option = told.shows("options of a job")
    if option is None or told.shows("a job with a GPU"):
        return ()
    system = next((name for name in _ASKING if f"#{name}" in option.text), "SBATCH")
    return (
        Remedy(
            f"ask for a GPU: no option of the job's script does (its first, {option.place}), so it ran where"
            " none was given to it; or, where the CPU is meant, tell the program so",
            _ASKING[system],
            slug="ask-for-a-gpu",
        ),
    )


_ASKING = {
    "BSUB": '#BSUB -q GPU_QUEUE; #BSUB -gpu "num=1"   # or: export JAX_PLATFORMS=cpu',
    "SBATCH": "#SBATCH --gres=gpu:1   # or: export JAX_PLATFORMS=cpu",
    "PBS": "#PBS -l select=1:ncpus=4:ngpus=1   # or: export JAX_PLATFORMS=cpu",
}
_ON_LINUX = regex(r"\blibcudart\.so\.(?P<release>\d{1,2}(?:\.\d)?)\b")
_ON_WINDOWS = regex(r"\bcudart64_(?P<release>\d{2,3})\.dll\b")
_OF_ALL_11 = "11.0"
"""libcudart's name in each CUDA 11: libcudart.so.11.0."""


def not_found(case: Case) -> Line | None:
    """The line that says that CUDA's libraries are missing; where a cloud function runs no GPU is there."""
    if case.capture.surroundings.shows("memory of a call"):
        return None
    return next((line for what, line in case.capture.surroundings.startup if what == WITHOUT_CUDA), None)


def release(text: str) -> str | None:
    """The release of CUDA whose runtime a message asks for: `10.1` of cudart64_101.dll, `11` of any 11.x."""
    if match := _ON_LINUX.search(text):
        return "11" if match["release"] == _OF_ALL_11 else match["release"]
    match = _ON_WINDOWS.search(text)
    if match is None:
        return None
    digits = match["release"]
    if digits.startswith(_ONE_NAME):
        return digits[:2]
    return f"{digits[:-1]}.{digits[-1]}"


_ONE_NAME = ("11", "12", "13")
"""Major releases whose runtime has one name in all of them: cudart64_110.dll, cudart64_12.dll."""


def cuda_libraries(case: Case, line: Line) -> Remedy:
    """What makes the program find them, with the release where the message names it."""
    named = release(line.text)
    which = f"CUDA {named}, which this build asks for ({line.place})," if named else "the CUDA of this build"
    windows = on_windows(case) or ".dll" in line.text
    where = "PATH" if windows else "LD_LIBRARY_PATH"
    return Remedy(
        "if a GPU is there and meant to be used (until then host RAM holds what it would hold), install"
        f" {which} and the cuDNN that goes with it, their folders on {where}, or a TensorFlow that was built"
        " for the CUDA that is installed; then see that"
        " the GPU is listed",
        code_snippets.devices(case.api),
        slug="matching-driver",
    )
