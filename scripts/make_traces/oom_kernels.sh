#!/usr/bin/env bash
# Build oom_kernels.cc against the TensorFlow of one environment: oom_kernels.sh PYTHON TARGET.so
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

flags=$("$1" - 2>/dev/null <<'PYTHON'
import tensorflow as tf
v = [int(n) for n in tf.__version__.split(".")[:2]]
standard = "-std=c++11" if v < [2, 5] else "-std=c++14" if v < [2, 11] else "-std=c++17"
stand_ins = ["-DNCHW_STAND_INS"] if v[0] == 1 else []
print(" ".join([standard, "-w"] + stand_ins + tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags()))
PYTHON
)
read -ra flags <<<"$flags"
g++ -shared -fPIC -O1 "$HERE/oom_kernels.cc" -o "$2" "${flags[@]}"
