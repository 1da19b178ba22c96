#!/bin/sh
# SPDX-License-Identifier: MIT
# check_abi.sh [--update] LIBRARY RECORD INCLUDE...: what a program that was compiled against the library relies on is
# still what RECORD says: the soname, the exported functions with their parameters, the sizes and offsets of public
# structs, the values of enumerators and constants. --update writes RECORD. INCLUDE: folders with husk/*.h, and others
# that these need; libhusk_train's and libhusk_dist's are not looked at. The record is that of systems with 64-bit
# pointers and long; elsewhere there is nothing to compare.
set -eu
LC_ALL=C
export LC_ALL
update=no
if [ "$1" = --update ]; then
    update=yes
    shift
fi
library=$1
record=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=${CFLAGS:-}
for folder in "$@"; do
    options="$options -I$folder"
done
here=$(cd "$(dirname "$0")" && pwd)
compiler=${CC:-cc}

{
    echo '#define CL_TARGET_OPENCL_VERSION 300'
    echo '#define CL_USE_DEPRECATED_OPENCL_1_2_APIS'
    echo '#include <husk/husk.h>'
    find "$@" -path '*husk/*' -name '*.h' ! -path '*/husk/train[./]*' ! -path '*/husk/dist[./]*' |
        sed 's|.*/husk/|#include <husk/|; s|$|>|' | sort
} > "$work/all.h"
# shellcheck disable=SC2086 # options are words
"$compiler" $options -E -P -x c "$work/all.h" > "$work/all.i"
# shellcheck disable=SC2086
"$compiler" $options -E -dM -x c "$work/all.h" > "$work/macros"

nm -D --defined-only "$library" | awk '{ print $NF }' | grep '^husk_' | sort -u > "$work/exported"
{
    echo '#include "all.h"'
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    awk -f "$here/abi.awk" "$work/exported" "$work/all.i"
} > "$work/layout.c"
# shellcheck disable=SC2086
"$compiler" $options -I"$work" -o "$work/layout" "$work/layout.c"
{
    echo "# SPDX-License-Identifier: MIT"
    echo "# What compiled programs rely on, written by ./run abi --update; docs/testing.md says when."
    readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/soname \1/p'
    sed -n 's/^#define \(HUSK_[A-Z0-9_]*\) \(.*[^ ].*\)/constant \1 \2/p' "$work/macros" |
        grep -vE '^constant HUSK_(API|(BEGIN|END)_DECLS|VERSION_[A-Z]*|[A-Z0-9_]*_PARAMS) ' | sort
    "$work/layout"
} > "$work/now"

functions=$(grep -c '^function ' "$work/now" || true)
if [ "$functions" -ne "$(wc -l < "$work/exported")" ] || ! grep -q '^struct ' "$work/now"; then
    echo "the headers were not understood: $functions functions of $(wc -l < "$work/exported")"
    exit 1
fi
if grep -q '^pointers [^8]' "$work/now"; then
    echo "pointers are not of 64 bits here: not compared"
    exit 0
fi
if [ "$update" = yes ]; then
    cp "$work/now" "$record"
    echo "$record: $functions functions, $(grep -c '^struct ' "$record") structs, $(grep -c '^enum ' "$record") enums"
    exit 0
fi
if ! diff -U 3 "$record" "$work/now" > "$work/difference"; then
    cat "$work/difference"
    if tail -n +3 "$work/difference" | grep -q '^-'; then
        echo "Lines with - are what compiled programs rely on: without them programs break, unless the major version"
        echo "changes. (A struct with a size may grow at its end.)"
    else
        echo "Nothing that compiled programs rely on has changed; there is more than before."
    fi
    echo "If this is meant: ./run abi --update, and commit the record."
    exit 1
fi
