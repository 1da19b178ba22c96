// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// What a device can do: sizes by its own and the system's word, rates that are measured, kept in a file and believed
// only where they can be true.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <husk/husk.h>

#include "machine/file.h"
#include "machine/predict.h"
#include "machine/sizes.h"
#include "os/cpu_caches.h"
#include "support/environment.h"
#include "support/support.h"

static char folder[64];
static char said[8192];

static void hear(void *user, husk_log_level level, const char *text)
{
    (void)user, (void)level;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

static void setup(void)
{
    strcpy(folder, "/tmp/husk-machine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    test_setenv("XDG_DATA_HOME", folder);
    test_setenv("HUSK_MACHINE", NULL);
}

static void teardown(void)
{
    char command[256];
    test_restore_environment();
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", folder, folder);
    ck_assert_int_eq(system(command), 0);
}

static bool is_cpu(void)
{
    return husk_context_traits(test_context())->device_class == HUSK_DEVICE_CPU;
}

static husk_context *make_context(void)
{
    husk_context *context = NULL;
    husk_error error = {0};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.log = hear);
    said[0] = 0;
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    return context;
}

/* A context's machine, copied, and what was said of it. */
static husk_machine ask(void)
{
    husk_context *context = make_context();
    const husk_machine machine = *husk_context_machine(context);
    ck_assert_ptr_eq(husk_context_machine(context), husk_context_machine(context));
    husk_context_release(context);
    return machine;
}

static bool are_same(husk_machine_rates a, husk_machine_rates b)
{
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; rate++)
        if (fabs(*husk__rate_of(&a, rate) - *husk__rate_of(&b, rate)) > 1e-3 * *husk__rate_of(&a, rate))
            return false;
    return true;
}

static const husk__cpu_caches nothing;

static husk_machine read_cpu(uint32_t width, uint32_t units, const husk__cpu_caches *caches)
{
    const husk_device_traits traits = {.device_class = HUSK_DEVICE_CPU, .vector_width = width, .compute_units = units};
    husk_machine machine;
    husk__machine_read(&traits, caches, &machine);
    return machine;
}

// ---- sizes ----

START_TEST(sizes_follow_from_device_and_system)
{
    const husk__cpu_caches caches = {.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 64 << 20, .l3_sharers = 16, .line = 128};
    const husk_machine wide = read_cpu(16, 4, &caches), narrow = read_cpu(8, 64, &caches),
                       none = read_cpu(4, 1, &nothing);
    ck_assert_uint_eq(wide.l1, 48 << 10);
    ck_assert_uint_eq(wide.l2, 2 << 20);
    ck_assert_uint_eq(wide.l3, 64 << 20);
    ck_assert_uint_eq(wide.l3_cores, 4); // no more than the device has
    ck_assert_uint_eq(narrow.l3_cores, 16);
    ck_assert_uint_eq(wide.cache_line, 128);
    ck_assert(none.l1 > 0 && none.l2 > 0 && none.cache_line > 0 && none.registers >= 16);
    ck_assert_double_eq(none.typical.wake_ns, 0.0); // of one core
#if defined(__x86_64__)
    ck_assert_int_eq(wide.isa, HUSK_ISA_AVX512);
    ck_assert_int_eq(narrow.isa, HUSK_ISA_AVX2);
    ck_assert_int_eq(none.isa, HUSK_ISA_SSE);
    ck_assert(wide.registers == 32 && narrow.registers == 16);
#elif defined(__aarch64__)
    ck_assert_int_eq(none.isa, HUSK_ISA_NEON);
    ck_assert_uint_eq(none.registers, 32);
#endif
    ck_assert(are_same(wide.typical, wide.rates) && !wide.is_measured);
}
END_TEST

START_TEST(a_gpu_has_what_it_advertises)
{
    const husk_device_traits traits = {.device_class = HUSK_DEVICE_GPU_DISCRETE,
                                       .vector_width = 4,
                                       .compute_units = 132,
                                       .clock_mhz = 1980,
                                       .global_cache = 50 << 20};
    husk_machine machine;
    husk__machine_read(&traits, &nothing, &machine);
    ck_assert_int_eq(machine.isa, HUSK_ISA_GENERIC);
    ck_assert_uint_eq(machine.registers, 0);
    ck_assert_uint_eq(machine.cores, 132);
    ck_assert_double_eq_tol(machine.rates.clock_ghz, 1.98, 1e-9);
    ck_assert(!machine.is_measured);
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; rate++) // costs divide by them
        ck_assert_msg(*husk__rate_of(&machine.rates, rate) > 0.0, "%s", rate->name);
}
END_TEST

static void write_leaf(unsigned cpu, unsigned index, const char *leaf, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/cpu%u", folder, cpu);
    mkdir(path, 0700);
    strcat(path, "/cache");
    mkdir(path, 0700);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/index%u", index);
    mkdir(path, 0700);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", leaf);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_cache(unsigned cpu, unsigned index, const char *level, const char *type, const char *size,
                        const char *sharers)
{
    write_leaf(cpu, index, "level", level);
    write_leaf(cpu, index, "type", type);
    write_leaf(cpu, index, "size", size);
    write_leaf(cpu, index, "shared_cpu_list", sharers);
    write_leaf(cpu, index, "coherency_line_size", "64\n");
}

// Two kinds of core, as Intel's clients have: one of two threads with a cache of its own, four that share one.
START_TEST(caches_are_a_cpus_part_of_them)
{
    husk__cpu_caches caches;
    ck_assert(husk__read_cpu_caches(folder, &caches));
    ck_assert(caches.l1 == 0 && caches.l2 == 0 && caches.l3 == 0);
    for (unsigned cpu = 0; cpu < 6; cpu++) {
        const bool is_fast = cpu < 2;
        const char own[] = {(char)('0' + cpu), '\n', 0};
        write_cache(cpu, 0, "1\n", "Data\n", is_fast ? "48K\n" : "32K\n", is_fast ? "0-1\n" : own);
        write_cache(cpu, 1, "1\n", "Instruction\n", "8K\n", own);
        write_cache(cpu, 2, "2\n", "Unified\n", is_fast ? "1280K\n" : "2M\n", is_fast ? "0-1\n" : "2-5\n");
        write_cache(cpu, 3, "3\n", "Unified\n", "12M\n", "0-3,4,5\n");
    }
    ck_assert(husk__read_cpu_caches(folder, &caches));
    ck_assert_uint_eq(caches.l1, 24 << 10); // half of the fast one's
    ck_assert_uint_eq(caches.l2, 512 << 10); // a quarter of the slow ones'
    ck_assert_uint_eq(caches.l3, 12 << 20);
    ck_assert_uint_eq(caches.l3_sharers, 6);
    ck_assert_uint_eq(caches.line, 64);
    write_leaf(5, 2, "shared_cpu_list", "nonsense");
    write_leaf(5, 2, "size", "");
    ck_assert(husk__read_cpu_caches(folder, &caches));
    ck_assert_uint_eq(caches.l2, 512 << 10);
}
END_TEST

// ---- the file ----

static const char header[] = "device a CPU/25/33\ndriver PoCL, 3.1\n";

START_TEST(a_file_says_what_was_written)
{
    const husk_machine machine = read_cpu(8, 4, &nothing);
    husk_machine_rates rates = machine.typical, found;
    husk__text text = {0};
    rates.clock_ghz = 4.875;
    husk__machine_write(header, rates, &text);
    ck_assert(husk__machine_parse(text.bytes, header, &found));
    ck_assert(are_same(rates, found));
    ck_assert(!husk__machine_parse(text.bytes, "device another\ndriver PoCL, 3.1\n", &found));
    for (size_t i = 0; i < text.size; i++) { // cut anywhere
        char *cut = strdup(text.bytes);
        cut[i] = 0;
        ck_assert_msg(!husk__machine_parse(cut, header, &found), "cut at %zu", i);
        free(cut);
    }
    for (size_t i = 0; i < text.size; i++) { // changed anywhere: it is refused, or another number
        const char original = text.bytes[i];
        text.bytes[i] = 'x';
        ck_assert_msg(!husk__machine_parse(text.bytes, header, &found), "changed at %zu", i);
        text.bytes[i] = original;
    }
    husk__text_format(&text, "more\n");
    ck_assert(!husk__machine_parse(text.bytes, header, &found));
    husk__text_free(&text);
}
END_TEST

START_TEST(rates_that_cannot_be_are_confined)
{
    const husk_machine machine = read_cpu(16, 8, &nothing);
    for (const husk__rate *rate = husk__machine_rate_names; rate->name; rate++) {
        const double values[] = {0.0, -1.0, 1e-30, 1e30, INFINITY, -INFINITY, NAN};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            husk_machine_rates rates = machine.typical;
            *husk__rate_of(&rates, rate) = values[i];
            ck_assert_msg(!husk__rates_are_plausible(&machine, &rates), "%s %g", rate->name, values[i]);
            husk__rates_confine(&machine, &rates);
            ck_assert_msg(husk__rates_are_plausible(&machine, &rates), "%s %g", rate->name, values[i]);
            ck_assert(*husk__rate_of(&rates, rate) > 0.0 && isfinite(*husk__rate_of(&rates, rate)));
        }
    }
    // No core with AVX-512 has three units, within every factor as that is.
    husk_machine_rates rates = machine.typical;
    rates.fma_per_cycle = 2.3;
    ck_assert(!husk__rates_are_plausible(&machine, &rates));
    husk__rates_confine(&machine, &rates);
    ck_assert_double_eq(rates.fma_per_cycle, 2.0);
}
END_TEST

// ---- a context's machine ----

START_TEST(a_cpu_is_measured_once)
{
    if (!is_cpu())
        return;
    const husk_machine first = ask();
    ck_assert(first.is_measured);
    ck_assert_ptr_nonnull(strstr(said, "rates measured"));
    ck_assert(husk__rates_are_plausible(&first, &first.rates));
    const husk_machine second = ask();
    ck_assert(second.is_measured);
    ck_assert_ptr_nonnull(strstr(said, "rates from the file"));
    ck_assert(are_same(first.rates, second.rates));
}
END_TEST

START_TEST(typical_rates_are_asked_for)
{
    test_setenv("HUSK_MACHINE", "typical");
    const husk_machine machine = ask();
    ck_assert(!machine.is_measured && are_same(machine.rates, machine.typical));
    ck_assert_ptr_null(strstr(said, "rates"));
    ck_assert_int_ne(access(folder, F_OK), -1);
    test_setenv("HUSK_MACHINE", "fast");
    const husk_machine other = ask();
    ck_assert_int_eq(other.is_measured, is_cpu());
    ck_assert_ptr_nonnull(strstr(said, "HUSK_MACHINE is \"fast\", must be typical"));
}
END_TEST

static void file_of(char *path, size_t size)
{
    husk__text text = {0};
    ck_assert(husk__machine_path(husk_context_traits(test_context()), &text));
    snprintf(path, size, "%s", text.bytes);
    husk__text_free(&text);
}

// A file that says what no machine does, that others may write, or that is none: it is measured again.
START_TEST(a_file_that_cannot_be_right_is_replaced)
{
    char path[4096], text[4096];
    if (!is_cpu())
        return;
    ask();
    file_of(path, sizeof path);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *clock = strstr(text, "clock_ghz ");
    ck_assert_ptr_nonnull(clock);
    memcpy(clock, "clock_ghz 9e9 ", 14); // the line's end becomes a part of it
    file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    ck_assert(ask().is_measured);
    ck_assert_ptr_nonnull(strstr(said, "rates measured"));
    ask();
    ck_assert_ptr_nonnull(strstr(said, "rates from the file"));
    ck_assert_int_eq(chmod(path, 0666), 0);
    ask();
    ck_assert_ptr_nonnull(strstr(said, "rates measured"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(ask().is_measured);
    ck_assert_ptr_nonnull(strstr(said, "are not kept"));
}
END_TEST

START_TEST(without_a_folder_rates_live_as_long_as_the_context)
{
    test_setenv("XDG_DATA_HOME", NULL);
    test_setenv("HOME", NULL);
    const husk_machine machine = ask();
    ck_assert_int_eq(machine.is_measured, is_cpu());
    if (is_cpu())
        ck_assert_ptr_nonnull(strstr(said, "neither XDG_DATA_HOME nor HOME is set"));
}
END_TEST

START_TEST(calibrating_changes_the_next_context)
{
    husk_error error = {0};
    husk_machine measured;
    husk_context *context = make_context();
    const husk_machine before = *husk_context_machine(context);
    const husk_status status = husk_context_calibrate(context, &measured, &error);
    ck_assert_int_eq(status, is_cpu() ? HUSK_OK : HUSK_UNSUPPORTED);
    ck_assert(are_same(before.rates, husk_context_machine(context)->rates)); // plans were chosen by them
    husk_context_release(context);
    if (is_cpu())
        ck_assert(are_same(ask().rates, measured.rates));
}
END_TEST

START_TEST(what_cannot_be_calibrated_is_refused)
{
    husk_error error = {0};
    husk_machine machine = {.cores = 0};
    ck_assert_ptr_null(husk_context_machine(NULL));
    ck_assert_int_eq(husk_context_calibrate(NULL, &machine, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "context"));
    ck_assert_int_eq(husk_context_calibrate(test_context(), NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "machine"));
    if (!is_cpu())
        return;
    test_setenv("XDG_DATA_HOME", "/proc/husk"); // nobody can make it
    ck_assert_int_eq(husk_context_calibrate(test_context(), &machine, &error), HUSK_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "/proc/husk"));
    ck_assert(machine.is_measured && machine.cores > 0);
}
END_TEST

// ---- predicting ----

START_TEST(times_follow_from_rates)
{
    const husk__cpu_caches caches = {.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 16 << 20, .l3_sharers = 4};
    const husk_machine machine = read_cpu(16, 4, &caches), alone = read_cpu(16, 1, &caches);
    const husk_machine_rates *rates = &machine.typical;
    ck_assert_double_eq_tol(husk__cycles_ns(rates, 300.0), 300.0 / rates->clock_ghz, 1e-9);
    const double launch = rates->launch_ns, wake = rates->wake_ns;
    ck_assert_double_eq_tol(husk__launch_time(&machine, rates, 5e4, 1), launch + 5e4, 1e-6);
    ck_assert_double_eq_tol(husk__launch_time(&alone, &alone.typical, 5e4, 8), launch + 4e5, 1e-6);
    ck_assert_double_eq_tol(husk__launch_time(&machine, rates, 5e4, 4), launch + 5e4 + wake, 1e-6);
    ck_assert_double_eq_tol(husk__launch_time(&machine, rates, 5e4, 8), launch + 1e5 + 0.75 * wake, 1e-6);
    ck_assert_double_eq_tol(husk__launch_time(&machine, rates, 100.0, 8), launch + 800.0, 1e-6); // by one core
    ck_assert_double_eq(husk__read_rate(&machine, rates, 4e6), rates->l2_rate);
    ck_assert_double_eq(husk__read_rate(&machine, rates, 8e6), rates->l3_rate);
    const double memory = fmin(rates->memory_rate, rates->memory_rate_all / 4);
    ck_assert_double_eq_tol(husk__read_rate(&machine, rates, 1e9), memory, 1e-9 * memory);
    // Of twice the last cache a fifth is found there: e^-(2 * 0.8).
    const double kept = 0.2032, twice = 1.0 / (kept / rates->l3_rate + (1.0 - kept) / memory);
    ck_assert_double_eq_tol(husk__read_rate(&machine, rates, 2.0 * (16 << 20)), twice, 1e-3 * twice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine");
    TCase *tests = tcase_create("machine");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, sizes_follow_from_device_and_system);
    tcase_add_test(tests, a_gpu_has_what_it_advertises);
    tcase_add_test(tests, caches_are_a_cpus_part_of_them);
    tcase_add_test(tests, a_file_says_what_was_written);
    tcase_add_test(tests, rates_that_cannot_be_are_confined);
    tcase_add_test(tests, a_cpu_is_measured_once);
    tcase_add_test(tests, typical_rates_are_asked_for);
    tcase_add_test(tests, a_file_that_cannot_be_right_is_replaced);
    tcase_add_test(tests, without_a_folder_rates_live_as_long_as_the_context);
    tcase_add_test(tests, calibrating_changes_the_next_context);
    tcase_add_test(tests, what_cannot_be_calibrated_is_refused);
    tcase_add_test(tests, times_follow_from_rates);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
