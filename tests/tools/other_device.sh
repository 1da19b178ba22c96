#!/bin/sh
# SPDX-License-Identifier: MIT
# other_device.sh: what tells results on another device, or of other kernels and variants, from those that a machine
# finds by itself: -of-HASH of the variables that are set of those in other_device.txt; nothing where none is.
set -eu
names=$(tr '\n' '|' < "$(dirname "$0")/other_device.txt")
other=$(env | grep -E "^(${names%|})=." | LC_ALL=C sort) || true
[ -z "$other" ] || echo "-of-$(printf '%s' "$other" | sha256sum | cut -c 1-8)"
