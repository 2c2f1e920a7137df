"""Lines that tell of a GPU which is not there any more: pulled out while it ran, or lost to its driver."""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

_CARD = r"(?:e?GPUs?|(?:graphics )?cards?|(?<!input )(?<!audio )devices?|accelerators?)"
LOST = LineRule(
    r"(?i)\b(?:fall(?:s|en|ing)?|fell) off (?:of )?(?:the )?(?:PCI(?:e|[- ]?express)? )?bus\b"
    r"|\bXid\b[^\n]{0,40}: 79\b|(?:\b|_)GPU[_ ]is[_ ]lost\b(?! to\b)|\bdevice lost from bus\b",
    "NVRM: GPU at PCI:0000:03:00: GPU-1b2c has fallen off the bus.",
    "NVRM: Xid (PCI:0000:03:00): 79, pid=311, GPU has fallen off the bus.",
    "Unable to determine the device handle for GPU 0000:03:00.0: GPU is lost.  Reboot the system to recover",
    "NVML_ERROR_GPU_IS_LOST",
    "amdgpu 0000:03:00.0: amdgpu: device lost from bus!",
    needs=("off ", "xid", "gpu is lost", "gpu_is_lost", "lost from bus"),
)
"""What drivers log of it."""
PULLED_OUT = LineRule(
    rf"(?i)\b{_CARD}\b(?: that)?(?: (?:is|are|was|were|gets?|got|being|been|has been|had been))?"
    r" (?:\w+ly )?(?:hot[- ]?)?(?:un-?plugged|plugged out|pulled out|hot[- ]?removed|disconnected"
    r"|surprise[- ]removed)\b"
    rf"|\b(?:hot[- ]?(?:un-?plug\w*|remov\w+)|surprise[- ]remov\w+) (?:of )?"
    rf"(?:the |a |an |my |its )?{_CARD}\b"
    rf"|\b(?:after|when|once|as soon as|while|if) (?:\w+ )?(?:un-?plug\w*|pull(?:s|ed|ing)? out"
    rf"|disconnect\w*) (?:the |a |an |my |its )?{_CARD}\b"
    rf"|\b(?:the|my|its|our) {_CARD} (?:is|was|has been|gets?|got) (?:suddenly )?(?:lost|gone)\b(?! to\b)",
    "the eGPU was unplugged while the job ran",
    "once the device is plugged out it goes on like this",
    "when I unplug the GPU, the program stays",
    "a test of the hot-unplug of a GPU",
    "Then the GPU was lost, until a reboot.",
    needs=("plug", "pull", "remov", "disconnect", "lost", "gone"),
)
"""How people tell it; they also tell of a card that they took out before the run."""
LOST_DEVICES = {"a lost device": LOST, "a device pulled out": PULLED_OUT}
