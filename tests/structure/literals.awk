# SPDX-License-Identifier: MIT
# literals.awk FILE...: numbers other than 0, 1 and 2 in functions that predict what something costs. What belongs to a
# machine comes from husk__machine; the rest is a named constant whose comment says what it is.
FNR == 1 { inside = 0 }
/^[a-z].*[a-z_]+\(/ && !/;$/ {
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    predicts = name ~ /cost|cycles|time_of|_time|efficiency/
}
/^{/ { inside = predicts }
/^}/ { inside = 0 }
inside {
    line = $0
    sub(/\/\/.*/, "", line)
    gsub(/"[^"]*"/, "", line)
    gsub(/\/\*[^*]*\*\//, "", line)
    if (line ~ /static const double|enum {/) # named
        next
    gsub(/[A-Za-z_][A-Za-z_0-9]*/, "x", line)
    while (match(line, /[0-9]+(\.[0-9]*)?(e[0-9]+)?/)) {
        number = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (number + 0 != 0 && number + 0 != 1 && number + 0 != 2)
            print FILENAME ":" FNR ": " name "() has a bare " number
    }
}
