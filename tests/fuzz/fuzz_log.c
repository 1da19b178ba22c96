// SPDX-License-Identifier: MIT
// A log that is opened again: the first byte says how many columns it has, the second what is to stay, the
// rest is the file. Rows are read by a second opinion, which takes their numbers from strtod: what stays are
// whole rows, up to the first that resuming leaves out, a cut one never; they are taken again as they are; a
// refusal names the first line that is no row.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "train/loop/log.h"

static const char DIGITS[] = "0123456789";

// Behind the number at the text; NULL where there is none. An exponent has four digits at most behind its
// zeros.
static const char *behind_number(const char *at)
{
    at += *at == '-';
    if (!strncmp(at, "nan", 3) || !strncmp(at, "inf", 3))
        return at + 3;
    size_t digits = strspn(at, DIGITS);
    at += digits;
    if (*at == '.') {
        const size_t more = strspn(at + 1, DIGITS);
        digits += more;
        at += 1 + more;
    }
    if (!digits || *at != 'e')
        return digits ? at : NULL;
    at += at[1] == '-' || at[1] == '+' ? 2 : 1;
    digits = strspn(at, DIGITS);
    return digits && strspn(at + strspn(at, "0"), DIGITS) <= 4 ? at + digits : NULL;
}

// first: the first number. False where the line has others than count numbers.
static bool is_row(const char *line, const char *end, size_t count, double *first)
{
    const char *at = line;
    for (size_t c = 0; c < count; c++) {
        at = behind_number(at);
        if (!at || (c + 1 < count && *at++ != ' '))
            return false;
    }
    *first = strtod(line, NULL);
    return at == end;
}

typedef struct opinion {
    long wrong;     // the line that is no row; 0: none
    uint64_t stays; // up to here
    bool is_open;   // a first number is so close to resume_at that rounding decides
} opinion;

static opinion opinion_of(const char *text, size_t size, const char *header, const husk_log_params *params)
{
    opinion own = {0};
    const size_t length = strlen(header);
    const char *past = text + size, *at = text + length;
    if (size < length && !memcmp(text, header, size))
        return own;
    if (size < length || memcmp(text, header, length) != 0)
        return (opinion){.wrong = 1};
    bool drops = false;
    own.stays = length;
    for (long line = 2; at < past; line++) {
        const char *end = at;
        double first;
        while (end < past && *end != '\n')
            end++;
        if (end == past)
            break;
        if (!is_row(at, end, params->count, &first))
            return (opinion){.wrong = line};
        const double distance = fabs(first - params->resume_at);
        own.is_open = own.is_open || (distance > 0 && distance <= 1e-12 * fabs(params->resume_at));
        if (params->mode == HUSK_LOG_RESUME && !(first < params->resume_at))
            drops = true;
        at = end + 1;
        if (!drops)
            own.stays = (uint64_t)(at - text);
    }
    return own;
}

static void expect_refused(husk_status status, const husk_error *error, long line)
{
    fuzz_expect(status == HUSK_INVALID_ARGUMENT, "refused with %d: %s", (int)status, error->text);
    fuzz_expect_reason(error->text, sizeof error->text);
    fuzz_expect_clean(error->text);
    const char *named = strstr(error->text, " line ");
    fuzz_expect(line == 1 ? strstr(error->text, "its first line is not") != NULL
                          : named && strtol(named + 6, NULL, 10) == line,
                "line %ld is wrong, and it says: %s", line, error->text);
}

// What stayed stays whole, and takes a row.
static void expect_again(const char *text, uint64_t size, const char *header, const husk_log_params *params,
                         const husk__source *source)
{
    static const char *const rows[] = {"", "-inf\n", "-inf 1\n", "-inf 1 nan\n"};
    const char *row = rows[size ? params->count : 0];
    const uint64_t whole = size + strlen(row);
    uint64_t stays = 0;
    char *copy = malloc(whole + 1);
    fuzz_expect(copy != NULL, "memory is short");
    memcpy(copy, text, size);
    strcpy(copy + size, row);
    fuzz_expect(!husk__log_end(copy, whole, header, params, &stays, source), "it is refused then: %s",
                source->error->text);
    fuzz_expect(stays == whole || params->resume_at == (double)-INFINITY, "of %llu bytes %llu stay then",
                (unsigned long long)whole, (unsigned long long)stays);
    free(copy);
}

void fuzz_target(const char *text, size_t size)
{
    static const char *const headers[] = {"# step\n", "# step loss\n", "# step loss rate\n"};
    static const double places[] = {5, 0.5, 0, -3, 2.5e-308, 1e300, (double)INFINITY, (double)-INFINITY};
    enum { PLACES = sizeof places / sizeof *places };
    husk_error error = {0};
    const husk__source source = {.call = "fuzz", .path = "input", .error = &error};
    if (size < 2)
        return;
    const size_t columns = (unsigned char)text[0] % 3, place = (unsigned char)(text[1] - 'a') % (PLACES + 1);
    const husk_log_params params =
        HUSK_LOG_PARAMS(.count = columns + 1, .mode = place < PLACES ? HUSK_LOG_RESUME : HUSK_LOG_APPEND,
                        .resume_at = place < PLACES ? places[place] : 0);
    text += 2;
    size -= 2;
    uint64_t stays = 0;
    const husk_status status = husk__log_end(text, size, headers[columns], &params, &stays, &source);
    const opinion expected = opinion_of(text, size, headers[columns], &params);
    fuzz_expect((status == HUSK_OK) == !expected.wrong, "line %ld is wrong, and it answers %s: %s", expected.wrong,
                husk_status_name(status), error.text);
    if (status) {
        expect_refused(status, &error, expected.wrong);
        return;
    }
    fuzz_expect(stays <= size && (!stays || text[stays - 1] == '\n'), "a row is cut");
    fuzz_expect(stays == expected.stays || expected.is_open, "%llu bytes stay, not %llu", (unsigned long long)stays,
                (unsigned long long)expected.stays);
    expect_again(text, stays, headers[columns], &params, &source);
}
