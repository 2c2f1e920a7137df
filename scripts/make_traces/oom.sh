#!/usr/bin/env bash
# Rerun the failing runs of oom_samples.txt, one after another: oom.sh [NAME...] (all without a name).
# Each runs in an empty folder with a copy of these scripts; its whole output becomes the sample.
# Environments come from $TFMEMLENS_ENVS (see environments.sh), samples go to $TFMEMLENS_SAMPLES.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ENVS=${TFMEMLENS_ENVS:-$HOME/.cache/tfmemlens/envs}
SAMPLES=${TFMEMLENS_SAMPLES:-$HERE/../../sample_traces}
GZIP_ABOVE_BYTES=200000

limit_variables() {  # environment name, limit in MB: how that TensorFlow is given a limit
    case $1,$2 in
    *,-) ;;
    tf1.10,*) echo "LD_PRELOAD=./preload_oom.so PRELOAD_OOM_LIMIT_MB=$2" ;;
    *-intel,*) echo "TF_MKL_ALLOC_MAX_BYTES=$(($2 * 1048576))" ;;
    *) echo "TF_CPU_ALLOCATOR_USE_BFC=1 TF_CPU_BFC_MEM_LIMIT_IN_MB=$2" ;;
    esac
}

keep() {  # raw file, target: scrub it, compress it when it is large
    rm -f "$2" "$2.gz"
    if [[ $2 == *.pb ]]; then cp "$1" "$2"; else python3 "$HERE/scrub.py" "$WORK" <"$1" >"$2"; fi
    [ "$(stat -c %s "$2")" -le $GZIP_ABOVE_BYTES ] || gzip -9n "$2"
}

keep_result() {  # format, stem
    local target=$SAMPLES/$1/$2 file
    mkdir -p "$SAMPLES/$1"
    case $1 in
    oom_log) keep "$WORK.log" "$target.txt" ;;
    memory_dump)
        file=$(ls "$WORK"/dump_* | tail -n 1)
        keep "$file" "$target.pb"
        ;;
    xla_dump)
        for kind in buffer-assignment memory-usage-report; do
            file=$(ls -S "$WORK"/xla/*after_optimizations-$kind.txt 2>/dev/null | head -n 1)
            [ -z "$file" ] || keep "$file" "$target-$kind.txt"
        done
        ;;
    esac
    [ ! -e "$WORK/truth.json" ] || cp "$WORK/truth.json" "$target.truth.json"
}

run() {  # format, stem, environment, limit, [VAR=value...] script arguments...
    local format=$1 stem=$2 name=$3 limit=$4 status extra=()
    shift 4
    while [[ $1 == *=* ]]; do extra+=("$1"); shift; done
    WORK=$(mktemp -d)
    cp "$HERE"/*.py "$HERE"/culprits/*.py "$WORK"
    [ "$name" != tf1.10 ] || gcc -shared -fPIC -O2 -o "$WORK/preload_oom.so" "$HERE/preload_oom.c" || return
    [[ $* != *oom_kernels.so* ]] || "$HERE/oom_kernels.sh" "$ENVS/$name/bin/python" "$WORK/oom_kernels.so" || return
    case $format in
    memory_dump) extra+=(TF_BFC_MEMORY_DUMP=./dump) ;;
    xla_dump) extra+=("XLA_FLAGS=--xla_dump_to=./xla") ;;
    esac
    # shellcheck disable=SC2046
    (cd "$WORK" && exec env -i PATH=/usr/bin:/bin HOME="$WORK" LANG=C.UTF-8 PYTHONUNBUFFERED=1 TF_CPP_MIN_LOG_LEVEL=0 \
        TF_ENABLE_ONEDNN_OPTS=0 OOM_TRUTH=truth.json PYTHONDONTWRITEBYTECODE=1 \
        $(limit_variables "$name" "$limit") "${extra[@]}" \
        timeout 600 "$ENVS/$name/bin/python" "$@") >"$WORK.log" 2>&1
    status=$?
    keep_result "$format" "$stem"
    echo "$format/$stem: exit status $status, $(wc -c <"$WORK.log") bytes of output"
    rm -rf "$WORK" "$WORK.log"
}

while IFS='|' read -r format stem name limit command _; do
    format=${format// /} stem=${stem// /} name=${name// /} limit=${limit// /}
    [[ -n $format && $format != \#* ]] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $stem "* ]] || continue
    read -ra words <<<"$command"
    run "$format" "$stem" "$name" "$limit" "${words[@]}" </dev/null
done <"$HERE/oom_samples.txt"
