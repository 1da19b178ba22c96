#!/bin/sh
# SPDX-License-Identifier: MIT
# check_arguments.sh SOURCE: the comparison with PyTorch takes options before, between and after networks. A module of
# PyTorch's name that has nothing in it stands for it, as the arguments are read before it is needed; what is asked for
# is an unknown network.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/torch/nn"
echo 'from . import nn; __version__ = "0"' > "$work/torch/__init__.py"
cat > "$work/torch/nn/__init__.py" << 'PYTHON'
class Module:
    pass
functional = None
PYTHON
fail() {
    echo "$1"
    exit 1
}
for order in '--rounds 1 nothing' 'nothing --rounds 1' '--rounds 1 nothing --seconds 2' 'digits --rounds 1 nothing'; do
    # shellcheck disable=SC2086 # words
    said=$(PYTHONPATH="$work" python3 "$source/bench/training/compare.py" program $order 2>&1) &&
        fail "training $order: an unknown network is taken"
    case $said in
    *'there is no network nothing'*) ;;
    *) fail "training $order: $said" ;;
    esac
done
echo "options and networks in any order"
