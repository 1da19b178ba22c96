# SPDX-License-Identifier: MIT
# Warnings, visibility and sanitizers, the same for every target: husk_compile_options(TARGET).

set(HUSK_WARNINGS -Wall -Wextra -Wshadow -Wvla -Wundef -Wpointer-arith -Wwrite-strings
    -Wstrict-prototypes -Wmissing-prototypes -Wformat=2)

if(HUSK_FUZZER)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
    check_c_source_compiles("int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
        int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return !data && size; }"
        HUSK_HAS_LIBFUZZER)
    unset(CMAKE_REQUIRED_FLAGS)
    if(NOT HUSK_HAS_LIBFUZZER)
        message(STATUS "This compiler has no libFuzzer: the targets run on mutations by chance")
        set(HUSK_FUZZER OFF)
    endif()
endif()

function(husk_compile_options target)
    target_compile_options(${target} PRIVATE ${HUSK_WARNINGS} $<$<BOOL:${HUSK_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
    if(HUSK_FUZZER) # the targets themselves are linked with -fsanitize=fuzzer
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(HUSK_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${HUSK_SANITIZE} -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${HUSK_SANITIZE})
    endif()
endfunction()
