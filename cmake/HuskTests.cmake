# SPDX-License-Identifier: MIT
# husk_add_test_file(FILE): one tests/FOLDER/test_NAME.c, or tests/FOLDER/FAMILY/test_NAME.c, becomes one executable
# and, for each tier it is in, one CTest test, FOLDER/NAME. NAME_*.c beside it, if there are any, are compiled into it.
#
# What CTest has to know is said in the file itself, in a comment line among the first 20, every part optional:
#     // ctest: tiers=default,long timeout=120 processors=2
#
#   tiers       which tiers run it; default: default. The program reads HUSK_TEST_TIER to know which one it is in.
#               (The tiers asan and tsan are the default tier in another build folder; with "asan" a test is in the
#               default tier of AddressSanitizer's build alone.)
#   timeout     seconds, in the default tier, on two quiet cores; all others get ten times that, valgrind sixty times,
#               sanitizers six times, and a slower machine as much more as it is slower (tests/limits)
#   processors  how many cores CTest should count it for
#   with        WITH.c beside it is compiled into it, too, for each name of a list: what several tests share

set(HUSK_TEST_POCL_CACHE "${PROJECT_BINARY_DIR}/cache/pocl")
set(HUSK_TEST_USER_CACHE "${PROJECT_BINARY_DIR}/cache/user")
foreach(folder "${HUSK_TEST_POCL_CACHE}" "${HUSK_TEST_USER_CACHE}")
    file(MAKE_DIRECTORY "${folder}" "${folder}-valgrind")
endforeach()

# Every test sees the same environment, whatever the user's: its own caches, no tuning,
# rates that are not measured, and as many threads as two cores
# have, so that tests beside each other do not fight for the machine. (PoCL has renamed the variable twice; all versions
# know one of these two, and go by it.) PoCL steps over whole numbers divided by zero, in the host's code as in kernels,
# unless it is told not to.
set(HUSK_TEST_ENVIRONMENT
    CK_FORK=no CK_DEFAULT_TIMEOUT=120 CK_VERBOSITY=normal HUSK_TUNING=0 HUSK_MACHINE=typical
    "XDG_CACHE_HOME=${HUSK_TEST_USER_CACHE}" "XDG_DATA_HOME=${PROJECT_BINARY_DIR}/cache/data"
    "POCL_CACHE_DIR=${HUSK_TEST_POCL_CACHE}"
    POCL_SIGFPE_HANDLER=0 POCL_MAX_PTHREAD_COUNT=2 POCL_CPU_MAX_CU_COUNT=2 OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2)

# What the sanitizers are to overlook is in tests/support/*.supp, each line with its reason.
set(support "${PROJECT_SOURCE_DIR}/tests/support")
if(HUSK_SANITIZE MATCHES "address")
    list(APPEND HUSK_TEST_ENVIRONMENT "LSAN_OPTIONS=suppressions=${support}/lsan.supp:print_suppressions=0")
    # LLVM, with which PoCL compiles, gives the first thread that compiles a signal stack of its own. Where that is not
    # the main thread, ASan takes it for one that itself has given, and the process ends as it is unmapped.
    list(APPEND HUSK_TEST_ENVIRONMENT
        "ASAN_OPTIONS=abort_on_error=0:detect_leaks=1:strict_string_checks=1:use_sigaltstack=0")
endif()
if(HUSK_SANITIZE MATCHES "undefined")
    list(APPEND HUSK_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
endif()
if(HUSK_SANITIZE MATCHES "thread")
    list(APPEND HUSK_TEST_ENVIRONMENT "TSAN_OPTIONS=suppressions=${support}/tsan.supp:ignore_noninstrumented_modules=1")
endif()

# Every program that a test of the default tier has built is counted: tests/tools/count_builds.c, preloaded. Sanitizers
# want to be the first library, so they go without.
set(HUSK_TEST_BUILDS "${PROJECT_BINARY_DIR}/builds.txt")
set(HUSK_TEST_COUNTING "")
if(NOT HUSK_SANITIZE AND UNIX AND NOT APPLE)
    set(HUSK_TEST_COUNTING "LD_PRELOAD=$<TARGET_FILE:count_builds>;HUSK_TEST_BUILDS=${HUSK_TEST_BUILDS}")
endif()

function(husk_test_option line name default result)
    if(line MATCHES "(^| )${name}=([^ ]+)")
        set(${result} "${CMAKE_MATCH_2}" PARENT_SCOPE)
    else()
        set(${result} "${default}" PARENT_SCOPE)
    endif()
endfunction()

# A limit that grows on a slower machine (tests/limits).
function(husk_limit_test name timeout)
    set_property(GLOBAL APPEND PROPERTY HUSK_TEST_LIMITS "${name}:${timeout}")
endfunction()

# husk_register_test(NAME TIERS TIMEOUT PROCESSORS FOLDER COMMAND...): the CTest entries of one program.
function(husk_register_test name tiers timeout processors folder)
    if(HUSK_SANITIZE)
        math(EXPR timeout "${timeout} * 6")
    endif()
    if("$ENV{HUSK_PLATFORM}" STREQUAL "rusticl") # compiles a GPU's kernels in seconds each, and runs them on a CPU
        math(EXPR timeout "${timeout} * 6")
    endif()
    foreach(tier IN LISTS tiers)
        set(test_name "${name}")
        set(test_timeout "${timeout}")
        set(test_processors "${processors}")
        if(tier STREQUAL "dtypes") # long ones at the end would leave cores idle
            set(test_processors 1)
        endif()
        if(NOT tier STREQUAL "default")
            set(test_name "${tier}/${name}")
            math(EXPR test_timeout "${timeout} * 10")
        endif()
        if(tier STREQUAL "valgrind")
            math(EXPR test_timeout "${timeout} * 60")
        endif()
        # Many processes want the same programs. They share what a user's would: PoCL's cache, or, with drivers that
        # have none, Husk's. Both at once cost twice the compiling: for a binary PoCL compiles every kernel of the
        # program once more, for work-groups of any size.
        set(environment ${HUSK_TEST_ENVIRONMENT} "HUSK_TEST_TIER=${tier}")
        set(command ${ARGN})
        if(HUSK_SANITIZE MATCHES "address" AND TARGET "${ARGV5}")
            list(POP_FRONT command)
            list(PREPEND command "${PROJECT_SOURCE_DIR}/tests/tools/check_leaks.sh" "$<TARGET_FILE:${ARGV5}>")
        endif()
        if(tier STREQUAL "valgrind")
            # Caches of its own: the device is another one there. Husk's, too, whose reader and writer memcheck sees
            # so in every program. A script calls check_valgrind.sh itself.
            if(TARGET "${ARGV5}")
                set(command "${PROJECT_SOURCE_DIR}/tests/tools/check_valgrind.sh" "$<TARGET_FILE:${ARGV5}>")
            endif()
            list(APPEND environment "POCL_CACHE_DIR=${HUSK_TEST_POCL_CACHE}-valgrind"
                "XDG_CACHE_HOME=${HUSK_TEST_USER_CACHE}-valgrind" HUSK_CACHE=1)
            # Operators: no buffer is followed by the rest of a block, and none counts as written because of an earlier
            # one.
            if(folder STREQUAL "ops")
                list(APPEND environment HUSK_LIMITS=pooled_memory=0)
            endif()
        endif()
        # A folder with a tier's name is no label: ./run test --tier train would take its tests of every tier.
        set(labels "${tier}")
        if(NOT folder MATCHES "^(train|fuzz|offline|assembly|mutation|kernels)$")
            list(APPEND labels "${folder}")
        endif()
        if(tier STREQUAL "default" AND folder MATCHES "^(runtime|machine|ops|select|train)$")
            list(APPEND labels platform)
        endif()
        add_test(NAME "${test_name}" COMMAND ${command})
        set_tests_properties("${test_name}" PROPERTIES
            LABELS "${labels}" TIMEOUT "${test_timeout}" PROCESSORS "${test_processors}"
            ENVIRONMENT "${environment}")
        husk_limit_test("${test_name}" "${test_timeout}")
        if(tier STREQUAL "default" AND HUSK_TEST_COUNTING)
            set_tests_properties("${test_name}" PROPERTIES FIXTURES_REQUIRED builds
                ENVIRONMENT "${environment};${HUSK_TEST_COUNTING}")
        endif()
    endforeach()
endfunction()

# A test again where Intel's runtime for CPUs is the only platform: another compiler, sub-groups, f16's arithmetic. The
# tier "intel"; ./run puts the runtime into HUSK_INTEL_RUNTIME. It takes seconds a program, hence the timeout.
set(HUSK_INTEL_RUNTIME "${PROJECT_SOURCE_DIR}/build/intel-runtime")
function(husk_register_intel name timeout processors folder target)
    math(EXPR timeout "${timeout} * 20")
    set(environment ${HUSK_TEST_ENVIRONMENT} HUSK_TEST_TIER=default "OCL_ICD_VENDORS=${HUSK_INTEL_RUNTIME}/vendors"
        "XDG_CACHE_HOME=${HUSK_TEST_USER_CACHE}-intel")
    add_test(NAME "intel/${name}" COMMAND ${target})
    set_tests_properties("intel/${name}" PROPERTIES LABELS "intel;${folder}" TIMEOUT "${timeout}"
        PROCESSORS "${processors}" ENVIRONMENT "${environment}")
    husk_limit_test("intel/${name}" "${timeout}")
endfunction()

# An operator's test again on devices that are smaller than this machine's: the tier "devices". What takes part in the
# tier "dtypes" does so with shorter vectors, too: AVX-512 alone has masks for parts of vectors of 16 bits.
function(husk_register_small_devices name tiers timeout target)
    set(limits "HUSK_LIMITS=local_memory=16K,work_group=64")
    set(pocl "POCL_MAX_WORK_GROUP_SIZE=64;POCL_MEMORY_LIMIT=1")
    set(narrow "HUSK_LIMITS=vector_width=4")
    set(middle "HUSK_LIMITS=vector_width=8")
    set(index_64 "HUSK_LIMITS=index=16") # every kernel that has it in its 64-bit form
    set(basic "POCL_DEVICES=basic")      # PoCL's other device: one thread, the caller's (cpu-minimal, from 6.0 on)
    set(narrow_dtypes "${narrow};HUSK_TEST_TIER=dtypes")
    set(middle_dtypes "${middle};HUSK_TEST_TIER=dtypes")
    set(kinds limits pocl narrow middle index_64 basic)
    if("dtypes" IN_LIST tiers)
        list(APPEND kinds narrow_dtypes middle_dtypes)
    endif()
    math(EXPR timeout "${timeout} * 6")
    foreach(kind IN LISTS kinds)
        add_test(NAME "devices/${kind}/${name}" COMMAND ${target})
        set_tests_properties("devices/${kind}/${name}" PROPERTIES LABELS "devices;ops" TIMEOUT "${timeout}"
            ENVIRONMENT "${HUSK_TEST_ENVIRONMENT};${${kind}}")
        husk_limit_test("devices/${kind}/${name}" "${timeout}")
    endforeach()
endfunction()

function(husk_add_test_file file)
    get_filename_component(stem "${file}" NAME_WE)
    get_filename_component(directory "${file}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${directory}")
    string(REGEX REPLACE "/.*" "" folder "${folder}")
    string(REGEX REPLACE "^test_" "" name "${stem}")
    set(target "test_${folder}_${name}")

    file(STRINGS "${file}" lines LIMIT_COUNT 20 REGEX "^// ctest:")
    set(line "")
    if(lines MATCHES "^// ctest: *(.*)$")
        set(line "${CMAKE_MATCH_1}")
    endif()
    husk_test_option("${line}" tiers default tiers)
    husk_test_option("${line}" timeout 120 timeout)
    husk_test_option("${line}" processors 1 processors)
    string(REPLACE "," ";" tiers "${tiers}")
    if("asan" IN_LIST tiers)
        list(REMOVE_ITEM tiers asan)
        if(HUSK_SANITIZE MATCHES "address")
            list(APPEND tiers default)
        endif()
    endif()

    husk_test_option("${line}" with "" with)

    file(GLOB more CONFIGURE_DEPENDS "${directory}/${name}_*.c")
    string(REPLACE "," ";" with "${with}")
    foreach(shared IN LISTS with)
        list(APPEND more "${directory}/${shared}.c")
    endforeach()
    add_executable(${target} "${file}" ${more})
    husk_compile_options(${target})
    if(folder STREQUAL "verify") # it is to do without the rest of Husk, as its users' programs do
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
        target_link_libraries(${target} PRIVATE husk_verify PkgConfig::CHECK m)
    else()
        target_link_libraries(${target} PRIVATE husk_test_support)
    endif()
    if(folder STREQUAL "bench" AND TARGET husk_bench)
        target_link_libraries(${target} PRIVATE husk_bench)
    endif()
    husk_register_test("${folder}/${name}" "${tiers}" "${timeout}" "${processors}" "${folder}" ${target})
    if(folder STREQUAL "ops")
        husk_register_small_devices("${folder}/${name}" "${tiers}" "${timeout}" ${target})
    endif()
    if("default" IN_LIST tiers AND folder MATCHES "^(ops|runtime|select)$")
        husk_register_intel("${folder}/${name}" "${timeout}" "${processors}" "${folder}" ${target})
    endif()
endfunction()
