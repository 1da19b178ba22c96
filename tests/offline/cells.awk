# SPDX-License-Identifier: MIT
# cells.awk hashes vendors programs pairs: the results, a line for each kernel and target: file, kernel, options, target,
# family, and registers/spills/stack/local memory, "valid", or FAILED and why.
BEGIN { FS = "\t"; OFS = "\t" }
FILENAME ~ /hashes$/ { hash[$2] = $1; next }
FILENAME ~ /vendors$/ { folder[$1] = $3; next }
FILENAME ~ /programs$/ { options[$1] = $2; next }
{
    file = $1
    sub(/^[^\/]*\//, "", file)
    sub(/-[^-]*\.cl$/, ".cl", file)
    family = $1
    sub(/\/.*/, "", family)
    text = options[$1] # less what all programs have
    sub(/^.*-DVW=[0-9]+ ?/, "", text)
    sub(/ +$/, "", text)
    gsub(/ +/, " ", text)
    path = folder[$2] "/" hash[$1]
    found = 0
    while ((getline line < path) > 0) {
        found = 1
        split(line, part, "\t")
        if (part[1] == "FAILED")
            print file, "-", text, $2, family, "FAILED " part[2]
        else
            print file, part[1], text, $2, family,
                part[2] == "-" ? "valid" : part[2] "/" part[3] "/" part[4] "/" part[5]
    }
    close(path)
    if (!found)
        print file, "-", text, $2, family, "FAILED the compiler left no result"
}
