# SPDX-License-Identifier: MIT
# limits.awk -v whole=0|1 limits vendors cells: registers beyond the limit that stands beside the kernel, a line each that
# begins with FAILED. A limit is a comment in cl/:
#
#     // registers KERNEL [WORD...]: VENDOR NUMBER[, VENDOR NUMBER]
#
# It holds for the programs that have -DWORD for each of its words, unless a line above it does. NUMBER is a multiple of
# 8: registers are given out in eights. Intel's compiler gives each thread all of its registers, so it has no limits.
# whole=1, where cells are of all targets: limits that are more than eight too high, or that nothing needs, are said.
function fail(text) { print "FAILED " text }

# The first line of the kernel that holds for these options and has the vendor; 0 if there is none.
function line_of(kernel, vendor, options,    i, j, n, word) {
    for (i = 1; i <= lines; ++i) {
        if (name[i] != kernel || !((i, vendor) in limit))
            continue
        n = split(words[i], word, " ")
        for (j = 1; j <= n && index(" " options " ", " -D" word[j] " "); ++j)
            ;
        if (j > n)
            return i
    }
    return 0
}

FILENAME ~ /limits$/ {
    head = $0
    sub(/:.*/, "", head)
    tail = $0
    sub(/[^:]*: */, "", tail)
    ++lines
    text[lines] = $0
    name[lines] = $3
    sub(/:$/, "", name[lines])
    words[lines] = head
    sub(/^\/\/ registers [^ ]+ */, "", words[lines])
    count = split(tail, part, / *, */)
    for (i = 1; i <= count; ++i) {
        if (split(part[i], pair, " ") != 2 || pair[1] !~ /^(nvidia|amd)$/ || pair[2] !~ /^[0-9]+$/ || pair[2] % 8)
            fail("\"" $0 "\": after the colon come nvidia or amd, each with a multiple of 8")
        limit[lines, pair[1]] = pair[2] + 0
    }
    next
}
FILENAME ~ /vendors$/ { split($0, part, "\t"); vendor[part[1]] = part[2]; next }
{
    split($0, cell, "\t")
    of = vendor[cell[4]]
    if (cell[5] != "gpu" || split(cell[6], taken, "/") != 4 || (of != "nvidia" && of != "amd"))
        next
    what = cell[4] " " cell[2] " " cell[3] ": " taken[1] " registers"
    i = line_of(cell[2], of, cell[3])
    if (!i)
        fail(what ", and no limit for " of " beside the kernel")
    else {
        if (taken[1] + 0 > limit[i, of])
            fail(what ", where the limit is " limit[i, of])
        if (taken[1] + 0 > most[i, of])
            most[i, of] = taken[1] + 0
    }
}
END {
    for (i = 1; whole && i <= lines; ++i)
        for (of in is_vendor)
            if ((i, of) in limit && most[i, of] + 8 < limit[i, of])
                print "\"" text[i] "\": " of " needs " most[i, of] + 0
}
BEGIN { is_vendor["nvidia"]; is_vendor["amd"] }
