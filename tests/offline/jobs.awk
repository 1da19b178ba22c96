# SPDX-License-Identifier: MIT
# jobs.awk hashes have vendors programs pairs: a line for each program and vendor of which results are not there: what
# says most first, then the program, its hash, and the targets with commas between.
BEGIN { FS = "\t" }
FILENAME ~ /hashes$/ { hash[$2] = $1; next }
FILENAME ~ /have$/ { have[$1, $2] = 1; next }
FILENAME ~ /vendors$/ { vendor[$1] = $2; next }
FILENAME ~ /programs$/ { rank[$1] = ($2 ~ /INDEX_64/ ? 2 : 0) + ($2 ~ /WG=64/ ? 1 : 0); next }
{
    if (($2, hash[$1]) in have || (hash[$1], $2) in asked)
        next # the same text may be there twice
    asked[hash[$1], $2] = 1
    key = rank[$1] " " vendor[$2] " " $1 " " hash[$1]
    list[key] = list[key] (key in list && list[key] != "" ? "," : "") $2
}
END { for (key in list) print key " " list[key] }
