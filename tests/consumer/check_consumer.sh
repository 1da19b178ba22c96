#!/bin/sh
# SPDX-License-Identifier: MIT
# check_consumer.sh WAY SOURCE BUILD WORK: install BUILD's libraries, move the whole folder elsewhere, and use it
# from there as a stranger would. WAY: shared and static (find_package), pkg-config, cxx, headers, train, verify, dist,
# lessons.
set -eu
way=$1
source=$2
build=$3
work=$4/$way
prefix=$work/moved/prefix

rm -rf "$work"
mkdir -p "$work/moved"
cmake --install "$build" --prefix "$work/prefix" > "$work/install.txt"
mv "$work/prefix" "$prefix"
pkgconfig=$(dirname "$(find "$prefix" -name husk.pc)")
libdir=$(dirname "$pkgconfig")
warnings="-Wall -Wextra -pedantic -Werror"
cc=${CC:-cc}
cxx=${CXX:-c++}

run() { # run PROGRAM: it has to succeed and to say the two sums
    answer=$(LD_LIBRARY_PATH="$libdir" "$1")
    echo "$answer"
    case "$answer" in *": 14 54") ;; *) exit 1 ;; esac
}

by_find_package() {
    cmake -S "$source/tests/consumer/find_package" -B "$work/build" -DTARGET="$1" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_BUILD_TYPE=Release > "$work/configure.txt"
    cmake --build "$work/build" > "$work/build.txt" || { cat "$work/build.txt"; exit 1; }
    run "$work/build/consumer_c"
    run "$work/build/consumer_cpp"
}

by_pkg_config() {
    PKG_CONFIG_PATH=$pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046,SC2086 # flags are words
    {
        $cc -std=c11 $warnings "$source/tests/consumer/consumer.c" $(pkg-config --cflags --libs husk) -o "$work/c"
        $cxx -std=c++11 $warnings "$source/tests/consumer/consumer.cpp" $(pkg-config --cflags --libs husk) \
            -o "$work/cpp"
        $cc -std=c11 $warnings "$source/tests/consumer/consumer.c" $(pkg-config --cflags husk) "$libdir/libhusk.a" \
            $(pkg-config --static --libs husk | sed 's/-lhusk//') -o "$work/static"
    }
    run "$work/c"
    run "$work/cpp"
    run "$work/static"
    [ "$(pkg-config --modversion husk)" = "$(sed -n 's/.*VERSION_STRING "\(.*\)"/\1/p' \
        "$prefix/include/husk/version.h")" ]
}

# Every macro that makes a struct, those of libhusk_dist where it was built.
every_macro() {
    echo '#include <husk/train.h>'
    [ ! -f "$pkgconfig/husk_dist.pc" ] || echo '#include <husk/dist.h>'
    echo 'int main() {'
    sed -n 's/^#define \(HUSK_[A-Z0-9_]*\)(\.\.\.) HUSK_MAKE(\(husk_[a-z0-9_]*\),.*/\1 \2/p' \
        "$prefix"/include/husk/*.h "$prefix"/include/husk/*/*.h |
        while read -r macro type; do
            echo "    { const $type made = $macro(); if (made.size != sizeof made) return 1; }"
        done
    # And every function that makes one, with the first of each enumeration.
    sed -n 's/^static inline \(husk_[a-z0-9_]*\) \(husk_[a-z0-9_]*\)(\(.*\))$/\1 \2 \3/p' \
        "$prefix"/include/husk/*.h "$prefix"/include/husk/*/*.h |
        while read -r type maker arguments; do
            [ "$type" != husk_verify_array ] || continue # which has no size
            arguments=$(echo "$arguments" |
                sed 's/^void$//; s/\(husk_[a-z_]*\) [a-z]*/static_cast<\1>(0)/; s/double [a-z]*/1/')
            echo "    { const $type made = $maker($arguments); if (made.size != sizeof made) return 1; }"
        done
    echo '    return 0;'
    echo '}'
}

cxx() { # C++17 by husk.hpp and C++20 by the macros, by every compiler that is here
    PKG_CONFIG_PATH=$pkgconfig
    export PKG_CONFIG_PATH
    every_macro > "$work/every_macro.cpp"
    least=48
    [ ! -f "$pkgconfig/husk_dist.pc" ] || least=52
    macros=$(grep -c 'made = HUSK_' "$work/every_macro.cpp") functions=$(grep -c 'made = husk_' "$work/every_macro.cpp")
    if [ "$macros" -lt "$least" ] || [ "$functions" -lt 13 ]; then
        echo "$macros macros and $functions functions that make structs were found, there are $least and 13"
        exit 1
    fi
    # No other macro makes a struct, in a way that is no C++.
    if grep -rnE '#define HUSK_.*\{ *\.size|^ *\(husk_[a-z_]*\) \{ *\.size' "$prefix/include/husk" |
        grep -v 'HUSK_MAKE(type'; then
        exit 1
    fi
    for compiler in "$cxx" g++ clang++; do
        command -v "$compiler" > "$work/which.txt" || continue
        # shellcheck disable=SC2046,SC2086 # flags are words
        for standard in 17 20; do
            $compiler -std=c++$standard $warnings "$source/tests/consumer/consumer_$standard.cpp" \
                $(pkg-config --cflags --libs husk) -o "$work/cxx$standard"
            run "$work/cxx$standard"
        done
        # shellcheck disable=SC2046,SC2086
        $compiler -std=c++17 $warnings "$source/examples/embed_conv.cpp" $(pkg-config --cflags --libs husk) \
            -o "$work/example"
        LD_LIBRARY_PATH="$libdir" "$work/example"
        # shellcheck disable=SC2046,SC2086
        $compiler -std=c++20 $warnings "$work/every_macro.cpp" $(pkg-config --cflags --libs husk_train) -o "$work/every"
        LD_LIBRARY_PATH="$libdir" "$work/every"
    done
}

train() { # libhusk_train in every way
    PKG_CONFIG_PATH=$pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046,SC2086 # flags are words
    {
        $cc -std=c11 $warnings "$source/tests/consumer/train.c" $(pkg-config --cflags --libs husk_train) \
            -o "$work/shared"
        $cc -std=c11 $warnings "$source/tests/consumer/train.c" $(pkg-config --cflags husk_train) \
            "$libdir/libhusk_train.a" "$libdir/libhusk.a" \
            $(pkg-config --static --libs husk_train | sed 's/-lhusk_train//; s/-lhusk//') -o "$work/static"
        for example in "$source"/examples/*.c; do # as examples/README.md says
            case "${example##*/}" in
            train_distributed.c | verify_*) ;; # below
            *) $cc "$example" $(pkg-config --cflags --libs husk_train) -lm -o "$work/example" ;;
            esac
        done
    }
    for target in husk::husk_train husk::husk_train_static; do
        cmake -S "$source/tests/consumer/find_package" -B "$work/build" -DTARGET="$target" -DPROGRAMS=train \
            -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release > "$work/configure.txt"
        cmake --build "$work/build" > "$work/build.txt" || { cat "$work/build.txt"; exit 1; }
        LD_LIBRARY_PATH=$libdir "$work/build/consumer_train"
        rm -rf "$work/build"
    done
    LD_LIBRARY_PATH=$libdir "$work/shared"
    LD_LIBRARY_PATH=$libdir "$work/static"
}

verify() { # libhusk_verify in every way, without libhusk
    PKG_CONFIG_PATH=$pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046,SC2086 # flags are words
    {
        $cc -std=c11 $warnings "$source/tests/consumer/verify.c" $(pkg-config --cflags --libs husk_verify) \
            -o "$work/shared"
        $cc -std=c11 $warnings "$source/tests/consumer/verify.c" $(pkg-config --cflags husk_verify) \
            "$libdir/libhusk_verify.a" $(pkg-config --static --libs husk_verify | sed 's/-lhusk_verify//') \
            -o "$work/static"
        for name in verify_plain verify_check; do # as examples/README.md says
            $cc "$source/examples/$name.c" $(pkg-config --cflags --libs husk_verify check) -lm -o "$work/$name"
        done
        if pkg-config --exists gtest_main; then
            $cxx -std=c++17 $warnings "$source/examples/verify_googletest.cpp" \
                $(pkg-config --cflags --libs husk_verify gtest_main) -o "$work/verify_googletest"
        fi
    }
    for target in husk::husk_verify husk::husk_verify_static; do
        cmake -S "$source/tests/consumer/find_package" -B "$work/build" -DTARGET="$target" -DPROGRAMS=verify \
            -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release > "$work/configure.txt"
        cmake --build "$work/build" > "$work/build.txt" || { cat "$work/build.txt"; exit 1; }
        LD_LIBRARY_PATH=$libdir "$work/build/consumer_verify"
        rm -rf "$work/build"
    done
    LD_LIBRARY_PATH=$libdir "$work/shared"
    LD_LIBRARY_PATH=$libdir "$work/static"
    if readelf -d "$work/shared" "$libdir/libhusk_verify.so" | grep 'NEEDED.*libhusk[.]'; then
        echo "libhusk_verify needs libhusk"
        exit 1
    fi
}

dist() { # libhusk_dist in every way, where it was built
    if [ ! -f "$pkgconfig/husk_dist.pc" ]; then
        echo "MPI was not found when this was configured"
        exit 77
    fi
    PKG_CONFIG_PATH=$pkgconfig
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PKG_CONFIG_PATH OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
    # shellcheck disable=SC2046,SC2086 # flags are words
    {
        $cc "$source/examples/train_distributed.c" $(pkg-config --cflags --libs husk_dist) -lm -o "$work/example"
        $cc -std=c11 $warnings "$source/tests/consumer/dist.c" $(pkg-config --cflags --libs husk_dist) \
            -o "$work/shared"
        $cc -std=c11 $warnings "$source/tests/consumer/dist.c" $(pkg-config --cflags husk_dist) \
            "$libdir/libhusk_dist.a" "$libdir/libhusk_train.a" "$libdir/libhusk.a" \
            $(pkg-config --static --libs husk_dist | sed 's/-lhusk_dist//; s/-lhusk_train//; s/-lhusk//') \
            -o "$work/static"
    }
    for target in husk::husk_dist husk::husk_dist_static; do
        cmake -S "$source/tests/consumer/find_package" -B "$work/build" -DTARGET="$target" -DPROGRAMS=dist \
            -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release > "$work/configure.txt"
        cmake --build "$work/build" > "$work/build.txt" || { cat "$work/build.txt"; exit 1; }
        LD_LIBRARY_PATH=$libdir "$work/build/consumer_dist"
        rm -rf "$work/build"
    done
    LD_LIBRARY_PATH=$libdir "$work/shared"
    LD_LIBRARY_PATH=$libdir "$work/static"
}

lessons() { # what their pages say of an installed Husk
    PKG_CONFIG_PATH=$pkgconfig CMAKE_PREFIX_PATH=$prefix LD_LIBRARY_PATH=$libdir
    export PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH
    "$source/tests/tools/check_lessons.sh" installed "$source"
}

headers() { # each compiles alone, twice in a row, in both languages
    count=0
    for header in $(cd "$prefix/include" && find husk -name '*.h' | sort); do
        printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$header" "$header" > "$work/alone.c"
        cp "$work/alone.c" "$work/alone.cpp"
        # shellcheck disable=SC2086 # flags are words
        {
            $cc -std=c11 $warnings -fsyntax-only -I "$prefix/include" "$work/alone.c"
            $cxx -std=c++11 $warnings -fsyntax-only -I "$prefix/include" "$work/alone.cpp"
        }
        count=$((count + 1))
    done
    echo "$count headers"
    [ "$count" -ge 15 ]
}

case "$way" in
shared) by_find_package husk::husk ;;
static) by_find_package husk::husk_static ;;
pkg-config) by_pkg_config ;;
cxx) cxx ;;
headers) headers ;;
train) train ;;
verify) verify ;;
dist) dist ;;
lessons) lessons ;;
*) echo "unknown way: $way"; exit 2 ;;
esac
rm -rf "$work"
