# SPDX-License-Identifier: MIT
# husk_add_op(FAMILY NAME [GRADIENT...]): the one line that registers an operator.
#
# A family is a folder of operators that share code, and has the same name on every floor. A file there is called as
# the operator is, without the family's name: conv's gradient conv_backward_data is src/ops/conv/backward_data.c.
# Where the names are the same, the name stays: src/ops/conv/conv.c. With STEM for a name so shortened, an operator is
#     include/husk/ops/NAME.h      src/ops/FAMILY/STEM.c, with husk__op_NAME      src/ref/FAMILY/STEM.c
#     cl/FAMILY/STEM_*.cl          tests/ops/FAMILY/test_NAME.c                   bench/cases/FAMILY/STEM.c
# Its gradients, NAME_backward, NAME_backward_data and so on, are operators of the same header, with variants and a name
# of their own. A gradient that is forward's own loops the other way round may do without files of its own: then its
# row, its kernels and its tests stand in forward's. All files of a family are compiled, embedded, tested and benched.

set(HUSK_FAMILIES "")
set(HUSK_OPS "")
set(HUSK_OP_ROWS "") # operators and gradients: every row of the library's table
set(HUSK_OP_PREFIXES "") # what the names of each row's kernel files begin with: FAMILY/STEM, or FAMILY/
set(HUSK_OP_SOURCES "")
set(HUSK_OP_KERNELS "")
set(HUSK_OP_CASES "") # FAMILY/STEM of each operator, in the order of HUSK_OPS

function(husk_op_stem family name result)
    string(REGEX REPLACE "^${family}_" "" stem "${name}")
    set(${result} "${stem}" PARENT_SCOPE)
endfunction()

macro(husk_add_op family name)
    foreach(husk_row ${name} ${ARGN})
        husk_op_stem(${family} ${husk_row} husk_stem)
        if(husk_row STREQUAL "${name}")
            set(husk_own_stem "${husk_stem}")
        endif()
        if(NOT husk_row STREQUAL "${name}" AND NOT husk_row MATCHES "^${name}_backward")
            message(FATAL_ERROR "husk_add_op(${family} ${name} ${husk_row}): a gradient is called ${name}_backward...")
        endif()
        if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/ops/${family}/${husk_stem}.c")
            set(husk_missing "${husk_stem}")
            set(husk_stem "${husk_own_stem}")
            set(husk_text "")
            if(EXISTS "${PROJECT_SOURCE_DIR}/src/ops/${family}/${husk_stem}.c")
                file(READ "${PROJECT_SOURCE_DIR}/src/ops/${family}/${husk_stem}.c" husk_text)
            endif()
            if(NOT husk_text MATCHES "husk__op_${husk_row} = ")
                message(FATAL_ERROR "husk_add_op(${family} ${name}): src/ops/${family}/${husk_missing}.c is missing")
            endif()
        endif()
        list(APPEND HUSK_OP_ROWS ${husk_row})
        if("${family}/${husk_stem}" STREQUAL "${family}/${family}")
            set(husk_stem "")
        endif()
        list(APPEND HUSK_OP_PREFIXES "${family}/${husk_stem}")
    endforeach()
    list(APPEND HUSK_OPS ${name})
    husk_op_stem(${family} ${name} husk_stem)
    list(APPEND HUSK_OP_CASES ${family}/${husk_stem})
    if(NOT "${family}" IN_LIST HUSK_FAMILIES)
        list(APPEND HUSK_FAMILIES ${family})
        file(GLOB husk_op_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/ops/${family}/*.c")
        list(APPEND HUSK_OP_SOURCES ${husk_op_files})
        file(GLOB husk_op_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cl/${family}/*.cl")
        list(APPEND HUSK_OP_KERNELS ${husk_op_files})
    endif()
endmacro()

# The umbrella header husk/ops.h and the table that the library walks to find operators by name.
function(husk_generate_op_tables include_dir source_dir)
    set(header "/* SPDX-License-Identifier: MIT */\n")
    string(APPEND header "/** @file\n * Includes the headers of all operators. Made by CMake.\n */\n")
    string(APPEND header "#ifndef HUSK_OPS_H\n#define HUSK_OPS_H\n\n")
    set(table "// SPDX-License-Identifier: MIT\n// Every operator, in the order of registration. Made by CMake.\n")
    string(APPEND table "#include \"select/op.h\"\n\n")
    set(rows "")
    foreach(op IN LISTS HUSK_OPS)
        string(APPEND header "#include <husk/ops/${op}.h>\n")
    endforeach()
    foreach(op IN LISTS HUSK_OP_ROWS)
        string(APPEND table "extern const husk__op husk__op_${op};\n")
        string(APPEND rows "    &husk__op_${op},\n")
    endforeach()
    string(APPEND header "\n#endif\n")
    string(APPEND table "\nconst husk__op *const husk__ops[] = {\n${rows}    0,\n};\n")
    string(REPLACE ";" "\",\n    \"" prefixes "${HUSK_OP_PREFIXES}")
    string(APPEND table "\nconst char *const husk__op_kernels[] = {\n    \"${prefixes}\",\n};\n")
    file(CONFIGURE OUTPUT "${include_dir}/husk/ops.h" CONTENT "${header}" @ONLY)
    file(CONFIGURE OUTPUT "${source_dir}/ops_table.c" CONTENT "${table}" @ONLY)
endfunction()
