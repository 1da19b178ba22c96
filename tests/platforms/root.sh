#!/bin/sh
# SPDX-License-Identifier: MIT
# root.sh ROOT PLATFORM COMMAND...   runs ./run COMMAND... in a Debian of its own: a root that debootstrap makes, kept
#                                    under ROOT/build/platforms/PLATFORM. To have it fresh, remove that folder.
#
#   debian12   PoCL 3.1          debian13   PoCL 6.0          sid   whatever PoCL is newest there
#   rusticl    Mesa's OpenCL on llvmpipe, in Debian 13
#   workflow   Debian 12, in which COMMAND itself is run: tests/kernels/workflow.sh
#
# Inside, the repository lies under its own path, read-only; its build folder is the platform's. What is missing there
# is installed there, by ./run itself. Mounts and processes, debootstrap's as well, are in namespaces that end with this
# script, killed or not: no other process sees these mounts, and build/ can be removed at any time.
#
# Exit 77: this machine cannot do it. Else the exit status of ./run.
set -eu
[ $# -ge 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$1 platform=$2
shift 2
home=$root/build/platforms/$platform
inside=$home/root

say() {
    printf '%s\n' "$*" >&2
}

cannot() {
    say "The platform $platform cannot be tested here: $*"
    exit 77
}

case "$platform" in
debian12 | workflow) suite=bookworm packages="" ;;
debian13) suite=trixie packages="" ;;
sid) suite=sid packages="" ;;
rusticl) suite=trixie packages=mesa-opencl-icd ;;
*)
    say "There is no platform \"$platform\" with a root: debian12 debian13 sid rusticl"
    exit 2
    ;;
esac

# ---- what it takes --------------------------------------------------------------------------------------

[ "$(id -u)" -eq 0 ] || cannot "a root needs root's rights (sudo ./run ...)."

# apart COMMAND...: in namespaces of its own for mounts and processes. Where this script is killed, unshare is, and then
# all that COMMAND has started.
apart() {
    setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child "$@"
}

apart true 2> /dev/null ||
    cannot "no namespaces (a container without CAP_SYS_ADMIN, or no unshare and setpriv from util-linux)."

# Ctrl-C reaches the command inside, too. It ends in its own way, and then this script does.
trap 'exit 130' INT

# The mirror that apt uses, where it is Debian's.
mirror() {
    [ -z "${HUSK_MIRROR:-}" ] || { echo "$HUSK_MIRROR"; return; }
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null | grep '/debian/*$' | head -n 1 |
        grep . || echo http://deb.debian.org/debian
}

has_debootstrap() {
    command -v debootstrap && ls /usr/share/keyrings/debian-archive-keyring.*
}

# debootstrap itself: a script, which any distribution packages. Names of later releases are links in it. And Debian's
# keys: elsewhere debootstrap goes without them, and then only warns that it has checked no signature.
find_debootstrap() {
    has_debootstrap > /dev/null 2>&1 && return
    names="debootstrap debian-archive-keyring"
    say "Installing what is missing:"
    say "    apt-get install -y --no-install-recommends $names"
    # shellcheck disable=SC2086 # names are words
    { command -v apt-get && apt-get update -q &&
        apt-get install -y -q -o DPkg::Lock::Timeout=300 --no-install-recommends $names &&
        has_debootstrap; } > "$home/debootstrap.log" 2>&1 ||
        cannot "debootstrap or Debian's keyring is not here; $home/debootstrap.log says why."
}

scripts_of() { # where an older debootstrap does not know the suite, the script of another one does: they are all one
    folder=/usr/share/debootstrap/scripts
    if [ ! -e "$folder/$suite" ] && [ -e "$folder/sid" ]; then
        echo "$folder/sid"
    fi
}

make_root() {
    if [ -e "$home/complete" ]; then
        return
    fi
    # A file system that is mounted in it, by whoever, is not removed.
    rm -rf --one-file-system "$inside" ||
        cannot "build/platforms/$platform/root is there and cannot be removed; findmnt may show a mount in it."
    mkdir -p "$home"
    find_debootstrap
    from=$(mirror)
    say "Making a minimal $suite of $from in build/platforms/$platform"
    # shellcheck disable=SC2046 # one word or none
    apart debootstrap --force-check-gpg --variant=minbase "$suite" "$inside" "$from" $(scripts_of) \
        > "$home/debootstrap.log" 2>&1 || {
        tail -n 5 "$home/debootstrap.log" >&2
        cannot "debootstrap could not make its root; $home/debootstrap.log says why."
    }
    # A proxy that this machine's apt uses is used there, too.
    { grep -hi proxy /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2> /dev/null || true; } > "$home/proxy"
    cp "$home/proxy" "$inside/etc/apt/apt.conf.d/30proxy"
    # A mirror's lists of sid, which are good for a week, may be older. Their signature counts all the same, for apt as
    # for debootstrap, which does not look at dates.
    [ "$suite" != sid ] || echo 'Acquire::Check-Valid-Until "false";' > "$inside/etc/apt/apt.conf.d/30sid"
    : > "$home/complete"
}

# ---- going in -------------------------------------------------------------------------------------------

# In namespaces of its own: the repository read-only under its own path, the platform's build folder in it. This shell
# is the first process there: it takes in orphans, holds the lock, and ends all others when it ends.
# shellcheck disable=SC2016 # for the shell inside
go_in='
set -eu
root=$1 home=$2 inside=$3 where=$4
shift 4
mkdir -p "$inside$root" "$home/build"
mount --bind "$root" "$inside$root"
mount --bind "$home/build" "$inside$root/build"
mount -o remount,bind,ro "$inside$root"
mount -t proc proc "$inside/proc"
mount --rbind /sys "$inside/sys"
mount --rbind /dev "$inside/dev"
if [ -e /etc/resolv.conf ]; then
    rm -f "$inside/etc/resolv.conf"
    cat /etc/resolv.conf > "$inside/etc/resolv.conf"
fi
status=0
chroot "$inside" /bin/sh -c '\''cd "$1" && shift && exec "$@"'\'' sh "$where" "$@" 9>&- || status=$?
exit "$status"'

handed_on='^((HUSK|POCL|CK|CTEST|CMAKE|RUSTICL|OMP|OPENBLAS)_[A-Z0-9_]*|TERM|NO_COLOR|CI)$'

within() { # within COMMAND...: nothing of this environment but what is meant for Husk, PoCL and the tests
    for name in $(env | sed -n 's/=.*//p' | grep -E "$handed_on"); do
        set -- "$name=$(printenv "$name")" "$@"
    done
    case "$(pwd)/" in
    "$root"/*) where=$(pwd) ;;
    *) where=$root ;;
    esac
    [ "$platform" != rusticl ] || set -- RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS=/etc/OpenCL/rusticl "$@"
    apart sh -c "$go_in" sh "$root" "$home" "$inside" "$where" \
        env -i HOME=/root LANG=C.UTF-8 HUSK_PLATFORM="$platform" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

mend_packages() { # what a run that was killed has left half installed
    if [ -z "$(ls "$inside/var/lib/dpkg/updates")" ]; then
        return
    fi
    within env DEBIAN_FRONTEND=noninteractive dpkg --configure -a > "$home/packages.log" 2>&1 ||
        cannot "packages are half installed; $home/packages.log says why."
}

add_packages() {
    if [ -z "$packages" ] || [ -e "$home/packages" ]; then
        return
    fi
    # shellcheck disable=SC2086 # names are words
    within env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get update -q && apt-get install -y -q --no-install-recommends "$@" &&
        mkdir -p /etc/OpenCL/rusticl && cp /etc/OpenCL/vendors/rusticl.icd /etc/OpenCL/rusticl/' sh $packages \
        > "$home/packages.log" 2>&1 || cannot "$packages could not be installed; $home/packages.log says why."
    : > "$home/packages"
}

mkdir -p "$home"
exec 9> "$home/lock"
flock -n 9 || cannot "another run uses build/platforms/$platform."
make_root
mend_packages
add_packages
failed=$home/build/release/Testing/Temporary/LastTestsFailed.log
rm -f "$failed"
status=0
[ "$platform" = workflow ] || set -- "$root/run" "$@"
within "$@" || status=$?
# sid moves. Where no test has failed that counts as a wrong result, the others are told, and are no failure.
if [ "$platform" = sid ] && [ "$status" -ne 0 ] && [ -s "$failed" ] && "$here/results.sh" "$failed" >&2; then
    status=0
fi
exit "$status"
