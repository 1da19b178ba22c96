# SPDX-License-Identifier: MIT
# husk_params_calls(OUTPUT): a header with every call of include/husk/ops that takes a params struct, as
#     #define PARAMS_CALLS(X) X(pad, pad, queue, params, NULL, NULL) X(pool_output_shape, pool, params, ...) ...
# with the call's name, the struct's, and arguments: those that have a name in HUSK_PARAMS_CALLS, NULL for other
# pointers and 0 for numbers.

# Pairs: a regular expression of the parameter, and what is passed.
set(HUSK_PARAMS_CALLS "husk_queue \\*" queue "husk_context \\*" context "_params \\*params$" params
    "husk_error \\*" error "husk_plan \\*\\*" "&plan" "^int64_t .*shape" shape "husk_rnn_inputs \\*" "&inputs"
    "husk_rnn_outputs \\*" "&outputs" "husk_rnn_gradients \\*" "&gradients" "\\*" NULL "." 0)

function(husk_params_argument parameter result)
    set(rules ${HUSK_PARAMS_CALLS})
    while(rules)
        list(POP_FRONT rules expression argument)
        if(parameter MATCHES "${expression}")
            set(${result} "${argument}" PARENT_SCOPE)
            return()
        endif()
    endwhile()
endfunction()

function(husk_params_calls output)
    set(calls "")
    foreach(op IN LISTS HUSK_OPS)
        set(header "${PROJECT_SOURCE_DIR}/include/husk/ops/${op}.h")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
        file(READ "${header}" text)
        string(REGEX REPLACE "[][]" "*" text "${text}") # lists of CMake's know brackets
        string(REGEX MATCHALL "HUSK_API husk_status husk_[a-z0-9_]+\\([^;]*" found "${text}")
        foreach(call IN LISTS found)
            string(REGEX REPLACE "[ \n]+" " " call "${call}")
            if(NOT call MATCHES "^HUSK_API husk_status husk_([a-z0-9_]+)\\((.*)\\)$")
                continue()
            endif()
            set(name "${CMAKE_MATCH_1}")
            string(REPLACE "," ";" parameters "${CMAKE_MATCH_2}")
            if(NOT call MATCHES "husk_([a-z0-9_]+)_params \\*params")
                continue()
            endif()
            string(APPEND calls " \\\n    X(${name}, ${CMAKE_MATCH_1}")
            foreach(parameter IN LISTS parameters)
                string(STRIP "${parameter}" parameter)
                husk_params_argument("${parameter}" argument)
                string(APPEND calls ", ${argument}")
            endforeach()
            string(APPEND calls ")")
        endforeach()
    endforeach()
    set(text "/* SPDX-License-Identifier: MIT */\n/* Calls with a params struct. Made by CMake. */\n")
    file(CONFIGURE OUTPUT "${output}" CONTENT "${text}#define PARAMS_CALLS(X)${calls}\n" @ONLY)
endfunction()
