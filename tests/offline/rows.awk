# SPDX-License-Identifier: MIT
# rows.awk -v targets=LIST cells: the table's rows, those of the GPU family: file, kernel, options, a cell a target.
BEGIN { FS = "\t"; count = split(targets, list, " ") }
$5 != "gpu" || $6 ~ /^FAILED/ { next }
{ key = $1 "\t" $2 "\t" $3; keys[key] = 1; cell[key, $4] = $6 }
END {
    for (key in keys) {
        line = key
        for (i = 1; i <= count; ++i)
            line = line "\t" ((key, list[i]) in cell ? cell[key, list[i]] : "-")
        print line
    }
}
