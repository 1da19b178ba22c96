# SPDX-License-Identifier: MIT
# cmake -DROOT=bench -DFILES="suites/a.txt;kernels/b.cl" -DOUTPUT=embedded.c -P embed.cmake
# Writes the files into one C file as bytes.

set(arrays "")
set(rows "")
set(number 0)
foreach(name IN LISTS FILES)
    file(READ "${ROOT}/${name}" bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}\n0x00};\n")
    string(APPEND rows "    {\"${name}\", (const char *)file_${number}},\n")
    math(EXPR number "${number} + 1")
endforeach()
set(text "// SPDX-License-Identifier: MIT\n")
string(APPEND text "// Files of folders of bench/ that hold no C: suites, kernels, schema ... Made by CMake.\n")
string(APPEND text "#include \"common/embedded.h\"\n\n${arrays}\n")
string(APPEND text "const bench_embedded_file bench_embedded_files[] = {\n${rows}    {0, 0},\n};\n")
file(WRITE "${OUTPUT}" "${text}")
