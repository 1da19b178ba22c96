# SPDX-License-Identifier: MIT
# cmake -DROOT=cl -DFILES="a.cl;lib/b.clh" -DOUTPUT=kernels.c -P EmbedKernels.cmake
# Writes the kernel files into one C file as bytes: no escaping, no limit on a literal's length.
# -DTUNING=1: tuning databases instead.

set(arrays "")
set(rows "")
set(number 0)
foreach(name IN LISTS FILES)
    file(READ "${ROOT}/${name}" bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char source_${number}[] = {\n${bytes}\n0x00};\n")
    string(APPEND rows "    {\"${name}\", (const char *)source_${number}, sizeof source_${number} - 1},\n")
    math(EXPR number "${number} + 1")
endforeach()
if(TUNING)
    set(text "// SPDX-License-Identifier: MIT\n// The databases of tuning/. Made by CMake.\n")
    string(APPEND text "#include \"select/tuning_file.h\"\n\n${arrays}\n")
    string(APPEND text "const husk__tuning_default husk__tuning_defaults[] = {\n${rows}    {0, 0, 0},\n};\n")
    file(WRITE "${OUTPUT}" "${text}")
    return()
endif()
set(text "// SPDX-License-Identifier: MIT\n// The kernel files of cl/. Made by CMake.\n")
string(APPEND text "#include \"runtime/kernel_source.h\"\n\n${arrays}\n")
string(APPEND text "const husk__kernel_file husk__kernel_files[] = {\n${rows}};\n")
string(APPEND text "const size_t husk__kernel_file_count = ${number};\n")
file(WRITE "${OUTPUT}" "${text}")
