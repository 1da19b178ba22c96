#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh CLBENCH FOLDER: kernels of public projects are fetched into the folder, and clbench verifies them there on
# PoCL, by the descriptions that lie beside this script. Each has to be right, unless its description says
# "# verdict: wrong". Then the edit of its line "# fault:" is made in the kernel, and has to be found. README.md lists
# them.
#
# Sources are Debian's, by apt with a configuration of its own in the folder, and PyPI's, by pip. What is there already
# is not fetched again. Skipped (exit code 77) where a project cannot be had and the others' kernels are as expected.
set -eu

clbench=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT HUP INT TERM
failed=0
missing=""

complain() {
    echo "FAILED: $*"
    failed=1
}

# ---- getting sources ----

# The mirror that apt uses, where it is Debian's.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> "$work/err" | grep '/debian/*$' |
        head -n 1 | grep . || echo http://deb.debian.org/debian
}

# Lists of source packages, in folders of this script's alone. Tried once.
begin_apt() {
    [ ! -f "$work/has_lists" ] || return 0
    [ ! -f "$work/has_no_lists" ] || return 1
    touch "$work/has_no_lists"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
    from=$(mirror)
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    for suite in $suites; do
        echo "deb-src [signed-by=$key] $from $suite main"
    done > "$folder/apt/sources.list"
    cat > "$folder/apt/apt.conf" << END
Dir::State "$folder/apt";
Dir::State::lists "$folder/apt/lists";
Dir::Cache "$folder/apt";
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
Acquire::Retries "1";
APT::Sandbox::User "root";
END
    LC_ALL=C APT_CONFIG="$folder/apt/apt.conf" timeout 120 apt-get -q update > "$work/log" 2>&1 &&
        ! grep -q 'Failed to fetch' "$work/log" && touch "$work/has_lists"
}
suites="trixie bookworm" # the first that has a package whole

# is_expected FILE NAME PATTERN: of an archive, whether its version is one that the descriptions are of.
is_expected() {
    version=${1##*/"$2"[-_]}
    case $version in
    $3) return 0 ;;
    esac
    return 1
}

# debian NAME PATTERN: the project's own archive, of a version such as 1.6*, as $archive.
debian() {
    command -v apt-get > "$work/which" && begin_apt || return 1
    for suite in $suites; do
        mkdir -p "$work/$1-$suite"
        (cd "$work/$1-$suite" && APT_CONFIG="$folder/apt/apt.conf" timeout 300 \
            apt-get -q --tar-only --download-only source "$1/$suite") > "$work/log" 2>&1 || continue
        for archive in "$work/$1-$suite/$1"_*.orig.tar.*; do
            ! is_expected "$archive" "$1" "$2" || return 0
        done
    done
    return 1
}

# pypi NAME PATTERN: its wheel, as $archive.
pypi() {
    mkdir -p "$work/$1"
    timeout 300 "${PYTHON:-python3}" -m pip download -q --retries 1 --no-deps --only-binary :all: -d "$work/$1" \
        "$1==$2" > "$work/log" 2>&1 || return 1
    for archive in "$work/$1"/*.whl; do
        [ -f "$archive" ] && return 0
    done
    return 1
}

# unpack TO FILE...: these files of $archive, without the folders they lie in.
unpack() {
    to=$1
    shift
    rm -rf "$work/unpacked"
    mkdir -p "$work/unpacked" "$work/$to"
    case $archive in
    *.whl) "${PYTHON:-python3}" -m zipfile -e "$archive" "$work/unpacked" ;;
    *) tar -C "$work/unpacked" -xf "$archive" ;;
    esac
    for file in "$@"; do
        found=$(find "$work/unpacked" -path "*/$file" | head -n 1)
        if [ ! -s "$found" ]; then
            complain "$to: ${archive##*/} has no $file"
            return 1
        fi
        cp "$found" "$work/$to/"
    done
}

# source_of KIND NAME PATTERN FILE...: FOLDER/NAME holds these files of the project afterwards.
source_of() {
    kind=$1 name=$2 pattern=$3
    shift 3
    wanted="$kind $pattern $*"
    if [ -f "$folder/$name/fetched" ] && [ "$(head -n 1 "$folder/$name/fetched")" = "$wanted" ]; then
        return 0
    fi
    rm -rf "${folder:?}/$name"
    if ! "$kind" "$name" "$pattern"; then
        missing="$missing $name"
        return 0
    fi
    unpack "$name" "$@" || return 0
    mv "$work/$name" "$folder/$name.new"
    { echo "$wanted"; echo "${archive##*/}"; } > "$folder/$name.new/fetched"
    mv "$folder/$name.new" "$folder/$name"
}

# first_kernel NAME FILE: this file's, as NAME: those behind it want macros that the project's host program computes.
first_kernel() {
    [ ! -f "$folder/$2" ] || sed '/^}/q' "$folder/$2" > "$folder/$1"
}

# join NAME FILE...: a program that its project puts together of several files, as NAME. What makes of a file a C++
# string is left out.
join() {
    into=$folder/$1
    shift
    [ -d "${into%/*}" ] || return 0
    for file in "$@"; do
        grep -vxE 'R"\(|\)"' "${into%/*}/$file"
    done > "$into"
}

# ---- which ----

level=src/kernels
source_of debian clblast '1.[5-9]*' $level/common.opencl $level/level1/level1.opencl $level/level1/xaxpy.opencl \
    $level/level1/xdot.opencl $level/level1/xamax.opencl $level/level2/xgemv.opencl $level/level3/level3.opencl \
    $level/level3/copy_pad.opencl $level/level3/xgemm_direct_part1.opencl $level/level3/xgemm_direct_part2.opencl \
    $level/level3/xgemm_direct_part3.opencl $level/levelx/im2col.opencl
join clblast/xaxpy.cl common.opencl level1.opencl xaxpy.opencl
join clblast/xdot.cl common.opencl xdot.opencl
join clblast/xamax.cl common.opencl xamax.opencl
join clblast/xgemv.cl common.opencl xgemv.opencl
join clblast/copy_pad.cl common.opencl level3.opencl copy_pad.opencl
join clblast/xgemm.cl common.opencl xgemm_direct_part1.opencl xgemm_direct_part2.opencl xgemm_direct_part3.opencl
join clblast/im2col.cl common.opencl im2col.opencl

source_of debian gegl '0.4.*' opencl/gblur-1d.cl opencl/edge-sobel.cl opencl/colors.cl opencl/random.cl \
    opencl/noise-hurl.cl
join gegl/noise.cl random.cl noise-hurl.cl

source_of debian starpu '1.[3-9]*' spmv/spmv_opencl.cl

level=platforms/opencl/src/kernels
source_of debian openmm '8.*' $level/common.cl $level/sort.cl $level/utilities.cl $level/fftR2C.cl \
    platforms/common/src/kernels/integrationUtilities.cc
first_kernel openmm/random.cc openmm/integrationUtilities.cc
join openmm/random.cl common.cl random.cc
join openmm/energy.cl common.cl utilities.cl

source_of debian darktable '4.*' kernels/gaussian.cl kernels/common.h kernels/colorspace.h

source_of debian leela-zero '0.1*' kernels/common.opencl kernels/convolve1.opencl
join leela-zero/convolve1.cl common.opencl convolve1.opencl

source_of debian hashcat '6.2.*' OpenCL/shared.cl OpenCL/inc_vendor.h OpenCL/inc_types.h OpenCL/inc_platform.cl \
    OpenCL/inc_platform.h OpenCL/inc_common.cl OpenCL/inc_common.h OpenCL/inc_shared.h

source_of debian pocl '[5-9].*' examples/scalarwave/scalarwave.cl

source_of pypi gputools '0.3.*' kernels/convolve_sep.cl kernels/integral_image.cl
source_of pypi dpivsoft '0.16.*' GPU_Kernels/Jacobian.cl

# ---- verifying ----

# file_of DESCRIPTION: the program that it is of, NAME/FILE.
file_of() {
    sed -n 's/.* file=\([^ ]*\).*/\1/p' "$1" | head -n 1
}

# verify CODE FOLDER DESCRIPTION: clbench has to end with this code.
verify() {
    code=0
    (cd "$2" && timeout 120 "$clbench" verify --kernels "$3" --require pocl --max-time 60s) \
        > "$work/out" 2> "$work/err" || code=$?
    if [ "$code" != "$1" ]; then
        complain "$3: exit code $code, not $1"
        cat "$work/out" "$work/err"
    fi
}

# plant DESCRIPTION PROGRAM SED: with this edit of the program, in a copy of its project, the kernel is wrong.
plant() {
    rm -rf "$work/planted"
    mkdir "$work/planted"
    cp -R "$folder/${2%%/*}" "$folder/$1" "$work/planted/"
    sed "$3" "$folder/$2" > "$work/planted/$2"
    if cmp -s "$folder/$2" "$work/planted/$2"; then
        complain "$1: nothing was planted: $3"
        return
    fi
    verify 3 "$work/planted" "$1"
    planted=$((planted + 1))
}

verified=0
planted=0
for description in "$here"/*.txt; do
    name=${description##*/}
    program=$(file_of "$description")
    [ -d "$folder/${program%%/*}" ] || continue
    [ "$(grep -cvE '^ *(#|$)' "$description")" -le 12 ] || complain "$name has more than 12 lines"
    cp "$description" "$folder/$name"
    wanted=0
    ! grep -q '^# verdict: wrong' "$description" || wanted=3
    verify "$wanted" "$folder" "$name"
    tail -n 1 "$work/out" | sed "s/^/${name%.txt}: /"
    verified=$((verified + 1))
    fault=$(sed -n 's/^# fault: //p' "$description")
    [ -z "$fault" ] || plant "$name" "$program" "$fault"
done

echo "$verified kernels verified, $planted faults planted"
[ "$verified" -gt 0 ] || [ -n "$missing" ] || complain "nothing was verified"
[ "$failed" = 0 ] || exit 1
if [ -n "$missing" ]; then
    echo "SKIPPED: these projects could not be fetched:$missing"
    exit 77
fi
