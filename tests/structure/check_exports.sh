#!/bin/sh
# SPDX-License-Identifier: MIT
# check_exports.sh [--train|--dist|--verify] LIBRARY INCLUDE...: the shared library exports what the public headers
# declare with HUSK_API (libhusk_verify: HUSK_VERIFY_API), all of it and nothing else. INCLUDE: folders with husk/*.h,
# of which husk/train.h and husk/train/ are libhusk_train's (--train), husk/dist.h libhusk_dist's (--dist),
# husk/verify*.h libhusk_verify's (--verify), the others libhusk's.
set -eu
LC_ALL=C
export LC_ALL
part=core
least=50
case "$1" in
--train | --dist | --verify)
    part=${1#--}
    least=1
    shift
    ;;
esac
library=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Versions of nm and sanitizers add names of their own, all of them reserved ones.
nm -D --defined-only "$library" | awk '{ print $NF }' | grep -v '^_' | sort -u > "$work/exported"

# A declaration may go over several lines: its name is the first word before a parenthesis.
find "$@" -path '*husk/*' -name '*.h' | sort > "$work/headers"
grep '/husk/train[./]' "$work/headers" > "$work/train" || true
grep '/husk/dist[./]' "$work/headers" > "$work/dist" || true
grep '/husk/verify[._]' "$work/headers" > "$work/verify" || true
grep -v -e '/husk/train[./]' -e '/husk/dist[./]' -e '/husk/verify[._]' "$work/headers" > "$work/core"
tr '\n' '\0' < "$work/$part" | xargs -0 cat |
    awk '/^HUSK_(VERIFY_)?API/ { sub(/^HUSK_(VERIFY_)?API[ \t]*/, ""); sub(/\(.*/, ""); sub(/.*[ *]/, ""); print }' |
    sort -u > "$work/declared"

status=0
if grep -vE '^husk_[a-z0-9]' "$work/exported"; then
    echo "the names above are exported, and are not public ones (husk_noun_verb)"
    status=1
fi
missing=$(comm -13 "$work/exported" "$work/declared")
if [ -n "$missing" ]; then
    printf '%s\n' "$missing"
    echo "the names above are declared in a public header, and the library does not have them"
    status=1
fi
extra=$(comm -23 "$work/exported" "$work/declared")
if [ -n "$extra" ]; then
    printf '%s\n' "$extra"
    echo "the names above are exported, and no public header declares them"
    status=1
fi
[ "$(wc -l < "$work/declared")" -gt $least ] || { echo "the headers were not understood"; status=1; }
exit $status
