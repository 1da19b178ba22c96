# SPDX-License-Identifier: MIT
# Warnings, visibility and sanitizers, the same for every target: husk_compile_options(TARGET).

set(HUSK_WARNINGS -Wall -Wextra -Wshadow -Wvla -Wundef -Wpointer-arith -Wwrite-strings
    -Wstrict-prototypes -Wmissing-prototypes -Wformat=2)

function(husk_compile_options target)
    target_compile_options(${target} PRIVATE ${HUSK_WARNINGS} $<$<BOOL:${HUSK_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
    if(HUSK_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${HUSK_SANITIZE} -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${HUSK_SANITIZE})
    endif()
endfunction()
