#!/bin/sh
# SPDX-License-Identifier: MIT
# rivals.sh ROOT JOBS   makes ROOT/build/rivals/clbench, for `clbench run --baseline new`: a clbench of this source
#                       whose baselines are the newest oneDNN and OpenBLAS, those of Debian sid.
#
# Their packages, and the C library that they need, are unpacked under build/rivals/root; nothing of them is installed.
# build/rivals/build is built with this system's compiler and their headers. What is made starts it by their dynamic
# linker, which finds their libraries first and this system's after them. To have newer ones, remove build/rivals and
# run this again.
#
# HUSK_MIRROR   a mirror of Debian's; default: deb.debian.org
set -eu
[ $# -eq 2 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
root=$1 jobs=$2
home=$root/build/rivals
packages="libdnnl-dev libopenblas-pthread-dev"

say() {
    printf '%s\n' "$*" >&2
}

cannot() {
    say "The newest rivals cannot be had here: $*"
    exit 1
}

# only PATTERN: the one file of the unpacked packages that has this path.
only() {
    find "$home/root" -path "$home/root/$1" | sort | head -n 1 | grep . || cannot "no $1 in Debian's packages."
}

# A system of apt's own: nothing is installed in it, so that all that the packages need is fetched, and this system's
# lists and settings stay as they are. Its keys and proxy count.
fetch() {
    for command in apt-get dpkg-deb; do
        command -v "$command" > /dev/null || cannot "this needs $command. (A clbench that is built with other" \
            "libraries can be named by itself: docs/baselines.md.)"
    done
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -f "$keys" ] || cannot "Debian's keys are not here; install debian-archive-keyring."
    mkdir -p "$home/apt/state/lists/partial" "$home/apt/cache/archives/partial"
    : > "$home/apt/status"
    echo "deb [signed-by=$keys] ${HUSK_MIRROR:-http://deb.debian.org/debian} sid main" > "$home/apt/sources.list"
    cat > "$home/apt/apt.conf" <<END
Dir::State "$home/apt/state";
Dir::State::status "$home/apt/status";
Dir::Cache "$home/apt/cache";
Dir::Etc::SourceList "$home/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Acquire::Languages "none";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Debug::NoLocking "true";
END
    say "Fetching oneDNN and OpenBLAS of Debian sid into build/rivals (25 MB, and the list of packages)"
    # shellcheck disable=SC2086 # names are words
    { APT_CONFIG=$home/apt/apt.conf apt-get update -q &&
        APT_CONFIG=$home/apt/apt.conf apt-get install -q -y --download-only $packages; } > "$home/apt/log" 2>&1 || {
        tail -n 5 "$home/apt/log" >&2
        cannot "apt-get failed; build/rivals/apt/log says why."
    }
    rm -rf "$home/unpacked"
    mkdir "$home/unpacked"
    for package in "$home"/apt/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$home/unpacked"
    done
    rm -rf "$home/root" "$home/apt/cache"
    mv "$home/unpacked" "$home/root" # what is called root is whole
}

mkdir -p "$home"
[ -d "$home/root" ] || fetch

onednn=$(only '*/libdnnl.so')
openblas=$(only '*/openblas-pthread/libopenblas.so.0')
linker=$(only '*/ld-linux-*.so.[0-9]')
libraries=$(dirname "$(only '*/libc.so.6')")
mkdir -p "$home/include" # oneDNN's alone: beside them lie headers of another C library's
rm -f "$home/include/oneapi"
ln -s "$(dirname "$(dirname "$(only '*/oneapi/dnnl/dnnl.h')")")" "$home/include/oneapi"

if [ ! -f "$home/build/build.ninja" ]; then
    cmake -S "$root" -B "$home/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHUSK_CLBLAST=OFF -DHUSK_DIST=OFF \
        -DHUSK_ONEDNN_INCLUDE="$home/include" -DHUSK_ONEDNN_LIBRARY="$onednn" \
        -DHUSK_OPENBLAS_INCLUDE="$(dirname "$(only '*/openblas_config.h')")" -DHUSK_OPENBLAS_LIBRARY="$openblas" \
        > "$home/configure.log" 2>&1 || {
        cat "$home/configure.log" >&2
        cannot "it could not be configured."
    }
fi
cmake --build "$home/build" -j "$jobs" --target clbench > "$home/build.log" 2>&1 || {
    tail -n 30 "$home/build.log" >&2
    cannot "it could not be built."
}
cat > "$home/clbench.new" <<END
#!/bin/sh
# Made by bench/baseline/rivals.sh.
exec '$linker' --library-path '$libraries:$(dirname "$openblas")' '$home/build/clbench' "\$@"
END
chmod +x "$home/clbench.new"
mv "$home/clbench.new" "$home/clbench"
say "build/rivals/clbench has the newest rivals: clbench run --baseline onednn,blas,new"
