#!/usr/bin/env bash
# Create the virtual environments that the sample scripts run in: environments.sh [NAME...] (all without a name).
# Interpreters python3.6, python3.7 and python3.11 are taken from PATH or from $PYENV_ROOT/versions;
# the environments go to $TFMEMLENS_ENVS. One that exists already is left alone. Exit status 3: no such interpreter.
set -euo pipefail

ENVS=${TFMEMLENS_ENVS:-$HOME/.cache/tfmemlens/envs}

# name | python | packages
TABLE="
tf1.5        | 3.6  | tensorflow==1.5.0 protobuf<3.20 numpy<=1.14.5
tf1.10       | 3.6  | tensorflow==1.10.1 protobuf<3.20 numpy<=1.14.5 termcolor<2
tf1.11       | 3.6  | tensorflow==1.11.0 protobuf<3.20 termcolor<2
tf1.12       | 3.6  | tensorflow==1.12.3 protobuf<3.20 termcolor<2
tf1.13       | 3.6  | tensorflow==1.13.2 protobuf<3.20 termcolor<2
tf1.14       | 3.6  | tensorflow==1.14.0 protobuf<3.20 termcolor<2
tf1.15       | 3.7  | tensorflow==1.15.5 protobuf<3.21 numpy==1.18.5
tf1.15-intel | 3.7  | intel-tensorflow==1.15.2 protobuf<3.21 numpy==1.18.5
tf2.4        | 3.7  | tensorflow-cpu==2.4.4 protobuf<3.21
tf2.4-intel  | 3.7  | intel-tensorflow==2.4.0 protobuf<3.21
tf2.8        | 3.7  | tensorflow-cpu==2.8.4 protobuf<3.21
tf2.11       | 3.7  | tensorflow-cpu==2.11.0
tf2.16       | 3.11 | tensorflow-cpu==2.16.2
tf2.21       | 3.11 | tensorflow-cpu==2.21.0
jax          | 3.11 | jax jaxlib
"

interpreter() {
    local found
    found=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python 2>/dev/null | tail -n 1)
    found=${found:-$(command -v "python$1" || true)}
    [ -n "$found" ] || { echo "no python$1 found on PATH or in \$PYENV_ROOT" >&2; return 1; }
    echo "$found"
}

create() {  # name, python version, packages...
    local name=$1 version=$2 pip=pip python
    target=$ENVS/$1
    shift 2
    if [ -x "$target/bin/python" ]; then echo "$name: there already"; return; fi
    case $version in 3.6 | 3.7) pip='pip==21.3.1' ;; esac
    python=$(interpreter "$version") || exit 3
    trap 'rm -rf "$target"' EXIT  # half an environment would be taken for one
    "$python" -m venv "$target"
    "$target/bin/python" -m pip install --quiet --upgrade "$pip"
    "$target/bin/python" -m pip install --quiet "$@"
    trap - EXIT
    echo "$name: made"
}

mkdir -p "$ENVS"
while IFS='|' read -r name version packages; do
    name=${name// /} version=${version// /}
    [ -n "$name" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    read -ra wanted <<<"$packages"
    create "$name" "$version" "${wanted[@]}"
done <<<"$TABLE"
