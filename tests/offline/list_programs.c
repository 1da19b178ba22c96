// SPDX-License-Identifier: MIT
// list_programs FOLDER: every program that the library asks an OpenCL compiler for, as a file with its options, under
// FOLDER: gpu/ has what a GPU's variants take, cpu4/, cpu8/ and cpu16/ what a CPU's take with vectors of that width.
// list_programs FOLDER cpu8: that folder alone, or cpu4 or cpu16.
//
// Every variant of every operator, in each configuration of its menu and each dtype that the operator does not refuse,
// is given the cases that clbench generates and those of its suite smoke, on a device that compiles and computes
// nothing (stand_in.h), with 32-bit indices and with 64-bit ones. A configuration that ran with none of the cases fails
// by its name: then a case is missing (bench/cases). FOLDER/dtypes.txt has the dtypes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cases/case.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "os/amx.h"
#include "os/avx512.h"
#include "runtime/context_struct.h"
#include "select/op.h"
#include "select/state.h"
#include "stand_in.h"
#include "worker/husk_runner.h"

enum { MAX_ROWS = 1024 };

// A configuration of a variant, and whether some case ran with it.
typedef struct row {
    const husk__op *op;
    const husk__variant *variant;
    const char *configuration;
    bool ran;
    unsigned dtypes; // a bit for each that some tensor had
    char reason[BENCH_REASON_TEXT]; // of the last refusal
} row;

static row rows[MAX_ROWS];
static size_t row_count;
static long run_count;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "list_programs: %s: %s\n", what, why);
    exit(1);
}

static void make_rows(void)
{
    for (const husk__op *const *op = husk__ops; *op; ++op)
        for (const husk__variant *const *variant = (*op)->variants; *variant; ++variant)
            for (size_t i = 0; i < (*variant)->configuration_count; ++i) {
                if (row_count == MAX_ROWS)
                    stop((*op)->name, "there are more configurations than MAX_ROWS");
                rows[row_count++] =
                    (row){.op = *op, .variant = *variant, .configuration = (*variant)->configurations[i].name};
            }
}

// What another library compiles is not this one's.
static bool is_own(const row *r)
{
    return strcmp(r->variant->name, "clblast") != 0;
}

// Of devices with a matrix engine only what takes it is listed: the rest is as on any other.
static bool only_engines;

static bool is_of_device(const row *r, bool is_gpu)
{
    const husk__family family = r->variant->family;
    if (only_engines && strcmp(r->variant->name, "matrix") != 0 && strcmp(r->variant->name, "cpu_matrix") != 0)
        return false;
    return is_own(r) && (family == HUSK__FAMILY_ANY || (family == HUSK__FAMILY_GPU) == is_gpu);
}

// ---- the dtypes that a call takes ----

enum { MAX_TENSORS = 24, MAX_ASSIGNMENTS = 96, MAX_KINDS = 4096, MAX_TRIES = 4096, DTYPES = 8 };

// The tensors of a call that are there. An rnn's weights and biases are of one dtype: one for all of them.
typedef struct call {
    bench_husk_job *job;
    size_t count;
    husk_tensor *tensors[MAX_TENSORS];
    husk_dtype given[MAX_TENSORS];
} call;

// Calls of an operator with the same tensors take the same dtypes: those that they came with, and what the operator
// does not refuse.
typedef struct kind {
    const char *op;
    size_t tensor_count, count;
    ptrdiff_t places[MAX_TENSORS];
    husk_dtype given[MAX_TENSORS];
    husk_dtype dtypes[MAX_ASSIGNMENTS][MAX_TENSORS];
} kind;

static kind *kinds[MAX_KINDS];
static size_t kind_count;

static void set_dtypes(call *c, const husk_dtype *dtypes)
{
    for (size_t i = 0; i < c->count; ++i)
        c->tensors[i]->dtype = dtypes[i];
    for (int64_t i = 1; i < 4 * c->job->data->layer_count; ++i)
        c->job->sets[0].layer_tensors[i].dtype = c->job->sets[0].layer_tensors[0].dtype;
}

// Room for the widest dtype.
static void widen(const call *c, husk_tensor *tensor)
{
    husk_error error = {0};
    const uint64_t bytes = husk_buffer_size(tensor->buffer) / husk_dtype_size(tensor->dtype) * sizeof(double);
    husk_buffer_release(tensor->buffer);
    if (husk_buffer_create(c->job->context, bytes, &tensor->buffer, &error) != HUSK_OK)
        stop(c->job->c->canonical, error.text);
}

static call call_of(bench_husk_job *job)
{
    bench_husk_set *set = &job->sets[0];
    husk_tensor *const all[] = {&set->x,
                                &set->w,
                                &set->bias,
                                &set->y,
                                &set->indices,
                                &set->lengths,
                                &set->h0,
                                &set->c0,
                                &set->h_n,
                                &set->c_n,
                                &set->dy,
                                &set->saved[0],
                                &set->saved[1],
                                &set->saved[2],
                                &set->saved[3],
                                &set->gradients[0],
                                &set->gradients[1],
                                &set->gradients[2],
                                &set->gradients[3],
                                set->layer_tensors};
    call made = {.job = job};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i] && all[i]->buffer) {
            made.given[made.count] = all[i]->dtype;
            made.tensors[made.count++] = all[i];
            widen(&made, all[i]);
        }
    for (int64_t i = 1; i < 4 * job->data->layer_count; ++i)
        if (set->layer_tensors[i].buffer)
            widen(&made, &set->layer_tensors[i]);
    return made;
}

static husk_status enqueue(call *c, const char *form)
{
    c->job->form = form;
    husk_status status = bench_op_get(c->job->c->op)->husk_enqueue(c->job, &c->job->sets[0]);
    if (status != HUSK_OK && status != HUSK_UNSUPPORTED && status != HUSK_INVALID_ARGUMENT)
        stop(c->job->c->canonical, husk_queue_error(c->job->queue)->text);
    return status;
}

static bool is_float(husk_dtype dtype)
{
    return dtype == HUSK_F32 || dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F64;
}

static void try_dtypes(kind *k, call *c, const husk_dtype *dtypes)
{
    set_dtypes(c, dtypes);
    if (k->count == MAX_ASSIGNMENTS || enqueue(c, NULL) != HUSK_OK)
        return;
    memcpy(k->dtypes[k->count++], dtypes, sizeof *k->dtypes);
}

// Every dtype for every tensor, where those are few enough.
static bool try_all(kind *k, call *c)
{
    size_t tries = 1;
    for (size_t i = 0; i < c->count; ++i)
        if ((tries *= DTYPES) > MAX_TRIES)
            return false;
    for (size_t number = 0; number < tries; ++number) {
        husk_dtype dtypes[MAX_TENSORS] = {0};
        for (size_t i = 0, rest = number; i < c->count; ++i, rest /= DTYPES)
            dtypes[i] = (husk_dtype)(rest % DTYPES);
        if (memcmp(dtypes, c->given, c->count * sizeof *dtypes) != 0)
            try_dtypes(k, c, dtypes);
    }
    return true;
}

// One other dtype for all floating-point tensors but some that keep theirs, and for all integers.
static void try_each(kind *k, call *c)
{
    for (int dtype = 0; dtype < DTYPES; ++dtype)
        for (size_t kept = 0; kept < (size_t)1 << (c->count < 12 ? c->count : 12); ++kept) {
            husk_dtype dtypes[MAX_TENSORS] = {0};
            bool differs = false;
            for (size_t i = 0; i < c->count; ++i) {
                const bool keeps = (kept >> i & 1) || is_float((husk_dtype)dtype) != is_float(c->given[i]);
                dtypes[i] = keeps ? c->given[i] : (husk_dtype)dtype;
                differs = differs || dtypes[i] != c->given[i];
            }
            if (differs)
                try_dtypes(k, c, dtypes);
        }
}

// Which tensor of a set it is; 0 for the layers'.
static ptrdiff_t place_of(const call *c, size_t i)
{
    const bool is_layer = c->tensors[i] == c->job->sets[0].layer_tensors;
    return is_layer ? 0 : (char *)c->tensors[i] - (char *)c->job->sets + 1;
}

static bool is_same_kind(const kind *k, const char *op, const call *c)
{
    bool same = k->op == op && k->tensor_count == c->count;
    for (size_t i = 0; same && i < c->count; ++i)
        same = k->given[i] == c->given[i] && k->places[i] == place_of(c, i);
    return same;
}

static const kind *kind_of(const char *op, call *c)
{
    for (size_t i = 0; i < kind_count; ++i)
        if (is_same_kind(kinds[i], op, c))
            return kinds[i];
    kind *k = calloc(1, sizeof *k);
    if (!k || kind_count == MAX_KINDS)
        stop(op, "there are more kinds of calls than MAX_KINDS");
    kinds[kind_count++] = k;
    k->op = op;
    k->tensor_count = c->count;
    for (size_t i = 0; i < c->count; ++i) {
        k->given[i] = c->given[i];
        k->places[i] = place_of(c, i);
    }
    if (c->job->packed) { // the weights are packed in their dtype
        memcpy(k->dtypes[k->count++], c->given, sizeof c->given);
        return k;
    }
    try_dtypes(k, c, c->given);
    if (!try_all(k, c))
        try_each(k, c);
    return k;
}

// ---- running ----

static void run_call(call *c, row *r)
{
    char form[160];
    const kind *k = kind_of(r->op->name, c);
    snprintf(form, sizeof form, "%s:%s", r->variant->name, r->configuration);
    for (size_t i = 0; i < k->count; ++i) {
        set_dtypes(c, k->dtypes[i]);
        ++run_count;
        if (enqueue(c, form) == HUSK_OK) {
            r->ran = true;
            for (size_t t = 0; t < c->count; ++t)
                r->dtypes |= 1u << k->dtypes[i][t];
        } else {
            snprintf(r->reason, sizeof r->reason, "%.1000s", husk_queue_error(c->job->queue)->text);
        }
    }
    set_dtypes(c, c->given);
}

static void run_form(bench_husk_session *session, const bench_case *c, const bench_data *data, row *r)
{
    char form[160], reason[BENCH_REASON_TEXT] = "";
    void *state = NULL;
    snprintf(form, sizeof form, "%s:%s", r->variant->name, r->configuration);
    const bench_prepare_options options = {.form = form};
    const bench_answer answer = bench_runner_husk.prepare(session, c, data, &options, &state, reason);
    if (answer == BENCH_ERROR || answer == BENCH_LOST)
        stop(c->canonical, reason);
    if (answer != BENCH_OK) {
        snprintf(r->reason, sizeof r->reason, "%s", reason);
        return;
    }
    call made = call_of(bench_husk_job_of(state));
    run_call(&made, r);
    bench_runner_husk.release(state);
}

static void run_case(bench_husk_session *session, const bench_case *c, bool is_gpu)
{
    char reason[BENCH_REASON_TEXT];
    const char *op = bench_op_row(c);
    bench_data data;
    if (!op || (c->dtype != HUSK_F32 && !bench_op_get(c->op)->narrows))
        return;
    if (!bench_data_make(c, &data, reason))
        stop(c->canonical, reason);
    for (size_t i = 0; i < row_count; ++i)
        if (strcmp(rows[i].op->name, op) == 0 && is_of_device(&rows[i], is_gpu))
            run_form(session, c, &data, &rows[i]);
    bench_data_free(c, &data);
}

// The line as it is; and in other precisions, and packed weights in other dtypes, where it names none.
static void run_line(bench_husk_session *session, const char *line, bool is_gpu)
{
    static const char *const further[] = {"", " dtype=f16", " dtype=bf16", " precision=high", " precision=medium"};
    for (size_t i = 0; i < sizeof further / sizeof *further; ++i) {
        char text[2 * BENCH_CASE_TEXT], reason[BENCH_REASON_TEXT];
        bench_case c;
        snprintf(text, sizeof text, "%s%s", line, further[i]);
        if (bench_case_parse(text, &c, reason))
            run_case(session, &c, is_gpu);
        else if (i == 0)
            stop(line, reason);
    }
}

static void run_lines(bench_husk_session *session, bool is_gpu)
{
    char line[BENCH_CASE_TEXT], reason[BENCH_REASON_TEXT];
    bench_suite suite;
    for (int op = 0; op < BENCH_OP_COUNT; ++op)
        for (int64_t i = 0; bench_op_get((bench_op_kind)op)->generate(i, line); ++i)
            run_line(session, line, is_gpu);
    if (!bench_suite_load("smoke", &suite, reason))
        stop("smoke", reason);
    for (size_t i = 0; i < suite.count; ++i)
        run_line(session, suite.entries[i].c.canonical, is_gpu);
    bench_suite_free(&suite);
}

// The kernels that ask whether a feature is there, which the stand-in cannot compute; then all are there.
static void claim_features(husk_context *context)
{
    for (int feature = 0; feature < HUSK__FEATURES; ++feature) {
        husk_context_has(context, (husk_feature)feature);
        atomic_store(&context->features[feature], 1);
    }
}

// The CPU of the stand-in has every engine, whatever this one has: these are here instead of the library's own.
bool husk__cpu_has_avx512_bf16(void)
{
    return true;
}

bool husk__cpu_has_amx(void)
{
    return true;
}

const char *husk__permit_amx(void)
{
    return NULL;
}

// The probes of engines, likewise.
static void claim_engines(husk_context *context)
{
    for (size_t i = 0; husk_engine_name(i); ++i)
        husk_context_engine(context, i, NULL, 0);
    husk__engine_states_assume(husk__select_state_of(context)->engines);
}

static void open_session(bench_husk_session *s)
{
    husk_status status = husk_device_list_create(&s->list, &s->error);
    if (status == HUSK_OK)
        status = husk_device_list_select(s->list, NULL, &s->device, &s->error);
    if (status == HUSK_OK)
        status = husk_context_create(s->device, NULL, &s->context, &s->error);
    if (status == HUSK_OK)
        status = husk_queue_create(s->context, NULL, &s->queue, &s->error);
    if (status != HUSK_OK)
        stop("the stand-in", s->error.text);
}

static void run_device(const char *folder, const char *name, bool is_gpu, const char *limits)
{
    char path[4096];
    bench_husk_session session = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        stop(path, strerror(errno));
    setenv("HUSK_PROGRAM_DIR", path, 1);
    setenv("HUSK_LIMITS", limits, 1);
    open_session(&session);
    claim_features(session.context);
    claim_engines(session.context);
    run_lines(&session, is_gpu);
    husk_queue_release(session.queue);
    husk_context_release(session.context);
    husk_device_list_release(session.list);
}

// FOLDER/dtypes.txt: a line for each operator, its name and the dtypes that it took.
static void write_dtypes(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/dtypes.txt", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        stop(path, strerror(errno));
    for (const husk__op *const *op = husk__ops; *op; ++op) {
        unsigned dtypes = 0;
        for (size_t i = 0; i < row_count; ++i)
            dtypes |= rows[i].op == *op ? rows[i].dtypes : 0;
        fprintf(file, "%s", (*op)->name);
        for (int dtype = 0; dtype < DTYPES; ++dtype)
            if (dtypes >> dtype & 1)
                fprintf(file, " %s", husk_dtype_name((husk_dtype)dtype));
        fprintf(file, "\n");
    }
    if (fclose(file) != 0)
        stop(path, strerror(errno));
}

// Each vendor's devices, and where two engines are claimed, each of them.
static void run_engines(const char *folder)
{
    static const struct {
        const char *platform, *device, *extensions, *engine;
    } devices[] = {
        {"NVIDIA CUDA", "stand-in", "", "nv_mma"},
        {"AMD Accelerated Parallel Processing", "gfx90a", "", "amd_mfma"},
        {"AMD Accelerated Parallel Processing", "gfx1100", "", "amd_wmma"},
        {"AMD Accelerated Parallel Processing", "gfx1201", "", "amd_wmma_gfx12"},
        {"Intel(R) OpenCL Graphics", "stand-in", " cl_intel_subgroup_matrix_multiply_accumulate", "intel_dpas"},
        {"Intel(R) OpenCL Graphics", "stand-in", " cl_intel_subgroup_matrix_multiply_accumulate", "intel_dpas_8"},
    };
    only_engines = true;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        stand_in_be_gpu();
        stand_in_be_of(devices[i].platform, devices[i].device, devices[i].extensions);
        setenv("HUSK_ENGINES", devices[i].engine, 1);
        run_device(folder, "gpu", true, "");
        run_device(folder, "gpu", true, "index=16");
    }
    // Its machine code, and plain code in its place.
    stand_in_be_cpu(16);
    stand_in_be_of("Portable Computing Language", "stand-in", "");
    setenv("HUSK_ENGINES", "amx", 1);
    run_device(folder, "cpu16", false, "");
    setenv("HUSK_ENGINES", "avx512_bf16", 1);
    stand_in_be_driver("6.0");
    run_device(folder, "cpu16", false, "");
    stand_in_be_driver("7.1"); // whose compiler wants inline assembly in place of a builtin
    run_device(folder, "cpu16", false, "");
    stand_in_be_driver("stand-in");
    setenv("HUSK_ENGINES", "soft_amx", 1);
    run_device(folder, "cpu16", false, "");
    unsetenv("HUSK_ENGINES");
    only_engines = false;
}

static int report(void)
{
    int missing = 0;
    for (size_t i = 0; i < row_count; ++i) {
        const row *r = &rows[i];
        if (r->ran || !is_own(r))
            continue;
        printf("%s:%s of %s ran in no case: %s\n", r->variant->name, r->configuration, r->op->name,
               r->reason[0] ? r->reason : "there is none");
        ++missing;
    }
    printf("%zu configurations, %ld runs, %d configurations missing\n", row_count, run_count, missing);
    return missing > 0;
}

// With vectors of each width, or only what is in the folder `only`. How many folders there are.
static int run_cpus(const char *folder, const char *only)
{
    static const struct {
        const char *name;
        uint32_t width;
    } cpus[] = {{"cpu4", 4}, {"cpu8", 8}, {"cpu16", 16}};
    int done = 0;
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; ++i) {
        if (only && strcmp(only, cpus[i].name) != 0)
            continue;
        stand_in_be_cpu(cpus[i].width);
        run_device(folder, cpus[i].name, false, "");
        run_device(folder, cpus[i].name, false, "index=16");
        ++done;
    }
    return done;
}

int main(int count, char **arguments)
{
    if (count != 2 && count != 3)
        stop("usage", "list_programs FOLDER [cpu4|cpu8|cpu16]");
    setenv("HUSK_CACHE", "0", 1);
    setenv("HUSK_TUNING", "0", 1);
    setenv("OCL_ICD_VENDORS", arguments[1], 1); // no platform of this machine is looked at
    unsetenv("HUSK_ENGINES");
    unsetenv("HUSK_DEVICE");
    unsetenv("HUSK_VARIANT");
    make_rows();
    if (count == 3) // of GPUs' variants nothing has run: there is nothing to report
        return run_cpus(arguments[1], arguments[2]) == 0;
    stand_in_be_gpu();
    run_device(arguments[1], "gpu", true, "");
    run_device(arguments[1], "gpu", true, "index=16");
    run_engines(arguments[1]);
    run_cpus(arguments[1], NULL);
    write_dtypes(arguments[1]);
    return report();
}
