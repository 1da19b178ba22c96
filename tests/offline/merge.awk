# SPDX-License-Identifier: MIT
# merge.awk -v targets=LIST kept made: the rows of both tables, in made's columns: of these targets made's cells, of the
# others kept's. A row without a cell is left out: it is of a program that is gone.
BEGIN {
    FS = OFS = "\t"
    count = split(targets, list, " ")
    for (i = 1; i <= count; ++i)
        is_wanted[list[i]] = 1
}
/^#/ { next }
$1 == "file" { for (i = 4; i <= NF; ++i) name[i] = $i; columns = NF; next }
{
    key = $1 OFS $2 OFS $3
    keys[key] = 1
    for (i = 4; i <= NF; ++i)
        if ((name[i] in is_wanted) == (FILENAME == ARGV[ARGC - 1]) && $i != "-") {
            cell[key, name[i]] = $i
            lives[key] = 1
        }
}
END {
    for (key in keys) {
        if (!(key in lives))
            continue
        line = key
        for (i = 4; i <= columns; ++i)
            line = line OFS ((key, name[i]) in cell ? cell[key, name[i]] : "-")
        print line
    }
}
