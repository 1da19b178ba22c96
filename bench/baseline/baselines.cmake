# SPDX-License-Identifier: MIT
# The runners beside husk. Each is there when its library is; `clbench --version` names those that are.
#
# oneDNN and OpenBLAS are opened by their workers at run time and not linked (baseline/onednn_library.h): the
# build needs their headers, and notes where it found the libraries.

# Where a library really is: the file that a development link points to.
function(husk_baseline_file library result)
    get_filename_component(file "${library}" REALPATH)
    set(${result} "${file}" PARENT_SCOPE)
endfunction()

# An operator's part in a runner is baseline/RUNNER_OP.c, found by its name like everything else an
# operator has; baseline_ops.h lists those that are there, as BENCH_REF_OP_LIST and BENCH_ONEDNN_OP_LIST.
function(husk_baseline_ops runner result)
    set(list "")
    set(sources "")
    foreach(op IN LISTS HUSK_OPS)
        set(file "${CMAKE_CURRENT_SOURCE_DIR}/baseline/${runner}_${op}.c")
        if(EXISTS "${file}")
            string(TOUPPER "${op}" upper)
            string(APPEND list " X(${op}, ${upper})")
            list(APPEND sources "${file}")
        endif()
    endforeach()
    string(TOUPPER "${runner}" upper)
    set(${result}_line "#define BENCH_${upper}_OP_LIST(X)${list}\n" PARENT_SCOPE)
    set(${result}_sources ${sources} PARENT_SCOPE)
endfunction()

husk_baseline_ops(ref ref)
husk_baseline_ops(onednn onednn)
set(header "/* SPDX-License-Identifier: MIT */\n/* baseline_ops.h: the baselines' operators. Made by CMake. */\n")
string(APPEND header "#ifndef BENCH_BASELINE_OPS_H\n#define BENCH_BASELINE_OPS_H\n\n")
string(APPEND header "${ref_line}${onednn_line}\n#endif\n")
file(CONFIGURE OUTPUT "${generated_dir}/baseline_ops.h" CONTENT "${header}" @ONLY)

target_sources(husk_bench PRIVATE baseline/ref.c baseline/ref_op.c ${ref_sources})
target_compile_definitions(husk_bench PUBLIC HUSK_WITH_REF=1)
set(found "ref")
set(missing "")

find_path(HUSK_ONEDNN_INCLUDE oneapi/dnnl/dnnl.h)
find_library(HUSK_ONEDNN_LIBRARY dnnl)
set(onednn_version 0)
if(HUSK_ONEDNN_INCLUDE AND EXISTS "${HUSK_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h")
    file(STRINGS "${HUSK_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h" lines REGEX "VERSION_(MAJOR|MINOR) +[0-9]+")
    string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" onednn_version "${lines}")
endif()
if(HUSK_ONEDNN_LIBRARY AND onednn_version VERSION_GREATER_EQUAL 2.5)
    husk_baseline_file("${HUSK_ONEDNN_LIBRARY}" file)
    target_sources(husk_bench PRIVATE baseline/onednn.c baseline/onednn_library.c baseline/onednn_program.c
        baseline/onednn_conv_shared.c baseline/onednn_conv_backward.c baseline/onednn_gemm_shared.c
        baseline/onednn_gemm_backward.c baseline/onednn_rnn_backward.c baseline/onednn_quantized.c
        ${onednn_sources})
    target_compile_definitions(husk_bench PUBLIC HUSK_WITH_ONEDNN=1)
    target_compile_definitions(husk_bench PRIVATE "HUSK_ONEDNN_LIBRARY=\"${file}\"")
    target_include_directories(husk_bench SYSTEM PUBLIC "${HUSK_ONEDNN_INCLUDE}")
    list(APPEND found "onednn")
else()
    list(APPEND missing "onednn, 2.5 or newer (Debian and Ubuntu: libdnnl-dev)")
endif()

# Debian keeps OpenBLAS's own cblas.h apart from the one that alternatives choose.
find_path(HUSK_OPENBLAS_INCLUDE openblas_config.h
    PATH_SUFFIXES openblas-pthread openblas-openmp openblas-serial openblas
    HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} /opt/homebrew/opt/openblas/include)
find_library(HUSK_OPENBLAS_LIBRARY openblas HINTS /opt/homebrew/opt/openblas/lib)
if(HUSK_OPENBLAS_INCLUDE AND HUSK_OPENBLAS_LIBRARY)
    husk_baseline_file("${HUSK_OPENBLAS_LIBRARY}" file)
    target_sources(husk_bench PRIVATE baseline/blas.c)
    target_compile_definitions(husk_bench PUBLIC HUSK_WITH_BLAS=1)
    target_compile_definitions(husk_bench PRIVATE "HUSK_OPENBLAS_LIBRARY=\"${file}\"")
    target_include_directories(husk_bench SYSTEM PRIVATE "${HUSK_OPENBLAS_INCLUDE}")
    # Bias and activation in plain C are part of what it is timed for, as quick as a compiler makes them.
    set_source_files_properties(baseline/blas.c PROPERTIES COMPILE_OPTIONS "-O3")
    list(APPEND found "blas")
else()
    list(APPEND missing "blas (Debian and Ubuntu: libopenblas-dev)")
endif()

find_path(HUSK_CLBLAST_INCLUDE clblast_c.h)
find_library(HUSK_CLBLAST_LIBRARY clblast)
if(HUSK_CLBLAST_INCLUDE AND HUSK_CLBLAST_LIBRARY)
    target_sources(husk_bench PRIVATE baseline/clblast.c)
    target_compile_definitions(husk_bench PUBLIC HUSK_WITH_CLBLAST=1)
    target_include_directories(husk_bench SYSTEM PRIVATE "${HUSK_CLBLAST_INCLUDE}")
    target_link_libraries(husk_bench PRIVATE "${HUSK_CLBLAST_LIBRARY}")
    list(APPEND found "clblast")
else()
    list(APPEND missing "clblast (Debian and Ubuntu: libclblast-dev)")
endif()

list(JOIN found ", " found)
message(STATUS "Baselines: ${found}")
foreach(name IN LISTS missing)
    message(STATUS "Baseline not found: ${name}")
endforeach()
