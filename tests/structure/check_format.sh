#!/bin/sh
# SPDX-License-Identifier: MIT
# check_format.sh ROOT [--fix] [FILE...]   the C and C++ files of the tree, or these files, are laid out as
#                                          .clang-format says; --fix lays them out. 77 where clang-format of the version
#                                          below is not here: others break lines elsewhere. ./run format fetches it.
set -eu
version=22.1.8
[ "${1:-}" != --version ] || { echo "$version"; exit 0; }
root=$1 mode=check
shift
[ "${1:-}" != --fix ] || { mode=fix; shift; }
for program in "$root/build/format/bin/clang-format" clang-format ""; do
    [ -n "$program" ] || { echo "clang-format $version is not here (./run format fetches it)"; exit 77; }
    ! "$program" --version 2> /dev/null | grep -qF " $version" || break
done
if [ $# -eq 0 ]; then
    cd "$root"
    list=$(find src include bench tests examples -name '*.c' -o -name '*.h' -o -name '*.cpp' | LC_ALL=C sort)
    # shellcheck disable=SC2086 # no file's name has a space: check_house.sh
    set -- $list
fi
if [ "$mode" = fix ]; then
    exec "$program" -i "$@"
fi
"$program" --dry-run --Werror --ferror-limit=1 "$@" || { echo "./run format lays them out"; exit 1; }
echo "$# files"
