# SPDX-License-Identifier: MIT
# abi.awk EXPORTED HEADERS: from the names that the library exports and its preprocessed headers, a C program that prints
# the record of the ABI. It knows the simple C that the headers are written in; what it does not know does not compile.

FNR == NR {
    exported[$1] = 1
    next
}

{ text = text " " $0 }

function squeeze(s) {
    gsub(/[ \t\n]+/, " ", s)
    sub(/^ /, "", s)
    sub(/ $/, "", s)
    gsub(/\( /, "(", s)
    gsub(/ \)/, ")", s)
    return s
}

function quoted(s) {
    gsub(/\\/, "\\\\", s)
    gsub(/"/, "\\\"", s)
    gsub(/%/, "%%", s)
    return s
}

function add(kind, name, code) {
    key[++count] = kind " " name
    code_of[key[count]] = code
}

# "int64_t before[8], after[8]": an offset and a size for each.
function members(struct, list,    field, n, i, part, m, j, name, type, code) {
    n = split(list, field, ";")
    for (i = 1; i <= n; i++) {
        field[i] = squeeze(field[i])
        if (field[i] == "") {
            continue
        }
        m = split(field[i], part, ",")
        for (j = 1; j <= m; j++) {
            name = squeeze(part[j])
            sub(/\[.*/, "", name)
            if (j == 1) {
                type = name
                sub(/[A-Za-z0-9_]+$/, "", type)
            }
            sub(/.*[ *]/, "", name)
            code = code sprintf("    printf(\"  %%zu %%zu %s %s\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n",
                quoted(squeeze(type)), name, struct, name, struct, name)
        }
    }
    return code
}

function enumerators(list,    item, n, i, name, code) {
    n = split(list, item, ",")
    for (i = 1; i <= n; i++) {
        name = squeeze(item[i])
        sub(/ *=.*/, "", name)
        if (name != "") {
            code = code sprintf("    printf(\"  %%lld %s\\n\", (long long)%s);\n", name, name)
        }
    }
    return code
}

function declaration(s,    kind, name, body) {
    if (s !~ /husk_|HUSK_/) {
        return
    }
    gsub(/__attribute__ ?\(\(visibility ?\("default"\)\)\)/, "", s)
    s = squeeze(s)
    body = s
    if (s ~ /^(typedef )?(struct|enum)[^{]*{/) {
        sub(/^[^{]*{/, "", body)
        name = body
        sub(/}.*/, "", body)
        sub(/.*}/, "", name)
        name = squeeze(name)
        kind = s ~ /^(typedef )?struct/ ? "struct" : "enum"
        if (name == "") { # an enum of constants, called by the first
            name = squeeze(body)
            sub(/[ =,].*/, "", name)
            add(kind, name, sprintf("    printf(\"enum of %s\\n\");\n", name) enumerators(body))
        } else {
            add(kind, name, sprintf("    printf(\"%s %s %%zu\\n\", sizeof(%s));\n", kind, name, name) \
                (kind == "struct" ? members(name, body) : enumerators(body)))
        }
    } else if (s ~ /^typedef /) {
        sub(/^typedef /, "", s)
        add("type", s, sprintf("    printf(\"type %s\\n\");\n", quoted(s)))
    } else if (match(s, /husk_[a-z0-9_]+ ?\(/)) {
        name = substr(s, RSTART, RLENGTH)
        sub(/ ?\($/, "", name)
        if (name in exported) {
            add("function", name, sprintf("    printf(\"function %s\\n\");\n", quoted(s)))
        }
    }
}

function by_name(    i, j, kept) {
    for (i = 2; i <= count; i++) {
        kept = key[i]
        for (j = i - 1; j > 0 && key[j] > kept; j--) {
            key[j + 1] = key[j]
        }
        key[j + 1] = kept
    }
}

END {
    depth = 0
    n = split(text, piece, /;/)
    for (i = 1; i <= n; i++) { # a declaration ends at a ';' outside of braces
        whole = whole piece[i] ";"
        depth += gsub(/{/, "{", piece[i]) - gsub(/}/, "}", piece[i])
        if (depth == 0) {
            sub(/;$/, "", whole)
            declaration(whole)
            whole = ""
        }
    }
    by_name()
    print "int main(void)\n{\n    printf(\"pointers %zu\\n\", sizeof(void *));"
    for (i = 1; i <= count; i++) {
        if (key[i] != key[i - 1]) {
            printf "%s", code_of[key[i]]
        }
    }
    print "    return 0;\n}"
}
