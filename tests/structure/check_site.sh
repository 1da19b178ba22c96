#!/bin/sh
# SPDX-License-Identifier: MIT
# check_site.sh DOXYFILE   the site is made without a warning (./run site), and has a page for README and each public
#                          header. 77 where there is no Doxygen.
set -eu
command -v doxygen > /dev/null 2>&1 || { echo "Doxygen is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s|^OUTPUT_DIRECTORY .*|OUTPUT_DIRECTORY = $work|" "$1" > "$work/Doxyfile"
doxygen "$work/Doxyfile" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[ ! -s "$work/log" ] || { cat "$work/log"; exit 1; }
for page in index context_8h conv_8h graph_8h docs_operators; do
    found=$(find "$work/html" -name "*$page*.html" | head -n 1)
    [ -n "$found" ] || { echo "there is no page $page"; exit 1; }
done
echo "$(find "$work/html" -name '*.html' | wc -l) pages"
