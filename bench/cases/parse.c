// SPDX-License-Identifier: MIT
#include "cases/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cases/ops.h"
#include "common/text.h"

#define MAX_FIELDS      48
#define LARGEST_INTEGER ((int64_t)1 << 40) // of one dimension: products of a few still fit in a double

// What was read of each field, beside its values.
typedef struct parsed {
    bench_case *c;
    const bench_op *op;
    const bench_field *fields[MAX_FIELDS];
    size_t field_count;
    bool given[MAX_FIELDS];
    int list_count[MAX_FIELDS]; // numbers in a list; 0: not a list, or its default
    char *reason;
} parsed;

static bool explain(const parsed *p, const char *format, ...) BENCH_PRINTF(2, 3);

static bool explain(const parsed *p, const char *format, ...)
{
    char text[BENCH_REASON_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return bench_explain(p->reason, BENCH_REASON_TEXT, "%s: %.900s", p->op->name, text);
}

static void store_integer(bench_case *c, const bench_field *field, int64_t value)
{
    char *at = (char *)c + field->offset;
    int8_t narrow = (int8_t)value;
    int32_t medium = (int32_t)value;
    if (field->size == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else if (field->size == sizeof medium)
        memcpy(at, &medium, sizeof medium);
    else
        memcpy(at, &value, sizeof value);
}

static int64_t load_integer(const bench_case *c, const bench_field *field)
{
    const char *at = (const char *)c + field->offset;
    int64_t value = 0;
    int8_t narrow;
    int32_t medium;
    if (field->size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    } else if (field->size == sizeof medium) {
        memcpy(&medium, at, sizeof medium);
        value = medium;
    } else {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

static int64_t *list_of(bench_case *c, const bench_field *field, bool end)
{
    return (int64_t *)(void *)((char *)c + (end ? field->offset_end : field->offset));
}

static void store_default(bench_case *c, const bench_field *field)
{
    if (field->type == BENCH_FIELD_REAL) {
        memcpy((char *)c + field->offset, &field->initial, sizeof field->initial);
    } else if (field->type == BENCH_FIELD_LIST || field->type == BENCH_FIELD_PAD) {
        for (int i = 0; i < 3; i++) {
            list_of(c, field, false)[i] = (int64_t)field->initial;
            if (field->type == BENCH_FIELD_PAD)
                list_of(c, field, true)[i] = (int64_t)field->initial;
        }
    } else {
        store_integer(c, field, (int64_t)field->initial);
    }
}

static bool parse_choice(parsed *p, const bench_field *field, const char *value)
{
    const char *texts[32];
    size_t count = 0;
    for (const bench_choice *choice = field->choices; choice->text; choice++) {
        if (!strcmp(choice->text, value)) {
            store_integer(p->c, field, choice->value);
            return true;
        }
        texts[count++] = choice->text;
    }
    char all[BENCH_REASON_TEXT / 2] = "";
    for (size_t i = 0; i < count; i++)
        bench_append(all, sizeof all, "%s%s", i ? ", " : "", texts[i]);
    return explain(p, "unknown value %s=%s; the nearest is %s=%s (possible: %s)", field->key, value, field->key,
                   bench_nearest(value, texts, count), all);
}

static bool parse_bounded(parsed *p, const bench_field *field, const char *text, int64_t *value)
{
    const bool is_read = bench_parse_integer(text, value);
    if (!is_read && !bench_is_integer(text))
        return explain(p, "%s=%s: a whole number is wanted", field->key, text);
    if (is_read ? *value < field->minimum : text[0] == '-')
        return explain(p, "%s=%s: at least %lld is wanted", field->key, text, (long long)field->minimum);
    if (!is_read || *value > LARGEST_INTEGER)
        return explain(p, "%s=%s: too large, %lld is the most", field->key, text, (long long)LARGEST_INTEGER);
    return true;
}

// "2" or "1x2x3" into list; the number of numbers, or 0 when it is wrong.
static int parse_list(parsed *p, const bench_field *field, const char *text, int64_t list[3])
{
    char copy[128], *rest = copy;
    if (strlen(text) >= sizeof copy)
        return explain(p, "%s=%s: too long", field->key, text);
    strcpy(copy, text);
    int count = 0;
    while (rest) {
        char *end = strchr(rest, 'x');
        if (end)
            *end++ = '\0';
        if (count == 3)
            return explain(p, "%s=%s: at most three numbers", field->key, text);
        if (!parse_bounded(p, field, rest, &list[count]))
            return 0;
        count++;
        rest = end;
    }
    for (int i = count; i < 3 && count == 1; i++)
        list[i] = list[0];
    return count;
}

static bool parse_pad(parsed *p, const bench_field *field, const char *value, size_t index)
{
    char begin[128];
    const char *colon = strchr(value, ':');
    snprintf(begin, sizeof begin, "%.*s", colon ? (int)(colon - value) : (int)strlen(value), value);
    int64_t *first = list_of(p->c, field, false), *last = list_of(p->c, field, true);
    int count = parse_list(p, field, begin, first);
    int count_end = count && colon ? parse_list(p, field, colon + 1, last) : count;
    if (!count || !count_end)
        return false;
    if (!colon)
        memcpy(last, first, 3 * sizeof *last);
    if (count > 1 && count_end > 1 && count != count_end)
        return explain(p, "%s=%s: both sides need as many numbers", field->key, value);
    p->list_count[index] = count > count_end ? count : count_end;
    return true;
}

static bool parse_value(parsed *p, size_t index, const char *value)
{
    const bench_field *field = p->fields[index];
    int64_t integer = 0;
    double real = 0;
    switch (field->type) {
    case BENCH_FIELD_INTEGER:
        if (!parse_bounded(p, field, value, &integer))
            return false;
        store_integer(p->c, field, integer);
        return true;
    case BENCH_FIELD_REAL:
        // An f32 is what the library takes; anything that is not finite there is refused here.
        if (!bench_parse_real(value, &real) || real > 3.4e38 || real < -3.4e38)
            return explain(p, "%s=%s: a number is wanted", field->key, value);
        // Kept as f32 so that the same number reaches every runner.
        memcpy((char *)p->c + field->offset, &real, sizeof real);
        return true;
    case BENCH_FIELD_CHOICE:
        return parse_choice(p, field, value);
    case BENCH_FIELD_LIST:
        p->list_count[index] = parse_list(p, field, value, list_of(p->c, field, false));
        return p->list_count[index] != 0;
    case BENCH_FIELD_PAD:
        return parse_pad(p, field, value, index);
    }
    return false;
}

static bool parse_word(parsed *p, char *word)
{
    char *equals = strchr(word, '=');
    if (equals)
        *equals = '\0';
    const char *keys[MAX_FIELDS];
    for (size_t i = 0; i < p->field_count; i++) {
        keys[i] = p->fields[i]->key;
        if (strcmp(keys[i], word))
            continue;
        if (!equals || !equals[1])
            return explain(p, "%s needs a value, as in %s=1", word, word);
        if (p->given[i])
            return explain(p, "%s is given twice", word);
        p->given[i] = true;
        return parse_value(p, i, equals + 1);
    }
    return explain(p, "unknown key '%s'; the nearest is '%s'", word, bench_nearest(word, keys, p->field_count));
}

static bool check_lists(parsed *p)
{
    int64_t space = 0;
    if (p->op->space) {
        char why[BENCH_REASON_TEXT];
        space = p->op->space(p->c, why);
        if (!space)
            return explain(p, "%s", why);
    }
    for (size_t i = 0; i < p->field_count; i++) {
        if (p->list_count[i] > 1 && p->list_count[i] != space)
            return explain(p, "%s needs one number, or one for each of the %lld dimensions of space", p->fields[i]->key,
                           (long long)space);
    }
    return true;
}

static void format_list(const int64_t list[3], int64_t space, char *text, size_t size)
{
    bool same = true;
    for (int64_t i = 1; i < space; i++)
        same = same && list[i] == list[0];
    bench_append(text, size, "%lld", (long long)list[0]);
    for (int64_t i = 1; i < space && !same; i++)
        bench_append(text, size, "x%lld", (long long)list[i]);
}

static bool is_default(bench_case *c, const bench_field *field, int64_t space)
{
    if (field->type == BENCH_FIELD_REAL) {
        double value;
        memcpy(&value, (const char *)c + field->offset, sizeof value);
        return value == field->initial;
    }
    if (field->type == BENCH_FIELD_LIST || field->type == BENCH_FIELD_PAD) {
        for (int64_t i = 0; i < space; i++) {
            if (list_of(c, field, false)[i] != (int64_t)field->initial)
                return false;
            if (field->type == BENCH_FIELD_PAD && list_of(c, field, true)[i] != (int64_t)field->initial)
                return false;
        }
        return true;
    }
    return load_integer(c, field) == (int64_t)field->initial;
}

static void format_field(bench_case *c, const bench_field *field, int64_t space)
{
    char *text = c->canonical;
    const size_t size = sizeof c->canonical;
    bench_append(text, size, " %s=", field->key);
    if (field->type == BENCH_FIELD_REAL) {
        double value;
        char number[40];
        memcpy(&value, (const char *)c + field->offset, sizeof value);
        bench_format_real(value, number, sizeof number);
        bench_append(text, size, "%s", number);
    } else if (field->type == BENCH_FIELD_CHOICE) {
        const bench_choice *choice = field->choices;
        while (choice->text && choice->value != load_integer(c, field))
            choice++;
        bench_append(text, size, "%s", choice->text ? choice->text : "?");
    } else if (field->type == BENCH_FIELD_INTEGER) {
        bench_append(text, size, "%lld", (long long)load_integer(c, field));
    } else {
        format_list(list_of(c, field, false), space, text, size);
        if (field->type == BENCH_FIELD_PAD &&
            memcmp(list_of(c, field, false), list_of(c, field, true), (size_t)space * sizeof(int64_t))) {
            bench_append(text, size, ":");
            format_list(list_of(c, field, true), space, text, size);
        }
    }
}

static void format_canonical(parsed *p)
{
    char ignored[BENCH_REASON_TEXT];
    int64_t space = p->op->space ? p->op->space(p->c, ignored) : 0;
    snprintf(p->c->canonical, sizeof p->c->canonical, "%s", p->op->name);
    for (size_t i = 0; i < p->field_count; i++) {
        if (p->fields[i]->required || !is_default(p->c, p->fields[i], space))
            format_field(p->c, p->fields[i], space);
    }
}

// What others call them: a word of another library, and the case that it means here.
static const char *const other_names[][2] = {
    {"matmul", "gemm"},
    {"mm", "gemm"},
    {"bmm", "gemm"},
    {"sgemm", "gemm"},
    {"gemv", "gemm m=1"},
    {"linear", "gemm"},
    {"dense", "gemm"},
    {"convolution", "conv"},
    {"conv1d", "conv"},
    {"conv2d", "conv"},
    {"conv3d", "conv"},
    {"maxpool", "pool kind=max"},
    {"avgpool", "pool kind=avg"},
    {"lstm", "rnn cell=lstm"},
    {"gru", "rnn cell=gru"},
    {"layernorm", "norm kind=layer"},
    {"rmsnorm", "norm kind=rms"},
    {"batchnorm", "norm kind=batch"},
    {"groupnorm", "norm kind=group"},
    {"sdpa", "attention"},
    {"relu", "activation act=relu"},
    {"gelu", "activation act=gelu"},
    {"silu", "activation act=silu"},
    {"sigmoid", "activation act=sigmoid"},
    {"add", "binary op=add"},
    {"mul", "binary op=multiply"},
    {"exp", "unary op=exp"},
    {"log_softmax", "softmax log=1"},
    {"logsoftmax", "softmax log=1"},
    {"sum", "reduce kind=sum"},
    {"transpose", "copy"},
    {"permute", "copy"},
    {"cast", "copy"},
    {"adam", "optimizer kind=adam"},
    {"sgd", "optimizer kind=sgd"},
    {"cross_entropy", "loss"},
    {"gather", "embedding"},
    {"rope", "rotary"},
};

static const char *nearest_name(const char *name)
{
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (!strcasecmp(name, other_names[i][0]))
            return other_names[i][1];
    const char *names[BENCH_OP_COUNT];
    for (int op = 0; op < BENCH_OP_COUNT; op++)
        names[op] = bench_op_text((bench_op_kind)op);
    return bench_nearest(name, names, BENCH_OP_COUNT);
}

static bool start(parsed *p, const char *name)
{
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        if (!strcmp(bench_op_text((bench_op_kind)op), name))
            p->op = bench_op_get((bench_op_kind)op);
    }
    if (!p->op)
        return bench_explain(p->reason, BENCH_REASON_TEXT, "unknown operator '%s'; the nearest is '%s'", name,
                             nearest_name(name));
    memset(p->c, 0, sizeof *p->c);
    while (p->field_count < MAX_FIELDS && (p->fields[p->field_count] = bench_field_get(p->op, p->field_count)))
        store_default(p->c, p->fields[p->field_count++]);
    return true;
}

bool bench_case_parse(const char *line, bench_case *out, char reason[BENCH_REASON_TEXT])
{
    char copy[2 * BENCH_CASE_TEXT];
    if (strlen(line) >= sizeof copy)
        return bench_explain(reason, BENCH_REASON_TEXT, "the line is too long for a case");
    strcpy(copy, line);
    parsed p = {.c = out, .reason = reason};
    char *position = NULL;
    char *word = strtok_r(copy, " \t\r\n", &position);
    if (!word)
        return bench_explain(reason, BENCH_REASON_TEXT, "an empty line is no case");
    if (!start(&p, word))
        return false;
    out->op = BENCH_OP_COUNT;
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        if (bench_op_get((bench_op_kind)op) == p.op)
            out->op = (bench_op_kind)op;
    }
    while ((word = strtok_r(NULL, " \t\r\n", &position))) {
        if (!parse_word(&p, word))
            return false;
    }
    for (size_t i = 0; i < p.field_count; i++) {
        if (p.fields[i]->required && !p.given[i])
            return explain(&p, "%s is required (%s)", p.fields[i]->key, p.fields[i]->help);
    }
    char why[BENCH_REASON_TEXT];
    if (!check_lists(&p))
        return false;
    if (p.op->normalise && !p.op->normalise(out, why))
        return explain(&p, "%s", why);
    format_canonical(&p);
    if (p.op->resolve)
        p.op->resolve(out);
    return true;
}
