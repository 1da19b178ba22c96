# SPDX-License-Identifier: MIT
# husk_add_op(NAME [GRADIENT...]): the one line that registers an operator.
#
# Its gradients are operators of the same header, with variants and a name of their own: NAME_backward, or
# NAME_backward_data and so on, each in src/ops/GRADIENT.c with a row husk__op_GRADIENT, cl/GRADIENT_*.cl and
# tests/ops/test_GRADIENT.c.
# Its files are found by its name: include/husk/ops/NAME.h, src/ops/NAME.c and NAME_*.c, src/ref/NAME.c,
# cl/NAME_*.cl, tests/ops/test_NAME.c, bench/cases/NAME.c. They are compiled, embedded, tested and benched.

set(HUSK_OPS "")
set(HUSK_OP_ROWS "") # operators and gradients: every row of the library's table
set(HUSK_OP_SOURCES "")
set(HUSK_OP_REF_SOURCES "")
set(HUSK_OP_KERNELS "")

macro(husk_add_op name)
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/ops/${name}.c")
        message(FATAL_ERROR "husk_add_op(${name}): src/ops/${name}.c is missing")
    endif()
    list(APPEND HUSK_OPS ${name})
    list(APPEND HUSK_OP_ROWS ${name})
    foreach(husk_gradient ${ARGN})
        if(NOT husk_gradient MATCHES "^${name}_backward" OR
           NOT EXISTS "${PROJECT_SOURCE_DIR}/src/ops/${husk_gradient}.c")
            message(FATAL_ERROR "husk_add_op(${name} ${husk_gradient}): a gradient is called ${name}_backward..., and "
                                "is in src/ops/${husk_gradient}.c")
        endif()
        list(APPEND HUSK_OP_ROWS ${husk_gradient})
    endforeach()
    file(GLOB husk_op_files CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/src/ops/${name}.c" "${PROJECT_SOURCE_DIR}/src/ops/${name}_*.c")
    list(APPEND HUSK_OP_SOURCES ${husk_op_files})
    file(GLOB husk_op_files CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/src/ref/${name}.c" "${PROJECT_SOURCE_DIR}/src/ref/${name}_*.c")
    list(APPEND HUSK_OP_REF_SOURCES ${husk_op_files})
    file(GLOB husk_op_files CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/cl/${name}.cl" "${PROJECT_SOURCE_DIR}/cl/${name}_*.cl")
    list(APPEND HUSK_OP_KERNELS ${husk_op_files})
    list(REMOVE_DUPLICATES HUSK_OP_SOURCES)
    list(REMOVE_DUPLICATES HUSK_OP_REF_SOURCES)
    list(REMOVE_DUPLICATES HUSK_OP_KERNELS)
endmacro()

# The umbrella header husk/ops.h and the table that the library walks to find operators by name.
function(husk_generate_op_tables include_dir source_dir)
    set(header "/* SPDX-License-Identifier: MIT */\n/* husk/ops.h: every operator. Made by CMake. */\n")
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
    file(CONFIGURE OUTPUT "${include_dir}/husk/ops.h" CONTENT "${header}" @ONLY)
    file(CONFIGURE OUTPUT "${source_dir}/ops_table.c" CONTENT "${table}" @ONLY)
endfunction()
