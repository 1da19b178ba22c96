// SPDX-License-Identifier: MIT
// The state of a plateau and of early stopping: what is taken is what a second opinion takes, and is written
// as the same numbers; a step goes on from it and is written, too. What is refused leaves the state as it
// was.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <husk/train/loop.h>

#include "fuzz.h"

enum { NUMBERS = 6 };

// The text as it would be written: no zeros before a number, and of a flag 0 or 1. False for what is no
// state.
static bool canonical(const char *text, const char *word, const bool flags[NUMBERS], char out[HUSK_STATE_TEXT])
{
    size_t used = strlen(word);
    if (strncmp(text, word, used) != 0)
        return false;
    strcpy(out, word);
    text += used;
    for (int i = 0; i < NUMBERS; i++) {
        size_t digits = *text == ' ' ? strspn(text + 1, "0123456789abcdef") : 0;
        const char *number = text + 1;
        if (digits < 1 || digits > 16)
            return false;
        text += 1 + digits;
        for (; digits > 1 && *number == '0'; digits--)
            number++;
        if (flags[i] && *number != '0') {
            number = "1";
            digits = 1;
        }
        used += (size_t)snprintf(out + used, HUSK_STATE_TEXT - used, " %.*s", (int)digits, number);
    }
    return *text == '\0';
}

static void expect_refused(husk_status status, const husk_error *error, const void *state, size_t size)
{
    fuzz_expect(status == HUSK_INVALID_ARGUMENT, "refused with %d: %s", (int)status, error->text);
    fuzz_expect_reason(error->text, sizeof error->text);
    fuzz_expect_clean(error->text);
    for (size_t i = 0; i < size; i++)
        fuzz_expect(((const unsigned char *)state)[i] == 0x5a, "a refusal changes byte %zu of the state", i);
}

static void step_plateau(husk_plateau *plateau, double value)
{
    husk_error error = {0};
    char text[HUSK_STATE_TEXT], again[HUSK_STATE_TEXT];
    const husk_plateau_params params = HUSK_PLATEAU_PARAMS(.rate = 0.5, .patience = 2, .cooldown = 3);
    const double before = plateau->has_rate ? plateau->rate : params.rate;
    fuzz_expect(husk_plateau_step(&params, plateau, value, &error) == HUSK_OK, "no step: %s", error.text);
    fuzz_expect(!(plateau->rate > before), "the rate rises from %g to %g", before, plateau->rate);
    fuzz_expect(husk_plateau_save(plateau, text, &error) == HUSK_OK &&
                    husk_plateau_load(text, plateau, &error) == HUSK_OK &&
                    husk_plateau_save(plateau, again, &error) == HUSK_OK && !strcmp(text, again),
                "a step from it is \"%s\", and then \"%s\"", text, again);
}

static void expect_plateau(const char *text)
{
    static const bool flags[NUMBERS] = {[4] = true, [5] = true};
    husk_error error = {0};
    husk_plateau plateau;
    char expected[HUSK_STATE_TEXT], written[HUSK_STATE_TEXT];
    memset(&plateau, 0x5a, sizeof plateau);
    const husk_status status = husk_plateau_load(text, &plateau, &error);
    const bool is_state = canonical(text, "plateau", flags, expected);
    fuzz_expect((status == HUSK_OK) == is_state, "\"%s\": %s", text, husk_status_name(status));
    if (status) {
        expect_refused(status, &error, &plateau, sizeof plateau);
        return;
    }
    fuzz_expect(husk_plateau_save(&plateau, written, &error) == HUSK_OK, "not written: %s", error.text);
    fuzz_expect(!strcmp(written, expected), "\"%s\" is written as \"%s\"", text, written);
    const double values[] = {plateau.best, -plateau.best, plateau.rate, (double)NAN, 0, (double)INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        step_plateau(&plateau, values[i]);
}

static void step_stopping(husk_stopping *stopping, uint64_t step, double value)
{
    husk_error error = {0};
    char text[HUSK_STATE_TEXT], again[HUSK_STATE_TEXT];
    const husk_stopping_params params = HUSK_STOPPING_PARAMS(.patience = 2);
    fuzz_expect(husk_stopping_step(&params, stopping, step, value, &error) == HUSK_OK, "no step: %s", error.text);
    fuzz_expect(!stopping->is_best || (stopping->best_step == step && stopping->has_best && !stopping->stop),
                "the best one is not the last one");
    fuzz_expect(husk_stopping_save(stopping, text, &error) == HUSK_OK &&
                    husk_stopping_load(text, stopping, &error) == HUSK_OK &&
                    husk_stopping_save(stopping, again, &error) == HUSK_OK && !strcmp(text, again),
                "a step from it is \"%s\", and then \"%s\"", text, again);
}

static void expect_stopping(const char *text)
{
    static const bool flags[NUMBERS] = {[3] = true, [4] = true, [5] = true};
    husk_error error = {0};
    husk_stopping stopping;
    char expected[HUSK_STATE_TEXT], written[HUSK_STATE_TEXT];
    memset(&stopping, 0x5a, sizeof stopping);
    const husk_status status = husk_stopping_load(text, &stopping, &error);
    const bool is_state = canonical(text, "stopping", flags, expected);
    fuzz_expect((status == HUSK_OK) == is_state, "\"%s\": %s", text, husk_status_name(status));
    if (status) {
        expect_refused(status, &error, &stopping, sizeof stopping);
        return;
    }
    fuzz_expect(husk_stopping_save(&stopping, written, &error) == HUSK_OK, "not written: %s", error.text);
    fuzz_expect(!strcmp(written, expected), "\"%s\" is written as \"%s\"", text, written);
    const double values[] = {stopping.best, -stopping.best, (double)NAN, 0, (double)-INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        step_stopping(&stopping, i, values[i]);
}

void fuzz_target(const char *text, size_t size)
{
    (void)size;
    expect_plateau(text);
    expect_stopping(text);
}
