#!/bin/sh
# SPDX-License-Identifier: MIT
# check_abi.sh [--update] [--train|--dist|--verify] LIBRARY RECORD INCLUDE...: what a program that was compiled against
# the library relies on is still what RECORD says: the soname, the exported functions with their parameters, the sizes
# and offsets of public structs, the values of enumerators and constants. --update writes RECORD. INCLUDE: folders with
# husk/*.h, and others that these need; of husk/*.h husk/train.h and husk/train/ are libhusk_train's (--train),
# husk/dist.h and husk/dist/ libhusk_dist's (--dist), husk/verify*.h libhusk_verify's (--verify), the others libhusk's.
# A record has what is declared in its own library's headers. It is that of systems with 64-bit pointers and long;
# elsewhere there is nothing to compare.
set -eu
LC_ALL=C
export LC_ALL
update=no
part=core
while :; do
    case "$1" in
    --update) update=yes ;;
    --train | --dist | --verify) part=${1#--} ;;
    *) break ;;
    esac
    shift
done
library=$1
record=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options="-std=gnu17 ${CFLAGS:-}" # of later ones bool is a word of its own, and no macro
for folder in "$@"; do
    options="$options -I$folder"
done
here=$(cd "$(dirname "$0")" && pwd)
compiler=${CC:-cc}

find "$@" -path '*husk/*' -name '*.h' | sed 's|.*/husk/||' |
    awk -F'[./]' -v part="$part" '($1 ~ /^(train|dist|verify)/ ? substr($1, 1, length(part)) : "core") == part' |
    sort -u > "$work/headers"
{
    echo '#define CL_TARGET_OPENCL_VERSION 300'
    echo '#define CL_USE_DEPRECATED_OPENCL_1_2_APIS'
    echo '#include <husk/husk.h>'
    sed 's|.*|#include <husk/&>|' "$work/headers"
} > "$work/all.h"
# With -dD the text has macros' definitions, and the markers that say which file a line is from.
# shellcheck disable=SC2086 # options are words
"$compiler" $options -E -dD -x c "$work/all.h" > "$work/all.i"
awk -v work="$work" '
    FNR == NR { header[$1] = 1; next }
    /^# [0-9]+ "/ { split($0, word, "\""); file = word[2]; own = sub(/.*\/husk\//, "", file) && file in header; next }
    own && /^static inline / { inside = 1 } # functions that are compiled into programs
    own && !inside { print > (work (/^#/ ? "/defined" : "/own")) }
    own && /^}/ { inside = 0 }' "$work/headers" "$work/all.i"
# shellcheck disable=SC2086
"$compiler" $options -E -dM -x c "$work/all.h" | sort > "$work/last"
sort -u "$work/defined" | comm -12 - "$work/last" > "$work/macros" # without what was undefined again

nm -D --defined-only "$library" | awk '{ print $NF }' | grep '^husk_' | sort -u > "$work/exported"
{
    echo '#include "all.h"'
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    awk -f "$here/abi.awk" "$work/exported" "$work/own"
} > "$work/layout.c"
# shellcheck disable=SC2086
"$compiler" $options -I"$work" -o "$work/layout" "$work/layout.c"
# Macros that are no constants.
internal='(VERIFY_)?API|ZEROS|(BEGIN|END)_DECLS|VERSION_[A-Z]*|[A-Z0-9_]*_PARAMS'
{
    echo "# SPDX-License-Identifier: MIT"
    echo "# What compiled programs rely on, written by ./run abi --update; docs/testing.md says when."
    readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/soname \1/p'
    sed -n 's/^#define \(HUSK_[A-Z0-9_]*\) \(.*[^ ].*\)/constant \1 \2/p' "$work/macros" |
        { grep -vE "^constant HUSK_($internal) " || true; } | sort
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
[ "$update" = no ] || cp "$work/now" "$record"
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
echo "$(basename "$record"): $functions functions, $(grep -c '^struct ' "$record") structs," \
    "$(grep -c '^enum ' "$record" || true) enumerations"
