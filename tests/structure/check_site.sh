#!/bin/sh
# SPDX-License-Identifier: MIT
# check_site.sh DOXYFILE   the site is made without a warning (./run site), has a page for README, for headers and
#                          lessons, and its pages link to nothing that is not there. 77 where there is no Doxygen.
set -eu
command -v doxygen > /dev/null 2>&1 || { echo "Doxygen is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s|^OUTPUT_DIRECTORY .*|OUTPUT_DIRECTORY = $work|" "$1" > "$work/Doxyfile"
doxygen "$work/Doxyfile" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[ ! -s "$work/log" ] || { cat "$work/log"; exit 1; }
for page in index context_8h conv_8h graph_8h operators first*call first*network; do
    found=$(find "$work/html" -name "*$page*.html" | head -n 1)
    [ -n "$found" ] || { echo "there is no page $page"; exit 1; }
done
dead=$(cd "$work/html" && grep -oE 'href="[^"#:]+["#]' index.html md_*.html | tr -d '#' | sed 's/"$//' | sort -u |
    while IFS= read -r link; do
        [ -e "${link#*\"}" ] || echo "${link%%:*}: links to ${link#*\"}, which is not there"
    done)
[ -z "$dead" ] || { echo "$dead"; exit 1; }
echo "$(find "$work/html" -name '*.html' | wc -l) pages"
