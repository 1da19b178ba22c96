# SPDX-License-Identifier: MIT
# compare.awk -v targets=LIST kept made: what differs between two tables, a line each, for these targets; more spills or a
# larger stack frame than before begin with FAILED.
BEGIN {
    FS = "\t"
    count = split(targets, list, " ")
    for (i = 1; i <= count; ++i)
        is_wanted[list[i]] = 1
}
/^#/ { next }
$1 == "file" { for (i = 4; i <= NF; ++i) name[i] = $i; next }
{ concerns = 0; for (i = 4; i <= NF; ++i) concerns = concerns || (name[i] in is_wanted && $i != "-") }
!concerns { next }
{ key = $1 "\t" $2 "\t" $3; text = $1 " " $2 " " $3 }
FNR == NR {
    had[key] = text
    for (i = 4; i <= NF; ++i)
        old[key, name[i]] = $i
    next
}
{ has[key] = 1 }
!(key in had) { print "new " text; next }
{
    for (i = 4; i <= NF; ++i) {
        before = old[key, name[i]]
        if (!(name[i] in is_wanted) || $i == before)
            continue
        split(before, was, "/")
        grown = split($i, is, "/") == 4 && before ~ /\// && (is[2] + 0 > was[2] + 0 || is[3] + 0 > was[3] + 0)
        print (grown ? "FAILED grown " : "changed ") name[i] ": " text ": " before " -> " $i
    }
}
END {
    for (key in had)
        if (!(key in has))
            print "gone " had[key]
}
