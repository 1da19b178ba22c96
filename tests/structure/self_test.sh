#!/bin/sh
# SPDX-License-Identifier: MIT
# self_test.sh: check_house.sh has to pass a house in order, and to catch each breach planted in it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
house=$(mktemp -d) sound=$(mktemp -d)
trap 'rm -rf "$house" "$sound"' EXIT
cd "$house"

header='/* SPDX-License-Identifier: MIT */'
source='// SPDX-License-Identifier: MIT'
script='# SPDX-License-Identifier: MIT'
count=0

put() { # put FILE LINE...
    mkdir -p "$(dirname "$1")"
    file=$1
    shift
    printf '%s\n' "$@" > "$file"
}

make() { # a small house with two operators
    put CMakeLists.txt "$script" 'husk_add_op(gemm gemm)' 'husk_add_op(conv conv)' \
        'husk_add_op(conv conv_small conv_small_backward)'
    for place in gemm/gemm/gemm conv/conv/conv conv/conv_small/small; do
        family=${place%%/*} stem=${place##*/} op=${place#*/}
        op=${op%/*}
        put "include/husk/ops/$op.h" "$header" '#include <husk/plan.h>'
        put "src/ops/$family/$stem.c" "$source" "#include <husk/ops/$op.h>" '#include "runtime/launch.h"' \
            '#include "ops/shared/rows.h"'
        put "src/ref/$family/$stem.c" "$source" '#include "base/tensor.h"' "#include \"ref/$family/$stem.h\""
        put "cl/$family/${stem}_tiled.cl" "$source" '#include "lib/dtype.clh"'
        put "tests/ops/$family/test_$op.c" "$source" '#include <husk/husk.h>' "#include \"ref/$family/$stem.h\"" \
            '#include "support/device.h"'
        put "bench/cases/$family/$stem.c" "$source" '#include "cases/op.h"'
        put "bench/cases/$family/$stem.txt" "$script" '[operators writes]' "$op | x" '[smoke races ragged memory]' \
            "$op n=1"
    done
    mv cl/conv/conv_tiled.cl cl/conv/tiled.cl
    mv cl/gemm/gemm_tiled.cl cl/gemm/tiled.cl
    put src/ops/conv/small_backward.c "$source" '#include "ops/conv/private.h"'
    put tests/ops/conv/test_conv_small_backward.c "$source" '#include <husk/husk.h>'
    plant bench/cases/conv/small.txt 'conv_small n=1 dir=bwd' '[operators writes]' 'conv_small_backward | x'
    put cl/conv/small_backward_tiled.cl "$source" '#include "lib/dtype.clh"'
    put src/ops/shared/rows.c "$source" '#include "ops/shared/rows.h"'
    put cl/runtime/probe.cl "$source"
    put src/ops/conv/winograd.c "$source" '#include "ops/conv/private.h"' '#include <husk/ops/gemm.h>'
    put src/ops/gemm/clblast.c "$source" '#include <clblast_c.h>' '#include <CL/cl.h>' '#include <husk/opencl.h>'
    put src/os/time.c "$source" '#include <time.h>' '#include "os/time.h"'
    put src/base/text.c "$source" 'int f(char *b) { return snprintf(b, 1, "x"); }' '#include "os/time.h"'
    put src/base/hash.c "$source" '#include <xxhash.h>'
    put src/runtime/launch.c "$source" '#include <CL/cl.h>' '#include "base/text.h"' '#include "runtime/launch.h"'
    put src/select/op.c "$source" '#include "runtime/launch.h"' '#include "base/text.h"'
    put src/train/graph/graph.c "$source" '#include <husk/train/graph.h>' '#include <husk/ops/conv.h>' \
        '#include "train/error.h"'
    put src/train/error.c "$source" '#include "train/error.h"'
    put src/train/step/run.c "$source" '#include "train/graph/graph.h"' '#include "train/step/run.h"'
    put include/husk/train.h "$header" '#include <husk/train/graph.h>'
    put tests/train/test_graph.c "$source" '#include <husk/train.h>' '#include "train/plan.h"'
    put src/dist/parallel.c "$source" '#include <husk/dist.h>' '#include <husk/train.h>' '#include <mpi.h>' \
        '#include "dist/rank.h"'
    put include/husk/dist.h "$header" '#include <husk/train.h>'
    put bench/run/rounds.c "$source" '#include "run/state.h"' '#include "cases/op.h"' '#include "ref/random.h"'
    put bench/main.c "$source" '#include "doctor/doctor.h"'
    put cl/lib/dtype.clh "$source" '#include "lib/vector.clh"'
    put tests/runtime/test_pool.c "$source" '#include "runtime/pool.h"' '#include <check.h>'
    put examples/embed.c "$source" '#include <husk/husk.h>' '#include <husk/opencl.h>' '#include <stdio.h>'
    put run '#!/bin/sh' "$script"
}

build() { # as it was before anything was planted
    rm -rf "${house:?}"/*
    cp -R "$sound/." "$house"
}

expect() { # expect WORDS: the check fails and says them
    count=$((count + 1))
    if output=$("$here/check_house.sh" "$house"); then
        echo "not caught: $1"
        exit 1
    fi
    if ! printf '%s\n' "$output" | grep -qF -- "$1"; then
        printf 'caught, but not as "%s":\n%s\n' "$1" "$output"
        exit 1
    fi
    if [ "$(printf '%s\n' "$output" | wc -l)" -ne "${2:-1}" ]; then
        printf 'more than the planted breach "%s":\n%s\n' "$1" "$output"
        exit 1
    fi
    build
}

plant() { # plant FILE LINE...: lines more
    file=$1
    shift
    printf '%s\n' "$@" >> "$file"
}

make
cp -R "$house/." "$sound"
"$here/check_house.sh" "$house" > /dev/null || { "$here/check_house.sh" "$house"; exit 1; }

put src/base/text.c 'int x;';                                 expect 'src/base/text.c:1: the first line is not'
put include/husk/ops/gemm.h "$source";                        expect 'include/husk/ops/gemm.h:1: the first line'
put run '#!/bin/sh' 'true';                                   expect 'run:1: the first line is not'
put cl/lib/dtype.clh 'int x;';                                expect 'cl/lib/dtype.clh:1: the first line is not'
plant src/base/text.c "$(printf '\tint x;')";                 expect 'src/base/text.c:4: a tab'
plant cl/gemm/tiled.cl 'int x; ';                             expect 'cl/gemm/tiled.cl:3: blanks at the end'
plant bench/cases/gemm/gemm.c "$(printf 'int x;\r')";         expect 'bench/cases/gemm/gemm.c:3: blanks at the end'
plant src/base/text.c "// $(printf '%0120d' 0)";              expect 'src/base/text.c:4: 123 columns'
printf 'int x;' >> src/base/text.c;                           expect 'no newline at the end'
lines() { # lines FILE COUNT: so many more
    seq "$2" | sed 's|.*|    int x&;|' >> "$1"
}
lines cl/lib/dtype.clh 598
"$here/check_house.sh" "$house" > /dev/null
lines cl/lib/dtype.clh 1;                                     expect 'dtype.clh:601: a file has at most 600 lines'
plant bench/main.c 'int f(int a,'
plant bench/main.c '      int b)'
plant bench/main.c '{'
lines bench/main.c 71
cp bench/main.c short.c
plant bench/main.c '}'
"$here/check_house.sh" "$house" > /dev/null
mv short.c bench/main.c
lines bench/main.c 1
plant bench/main.c '}'
expect 'bench/main.c:3: a function has at most 75 lines, this one 76'

plant src/os/time.c '#include "base/text.h"';                expect 'src/os may include only os'
plant src/os/time.c '#include "runtime/launch.h"';           expect 'src/os may include only os'
plant src/os/time.c '#include <husk/status.h>';              expect 'src/os knows nothing of Husk'
plant src/base/text.c '#include <sys/stat.h>';                expect 'only src/os asks the system'
plant src/runtime/launch.c '#include <unistd.h>';             expect 'only src/os asks the system'
plant src/base/text.c '#include "runtime/launch.h"';          expect 'src/base may include only os base'
plant src/runtime/launch.c '#include "select/op.h"';          expect 'src/runtime may include only os base runtime'
plant src/runtime/launch.c '  #  include "ops/conv.h"';       expect 'src/runtime may include only os base runtime'
plant src/select/op.c '#include "ops/conv.h"';                expect 'src/select may include only'
plant src/ref/gemm/gemm.c '#include "runtime/launch.h"';      expect 'src/ref may include only base ref'
plant src/ops/conv/conv.c '#include "ref/conv/conv.h"';       expect 'src/ops may include only'
plant src/ops/conv/conv.c '#include "../ref/conv.h"';         expect 'no include climbs'
plant src/ops/gemm/gemm.c '#include "ops/conv/private.h"';    expect 'no private header of another one'
plant src/ops/conv/winograd.c '#include "ops/gemm/gemm.h"';   expect 'no private header of another one'
plant src/ops/shared/rows.c '#include "ops/conv/private.h"';  expect 'no private header of another one'
plant src/train/graph/graph.c '#include "base/text.h"';       expect 'src/train may include only train'
plant src/train/graph/graph.c '#include <husk/opencl.h>';     expect 'only src/runtime sees OpenCL'
plant src/train/graph/graph.c '#include "train/step/run.h"';  expect 'src/train/graph may include only graph'
plant src/train/step/run.c '#include "train/files/parts.h"';  expect 'src/train/step may include only graph'
plant src/train/error.c '#include "train/graph/graph.h"';     expect 'src/train/ may include only what lies beside it'
plant src/ops/conv/conv.c '#include "train/plan.h"';          expect 'src/ops may include only'
plant src/ops/conv/conv.c '#include <husk/train.h>';          expect 'the operators know nothing of networks'
plant src/dist/parallel.c '#include "train/graph/graph.h"';   expect 'src/dist may include only dist'
plant src/train/graph/graph.c '#include <mpi.h>';             expect 'only src/dist names MPI'
plant src/train/graph/graph.c '#include <husk/dist.h>';       expect 'nothing stands on several processes'
plant examples/embed.c '#include "train/plan.h"';             expect 'only <husk/...> and standard headers'
plant bench/cases/conv/conv.c '#include "train/plan.h"';      expect 'white-box tests'
plant src/base/text.c '#include "text.h"';                    expect 'src/base may include only os base'
plant include/husk/ops/gemm.h '#include "base/text.h"';       expect 'only <husk/...> and standard headers'
plant examples/embed.c '#include "support/device.h"';         expect 'only <husk/...> and standard headers'
plant tests/ops/gemm/test_gemm.c '#include "runtime/launch.h"'; expect 'white-box tests'
plant bench/cases/conv/conv.c '#include "base/text.h"';       expect 'white-box tests'
plant bench/cases/conv/conv.c '#include "worker/worker.h"';    expect 'bench/cases may include nothing of bench/worker'
plant bench/run/rounds.c '#include "doctor/findings.h"';      expect 'bench/run may include nothing of bench/doctor'
put bench/new/rounds.c "$source" '#include "run/state.h"';    expect 'bench/new has no place'
plant bench/run/rounds.c '#include "rounds.h"';               expect 'by the path from bench/'
plant bench/cases/conv/conv.c '#include "os/time.h"';         expect 'white-box tests'
plant cl/conv/tiled.cl '#include "conv_private.clh"';         expect 'a kernel includes only lib/'
plant cl/lib/dtype.clh '#include "gemm/tiled.cl"';            expect 'a kernel includes only lib/'

plant cl/lib/dtype.clh '#define EACH(f, ...) f(__VA_ARGS__)'; expect 'no variadic macros'
plant cl/conv/tiled.cl '__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void f(int n) {
    int i = n;
}';                                                             expect 'begins with ONE_ITEM();'
plant cl/lib/dtype.clh '#define K(n) __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void n(int m) { \
    m = 0; \
}';                                                             expect 'begins with ONE_ITEM();'
plant cl/conv/tiled.cl 'x = CONCAT(vload, VW)(0, p);';        expect 'read by LOAD_VECTOR'

plant src/ops/conv/conv.c '#include <CL/cl.h>';               expect 'name CL/'
plant src/base/text.c '#include <CL/cl_ext.h>';               expect 'name CL/'
plant tests/ops/conv/test_conv.c '#include <CL/cl.h>';        expect 'name CL/'
plant include/husk/ops/conv.h '#include <CL/cl.h>';           expect 'name CL/'
plant src/ops/conv/conv.c '#include <husk/opencl.h>';         expect 'only src/runtime sees OpenCL'
plant src/ops/conv/conv.c '#include <clblast_c.h>';           expect 'CLBlast has one file'
plant src/select/op.c '#include <xxhash.h>';                  expect 'hashes come from base/hash.h'
plant src/base/text.c '#include <jansson.h>';                 expect 'do not need this'

plant CMakeLists.txt 'husk_add_op(pool pool)';                expect '(pool pool) lacks src/ops/pool/pool.c' 7
plant CMakeLists.txt 'husk_add_op(conv conv_wide conv_wide_backward)'
expect '(conv conv_wide) lacks src/ops/conv/wide_backward.c' 10
rm tests/ops/gemm/test_gemm.c;                                expect 'lacks tests/ops/gemm/test_gemm.c'
rm tests/ops/conv/test_conv_small_backward.c;                 expect 'lacks tests/ops/conv/test_conv_small_backward.c'
rm cl/gemm/tiled.cl;                                          expect 'lacks a kernel of gemm'
rm cl/conv/small_backward_tiled.cl;                           expect 'lacks a kernel of conv_small_backward'
rm src/ops/conv/small_backward.c cl/conv/small_backward_tiled.cl tests/ops/conv/test_conv_small_backward.c
plant src/ops/conv/small.c 'const husk__op husk__op_conv_small_backward = {'
expect 'or a test of it in test_conv_small.c'
rm bench/cases/gemm/gemm.txt;                                 expect 'lacks bench/cases/gemm/gemm.txt'
lists=bench/cases/conv/small.txt
sed -i s/ragged// $lists;                                     expect '[ragged] has nothing of conv_small'
sed -i s/memory/memroy/ $lists; expect 'small.txt:4: there is no list of the name memroy' 2
sed -i s/writes// $lists;                                     expect '[writes] has nothing of conv_small_backward' 3
plant $lists '[writes]' 'conv_small | tiled | conv_small n=1 | conv/tiled.cl | y[0] = | y[1] ='
expect 'cl/conv/tiled.cl has no "y[0] ="'
sed -i '$d' $lists;                                           expect '[operators] has no row of conv_small_backward' 2
plant $lists '[smoke]' 'conv_small n=1 dir=fwd_bwd';          expect '"conv_small dir=fwd_bwd" is not in both'
plant $lists '[memory]' 'conv n=1';                           expect 'small.txt:10: a case of another operator'
put include/husk/ops/pool.h "$header";                        expect 'pool.h:1: no operator of this name'
put cl/convolve/fast.cl "$source";                            expect 'cl/convolve/fast.cl:1: the folder is no family'
put src/ops/convolve/fast.c "$source"; expect 'src/ops/convolve/fast.c:1: the folder is no family'
put src/ref/conv/fast/direct.c "$source"; expect 'src/ref/conv/fast/direct.c:1: the folder is no family'
put src/ops/fast.c "$source";                                 expect 'src/ops/fast.c:1: no file of a family'
put cl/fast.cl "$source";                                     expect 'cl/fast.cl:1: no file of a family'
put src/train/fast.c "$source";           expect 'src/train/fast.c:1: no file of a folder of src/train'
put src/train/fast/run.c "$source";       expect 'src/train/fast/run.c:1: no file of a folder of src/train'
put src/train/step/fast/run.c "$source";  expect 'src/train/step/fast/run.c:1: no file of a folder of src/train'

plant src/base/text.c '// See src/base/words.c.';          expect 'text.c:4: there is no file src/base/words.c'
plant cl/conv/tiled.cl '// cl/conv/tile.cl, cl/conv/NAME.cl, cl/conv/*.cl and src/ops/conv/convolve.c: see there'
expect 'cl/conv/tiled.cl:3: there is no file src/ops/conv/convolve.c'
plant src/base/text.c 'void f(void) { printf("x"); }';        expect 'text.c:4: the library neither prints'
plant src/ops/conv/conv.c '    abort();';                     expect 'conv.c:5: the library neither prints'
plant src/ops/conv/conv.c '    _exit(1);';                    expect 'conv.c:5: the library neither prints'
plant src/ops/conv/conv.c '    fputs("x", stderr);';          expect 'conv.c:5: the library neither prints'
plant src/dist/parallel.c '    MPI_Abort(comm, 1);';          expect 'parallel.c:6: the library neither prints'

# The two checks of the built library, on small ones.
caught() { # caught WORDS COMMAND...
    count=$((count + 1))
    words=$1
    shift
    if output=$("$@" 2>&1) || ! printf '%s\n' "$output" | grep -qF -- "$words"; then
        printf 'not caught: %s\n%s\n' "$words" "$output"
        exit 1
    fi
}

compiler=${CC:-cc}
put include/husk/many.h "$header"
number=0
while [ $number -lt 60 ]; do
    plant include/husk/many.h "HUSK_API int husk_name_$number(int a,"
    plant include/husk/many.h "                         int b);"
    plant many.c "int husk_name_$number(int a, int b) { return a + b; }"
    number=$((number + 1))
done
library() { # library LINE: the same, and one line more
    cp many.c library.c
    plant library.c "$1"
    "$compiler" -shared -fPIC -o library.so library.c
    "$compiler" -c -fPIC -o library.o library.c
    rm -f library.a
    ar rcs library.a library.o
}
library 'extern const int husk__number; __attribute__((visibility("hidden"))) const int husk__number = 1;'
"$here/check_exports.sh" library.so include
"$here/check_globals.sh" library.a
library 'int husk__inside(void) { return 0; }';   caught husk__inside "$here/check_exports.sh" library.so include
put include/husk/train/graph.h "$header" 'HUSK_API int husk_graph(void);'
library 'int husk_graph(void) { return 0; }';     caught husk_graph "$here/check_exports.sh" library.so include
library '';           caught husk_graph "$here/check_exports.sh" --train library.so include
"$here/check_exports.sh" library.so include
rm -r include/husk/train
put include/husk/dist.h "$header" 'HUSK_API int husk_dist(void);'
put include/husk/verify_own.h 'HUSK_VERIFY_API int husk_verify(void);'
library 'int husk_verify(void) { return 0; }';    caught husk_verify "$here/check_exports.sh" library.so include
library '';           caught husk_verify "$here/check_exports.sh" --verify library.so include
library 'int husk_dist(void) { return 0; }';      caught husk_dist "$here/check_exports.sh" library.so include
library '';           caught husk_dist "$here/check_exports.sh" --dist library.so include
"$here/check_exports.sh" library.so include
rm include/husk/dist.h include/husk/verify_own.h
library 'int helper(void) { return 0; }';         caught helper "$here/check_exports.sh" library.so include
library 'int husk_secret(void) { return 0; }';    caught husk_secret "$here/check_exports.sh" library.so include
plant include/husk/many.h 'HUSK_API const char *husk_absent(void);'
library '';                                       caught husk_absent "$here/check_exports.sh" library.so include
library 'static int counter; int *f(void) { return &counter; }'; caught counter "$here/check_globals.sh" library.a
library 'int setting = 3;';                       caught setting "$here/check_globals.sh" library.a
library 'const char *name = "x";';                caught name "$here/check_globals.sh" library.a
library '_Thread_local int last;';                caught last "$here/check_globals.sh" library.a
library '__attribute__((visibility("hidden"))) int husk__count;'
caught husk__count "$here/check_globals.sh" library.a
library 'static const char *const names[] = {"x"}; const char *const *g(void) { return names; }'
"$here/check_globals.sh" library.a

# The record of the ABI, against a small library and one change at a time.
abi() { # abi EXPRESSION: the header and the library with sed's EXPRESSION done to both
    put include/husk/husk.h '#pragma once' '#include <stdint.h>' \
        '#define HUSK_API __attribute__((visibility("default")))' '#define HUSK_LIMIT 8' \
        'typedef enum husk_kind { HUSK_KIND_A = 0, HUSK_KIND_B = 1 } husk_kind;' \
        'typedef struct husk_params {' '    uint32_t size;' '    float low, high;' '    husk_kind kind;' \
        '    int64_t pad[3];' '} husk_params;' 'typedef struct husk_queue husk_queue;' \
        'typedef void (*husk_callback)(void *user);' \
        'HUSK_API int husk_first(husk_queue *queue, const husk_params *params);' \
        'HUSK_API int husk_second(husk_queue *queue, husk_callback callback,' '    float scale);'
    put abi.c '#include <husk/husk.h>' \
        'int husk_first(husk_queue *queue, const husk_params *params) { return queue && params; }' \
        'int husk_second(husk_queue *queue, husk_callback callback,' \
        '    float scale) { return queue && callback && scale; }'
    sed "$1" include/husk/husk.h > changed.h
    mv changed.h include/husk/husk.h
    sed "$1" abi.c > changed.c
    "$compiler" -shared -fPIC -fvisibility=hidden -Wl,-soname,libabi.so.0 -Iinclude -o abi.so changed.c
}
rm -rf include/husk
abi ''
"$here/check_abi.sh" --update abi.so recorded.abi include > /dev/null
"$here/check_abi.sh" abi.so recorded.abi include > /dev/null
planted_abi() { # planted_abi WORDS EXPRESSION
    abi "$2"
    caught "$1" "$here/check_abi.sh" abi.so recorded.abi include
}
planted_abi '-  12 4 husk_kind kind'        's/^    husk_kind kind;/    int64_t before; husk_kind kind;/'
planted_abi '-  1 HUSK_KIND_B'              's/HUSK_KIND_B = 1/HUSK_KIND_C = 1, HUSK_KIND_B = 2/'
planted_abi '-constant HUSK_LIMIT 8'        's/HUSK_LIMIT 8/HUSK_LIMIT 9/'
planted_abi '-function int husk_second'     's/float scale/double scale/'
planted_abi '-function int husk_second'     's/husk_second/husk_third/'
planted_abi '-  16 24 int64_t pad'          's/int64_t pad\[3\]/int64_t pad[4]/'
planted_abi '-  4 4 float low'              's/float low, high/float high, low/'
planted_abi '-type void (*husk_callback)'   's/(void \*user)/(void *user, int level)/'
planted_abi 'there is more than before'     's/^typedef struct husk_queue/typedef struct husk_a { int x; } husk_a; &/'

# The records of libhusk_train, libhusk_dist and libhusk_verify, each of what its own headers declare.
for part in train dist verify; do
    put "$part.h" '#pragma once' '#include <husk/husk.h>' '#define HUSK_TEXT 16' \
        'typedef struct husk_step {' '    uint32_t size;' '    husk_kind kind;' '} husk_step;' \
        'HUSK_API int husk_step_begin(husk_queue *queue, const husk_step *step);' \
        'HUSK_API int husk_step_end(void);'
    put "$part.c" "#include <husk/$part.h>" \
        'int husk_step_begin(husk_queue *queue, const husk_step *step) { return queue && step; }' \
        'int husk_step_end(void) { return 0; }'
done
abi_of() { # abi_of PART EXPRESSION: as abi, for the header and the library of PART
    rm -f include/husk/train.h include/husk/dist.h include/husk/verify.h
    sed "$2" "$1.h" > "include/husk/$1.h"
    sed "$2" "$1.c" > changed.c
    "$compiler" -shared -fPIC -fvisibility=hidden -Wl,-soname,libpart.so.0 -Iinclude -o part.so changed.c
}
abi ''
for part in train dist verify; do
    abi_of "$part" ''
    "$here/check_abi.sh" --update "--$part" part.so part.abi include > /dev/null
    "$here/check_abi.sh" "--$part" part.so part.abi include > /dev/null
    "$here/check_abi.sh" abi.so recorded.abi include > /dev/null
    if grep -qE 'HUSK_LIMIT|husk_(kind [0-9]|params|callback|first)|struct husk_queue' part.abi; then
        echo "the record of $part has what libhusk's headers declare"
        exit 1
    fi
    planted_of() { # planted_of WORDS EXPRESSION
        abi_of "$part" "$2"
        caught "$1" "$here/check_abi.sh" "--$part" part.so part.abi include
    }
    planted_of '-  4 4 husk_kind kind'          's/^    husk_kind kind;/    uint32_t before; husk_kind kind;/'
    planted_of '-function int husk_step_end'    '/husk_step_end/d'
    planted_of '-constant HUSK_TEXT 16'         's/HUSK_TEXT 16/HUSK_TEXT 32/'
done

# What answers a status is swept, or there is a reason.
swept() { # swept FUNCTION: a record, a sweep and a list of exceptions, and one more of the record's functions
    rm -rf tests bench
    put tests/structure/husk.abi 'function husk_status husk_a(husk_queue *queue)' 'function void husk_b(int number)' \
        'function husk_status husk_c(int number)' 'function husk_status husk_gemm(husk_queue *queue)' "$1"
    put tests/structure/husk_train.abi 'function husk_status husk_d(husk_graph *graph)'
    put tests/structure/not_swept.txt '# comment' 'husk_c: arithmetic'
    put tests/runtime/test_sweep.c '#include "support/faults/swept.h"' 'SWEPT(husk_a, queue);'
    put tests/train/swept_graph.c '#include "train/swept_graph.h"' 'SWEPT(husk_d, graph);'
    put tests/runtime/test_other.c 'SWEPT(husk_ee, 1);' '"husk_e:"' 'static void before(void) { husk_e(1); }'
    mkdir -p tests/select tests/bench tests/machine
    put bench/cases/gemm/gemm.c 'husk_gemm(queue);'
}
swept ''
"$here/check_swept.sh" . > /dev/null
swept 'function husk_status husk_e(int number)'
caught 'husk_e: no sweep of faults calls it' "$here/check_swept.sh" .
swept ''
put tests/structure/not_swept.txt 'husk_c: arithmetic' 'husk_a: arithmetic'
caught 'husk_a: not_swept.txt has it, and a sweep calls it' "$here/check_swept.sh" .
put tests/structure/not_swept.txt 'husk_c: arithmetic' 'husk_f: arithmetic'
caught 'husk_f: not_swept.txt has it, and the ABI has not' "$here/check_swept.sh" .
put tests/structure/not_swept.txt 'husk_c:'
caught 'husk_c: no sweep of faults calls it' "$here/check_swept.sh" .

# Numbers without a name in what predicts a cost.
build
named='static const double COPY = 5.5; // cycles'
put src/ops/conv/cost.c "$source" "$named" 'static double cost(double n)' '{' '    return 2.0 * n * COPY; // 7 each' \
    '}' 'static int shape(void)' '{' '    return 17;' '}'
"$here/check_literals.sh" "$house" > /dev/null || { echo "a number without a name where there is none"; exit 1; }
put src/ops/conv/cost.c "$source" 'static double cost(double n)' '{' '    return 5.5 * n;' '}'
caught 'cost() has a bare 5.5' "$here/check_literals.sh" "$house"
put src/ops/conv/cost.c "$source" 'double item_cycles(int64_t n)' '{' '    return (double)n + 300;' '}'
caught 'item_cycles() has a bare 300' "$here/check_literals.sh" "$house"
build

# Circles: of includes, of symbols, and of one of each.
round() { # round WORDS: check_circles.sh fails and says them
    count=$((count + 1))
    if output=$("$here/check_circles.sh" "$house" "$house/build"); then
        echo "not caught: $1"
        exit 1
    fi
    if ! printf '%s\n' "$output" | grep -qF -- "$1"; then
        printf 'caught, but not as "%s":\n%s\n' "$1" "$output"
        exit 1
    fi
}
three() { # three files of a folder, each of which has what it says
    build
    mkdir -p build/src/CMakeFiles/a.dir/base
    put src/base/one.c "$source" '#include "base/one.h"' "$1"
    put src/base/two.c "$source" '#include "base/two.h"' "$2"
    put src/base/three.c "$source" '#include "base/three.h"' "$3"
    for name in one two three; do
        put "src/base/$name.h" "$header"
        "${CC:-cc}" -c -Isrc -o "build/src/CMakeFiles/a.dir/base/$name.c.o" "src/base/$name.c"
    done
}
three 'int one(void); int one(void) { return 1; }' 'int one(void); int two(void); int two(void) { return one(); }' \
    'int two(void); int three(void); int three(void) { return two(); }'
"$here/check_circles.sh" "$house" "$house/build" > /dev/null || { echo "a circle where there is none"; exit 1; }
put src/base/one.h "$header" '#include "base/two.h"'
round 'src/base/two -> src/base/one: one'
three 'int three(void); int one(void); int one(void) { return three(); }' \
    'int one(void); int two(void); int two(void) { return one(); }' \
    'int two(void); int three(void); int three(void) { return two(); }'
round 'src/base/one -> src/base/three: three'
three 'int one(void); int one(void) { return 1; }' 'int two;' 'int three;'
round 'use no symbol of each other'
build
mkdir build
put src/select/op.h "$header" '#include "select/plan.h"'
put src/select/plan.c "$source" '#include "select/op.h"' '#include "select/plan.h"'
put src/select/plan.h "$header"
round 'src/select/plan -> src/select/op: select/op.h'
build

echo "$count planted breaches, all caught"
