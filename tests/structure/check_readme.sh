#!/bin/sh
# SPDX-License-Identifier: MIT
# check_readme.sh SOURCE: the README quotes examples/embed_conv.c and embed_conv.cpp word for word, in at most 40 lines
# each, and every file that a document of ours points to is there.
set -eu
cd "$1"
status=0
quote=$(mktemp)
trap 'rm -f "$quote"' EXIT
for language in c cpp; do
    awk -v fence="\`\`\`$language" '$0 == fence { inside = 1; next } /^```$/ { if (inside) exit } inside' \
        README.md > "$quote"
    if ! diff -u "examples/embed_conv.$language" "$quote"; then
        echo "README.md: the quoted example differs from examples/embed_conv.$language"
        status=1
    fi
    if [ "$(wc -l < "$quote")" -gt 40 ]; then
        echo "README.md: the embedding example in $language has more than 40 lines"
        status=1
    fi
done

for document in README.md CONTRIBUTING.md docs/*.md; do
    folder=$(dirname "$document")
    # shellcheck disable=SC2013 # such targets hold no blanks
    for target in $(grep -oE '\]\([^)#: ]+(#[^)]*)?\)' "$document" | sed 's/^](//; s/)$//; s/#.*//' | sort -u); do
        if [ ! -e "$folder/$target" ]; then
            echo "$document: points to $target, which is not there"
            status=1
        fi
    done
done
exit $status
