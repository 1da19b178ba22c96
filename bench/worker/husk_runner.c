// SPDX-License-Identifier: MIT
// The library itself as a runner: through its public API alone.
#include "worker/husk_runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/op.h"
#include "cases/ops.h"
#include "common/text.h"
#include "system/timer.h"

typedef struct husk_state {
    bench_husk_job job;
    bench_husk_session *session;
    char form[64];
    bool is_guarded;
    husk_program_stats before, after;
} husk_state;

bench_husk_job *bench_husk_job_of(void *state)
{
    return &((husk_state *)state)->job;
}

static bench_answer explain(const husk_error *error, husk_status status, char reason[BENCH_REASON_TEXT])
{
    const char *text = error->text[0] ? error->text : husk_status_text(status);
    snprintf(reason, BENCH_REASON_TEXT, "%s: %.900s", husk_status_name(status), text);
    if (status == HUSK_UNSUPPORTED)
        return BENCH_UNSUPPORTED;
    return status == HUSK_DEVICE_LOST ? BENCH_LOST : BENCH_ERROR;
}

static bench_answer explain_queue(const bench_husk_job *job, husk_status status, char reason[BENCH_REASON_TEXT])
{
    return explain(husk_queue_error(job->queue), status, reason);
}

// What the library found worth a warning belongs on the user's screen, a variant that does not build, for one; and what
// the user has asked for by HUSK_VERBOSE.
static void take_log(void *user, husk_log_level level, const char *text)
{
    bench_husk_session *s = user;
    bench_builds_note(&s->builds, text);
    if (level == HUSK_LOG_WARNING)
        fprintf(stderr, "husk: %s\n", text);
    else if (!strncmp(text, "husk ", 5))
        fprintf(stderr, "%s\n", text);
}

// A failed open leaves a session too: its list and notes explain the failure.
static bench_answer husk_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    bench_husk_session *s = calloc(1, sizeof *s);
    *session = s;
    if (!s)
        return BENCH_ERROR;
    bench_builds_begin(&s->builds, options->building, options->launching);
    uint64_t start = bench_now_ns();
    s->status = husk_device_list_create(&s->list, &s->error);
    if (s->status == HUSK_OK)
        s->status = husk_device_list_select(s->list, options->device, &s->device, &s->error);
    husk_context_params params = HUSK_CONTEXT_PARAMS(.log = take_log, .log_user = s);
    if (s->status == HUSK_OK)
        s->status = husk_context_create(s->device, &params, &s->context, &s->error);
    if (s->status == HUSK_OK)
        s->status = husk_queue_create(s->context, NULL, &s->queue, &s->error);
    // Elsewhere PoCL does it, as told by bench/system/child.c.
    if (s->status == HUSK_OK && !getenv("POCL_AFFINITY"))
        husk_context_bind_threads(s->context, NULL, 0, NULL);
    s->open_ns = bench_now_ns() - start;
    return s->status == HUSK_OK ? BENCH_OK : explain(&s->error, s->status, reason);
}

static void husk_close(void *session)
{
    bench_husk_session *s = session;
    bench_meter_release(s->meter);
    if (s->described)
        s->end_described(s->described);
    husk_queue_release(s->queue);
    husk_context_release(s->context);
    husk_device_list_release(s->list);
    bench_builds_end(&s->builds);
    free(s);
}

static void husk_version_text(void *session, char *text, size_t size)
{
    (void)session;
    snprintf(text, size, "Husk %s", husk_version());
}

static const char *husk_form(void *session, const bench_case *c, size_t index)
{
    (void)session;
    return husk_op_variant(bench_op_row(c), index);
}

static bool tensor_from(husk_context *context, const bench_array *array, husk_tensor *tensor, husk_error *error)
{
    *tensor = (husk_tensor){.dtype = array->dtype, .rank = array->rank};
    memcpy(tensor->shape, array->shape, sizeof tensor->shape);
    memcpy(tensor->strides, array->strides, sizeof tensor->strides);
    if (!array->data)
        return true;
    return husk_buffer_create(context, (uint64_t)bench_array_bytes(array), &tensor->buffer, error) == HUSK_OK;
}

static husk_status upload(husk_queue *queue, const bench_array *array, const husk_tensor *tensor)
{
    if (!array->data || !tensor->buffer)
        return HUSK_OK;
    return husk_buffer_write(queue, tensor->buffer, 0, (uint64_t)bench_array_bytes(array), array->data);
}

// h_n, c_n, indices and further gradients have no counterpart in the inputs: their shapes come from an empty output.
static bool make_results(bench_husk_job *job, bench_husk_set *set, const bench_output *shapes)
{
    for (size_t i = 0; i < BENCH_GRADIENTS; i++) {
        if (!tensor_from(job->context, &shapes->gradients[i], &set->gradients[i], &job->error))
            return false;
    }
    return tensor_from(job->context, &shapes->indices, &set->indices, &job->error) &&
           tensor_from(job->context, &shapes->h_n, &set->h_n, &job->error) &&
           tensor_from(job->context, &shapes->c_n, &set->c_n, &job->error);
}

static bool make_layers(bench_husk_job *job, bench_husk_set *set)
{
    size_t count = (size_t)job->data->layer_count;
    set->layer_tensors = calloc(4 * count + 1, sizeof *set->layer_tensors);
    set->layer_weights = calloc(count + 1, sizeof *set->layer_weights);
    if (!set->layer_tensors || !set->layer_weights)
        return false;
    for (size_t i = 0; i < count; i++) {
        const bench_rnn_weights *from = &job->data->layers[i];
        const bench_array *const arrays[] = {&from->input, &from->hidden, &from->input_bias, &from->hidden_bias};
        husk_tensor *to = set->layer_tensors + 4 * i;
        for (size_t k = 0; k < 4; k++) {
            if (!tensor_from(job->context, arrays[k], &to[k], &job->error) ||
                upload(job->queue, arrays[k], &to[k]) != HUSK_OK)
                return false;
        }
        set->layer_weights[i] = (husk_rnn_weights){&to[0], &to[1], bench_optional(&to[2]), bench_optional(&to[3])};
    }
    return true;
}

static bool make_operand(bench_husk_job *job, const bench_array *array, husk_tensor *tensor)
{
    return tensor_from(job->context, array, tensor, &job->error) && upload(job->queue, array, tensor) == HUSK_OK;
}

static bool make_set(bench_husk_job *job, bench_husk_set *set, const bench_output *shapes)
{
    const bench_data *data = job->data;
    const struct {
        const bench_array *array;
        husk_tensor *tensor;
    } operands[] = {
        {&data->x, &set->x},   {&data->w, &set->w},   {&data->bias, &set->bias},       {&data->y, &set->y},
        {&data->h0, &set->h0}, {&data->c0, &set->c0}, {&data->lengths, &set->lengths}, {&data->dy, &set->dy},
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (!make_operand(job, operands[i].array, operands[i].tensor))
            return false;
    }
    for (size_t i = 0; i < BENCH_SAVED; i++) {
        if (!make_operand(job, &data->saved[i], &set->saved[i]))
            return false;
    }
    return make_results(job, set, shapes) && make_layers(job, set);
}

static void release_set(bench_husk_set *set, int64_t layers)
{
    husk_tensor *const tensors[] = {&set->x,  &set->w,   &set->bias, &set->y,       &set->indices, &set->h0,
                                    &set->c0, &set->h_n, &set->c_n,  &set->lengths, &set->dy};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        husk_buffer_release(tensors[i]->buffer);
    for (size_t i = 0; i < BENCH_SAVED; i++)
        husk_buffer_release(set->saved[i].buffer);
    for (size_t i = 0; i < BENCH_GRADIENTS; i++)
        husk_buffer_release(set->gradients[i].buffer);
    for (int64_t i = 0; set->layer_tensors && i < 4 * layers; i++)
        husk_buffer_release(set->layer_tensors[i].buffer);
    free(set->layer_tensors);
    free(set->layer_weights);
}

static void husk_release_state(void *state)
{
    husk_state *s = state;
    husk_queue_finish(s->job.queue);
    if (s->session && s->session->job == &s->job)
        s->session->job = NULL;
    for (int i = 0; s->job.sets && i < s->job.copies; i++)
        release_set(&s->job.sets[i], s->job.data->layer_count);
    free(s->job.sets);
    husk_packed_release(s->job.packed);
    husk_plan_release(s->job.plan);
    if (s->is_guarded)
        husk_context_set_guards(s->job.context, 0, NULL);
    // A rival in a process of its own wants a GPU's memory, too, which the pool would keep until this one ends.
    if (husk_context_traits(s->job.context)->device_class != HUSK_DEVICE_CPU)
        husk_context_trim(s->job.context, 0);
    free(s);
}

static bench_answer make_sets(bench_husk_job *job, char reason[BENCH_REASON_TEXT])
{
    bench_output shapes;
    if (!bench_output_make(job->c, job->data, &shapes, reason))
        return BENCH_ERROR;
    bool made = true;
    for (int i = 0; i < job->copies && made; i++)
        made = make_set(job, &job->sets[i], &shapes);
    bench_output_free(&shapes);
    if (made)
        return BENCH_OK;
    if (job->error.status != HUSK_OK)
        return explain(&job->error, job->error.status, reason);
    const husk_error *error = husk_queue_error(job->queue);
    return explain(error, error->status != HUSK_OK ? error->status : HUSK_OUT_OF_HOST_MEMORY, reason);
}

// Not every operator is measured in every dtype, and an operator's gradients may not be there; a case may ask, and gets
// a plain answer.
static bool is_supported(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (c->dtype != HUSK_F32 && !bench_op_get(c->op)->narrows)
        return bench_explain(reason, BENCH_REASON_TEXT, "dtype=%s is not there yet", husk_dtype_name(c->dtype));
    if (!bench_op_row(c))
        return bench_explain(reason, BENCH_REASON_TEXT, "dir=%s is not there yet", bench_direction_text(c->dir));
    return true;
}

// Whatever was found before is nobody's here.
static bench_answer begin_guards(bench_husk_job *job, char reason[BENCH_REASON_TEXT])
{
    husk_context_check_guards(job->context, NULL);
    const husk_status status = husk_context_set_guards(job->context, HUSK_GUARD_BYTES, &job->error);
    return status == HUSK_OK ? BENCH_OK : explain(&job->error, status, reason);
}

static bench_answer husk_prepare(void *session, const bench_case *c, const bench_data *data,
                                 const bench_prepare_options *options, void **state, char reason[BENCH_REASON_TEXT])
{
    bench_husk_session *session_ = session;
    *state = NULL;
    if (!is_supported(c, reason))
        return BENCH_UNSUPPORTED;
    husk_state *s = calloc(1, sizeof *s);
    int copies = options->copies > 1 ? options->copies : 1;
    if (!s || !(s->job.sets = calloc((size_t)copies, sizeof *s->job.sets))) {
        free(s);
        bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
        return BENCH_ERROR;
    }
    bench_husk_job *job = &s->job;
    job->c = c;
    job->data = data;
    job->copies = copies;
    job->context = session_->context;
    job->queue = session_->queue;
    snprintf(s->form, sizeof s->form, "%s", options->form ? options->form : "");
    job->form = options->form ? s->form : NULL;
    husk_context_program_stats(job->context, &s->before);
    s->is_guarded = options->is_guarded;
    bench_answer answer = s->is_guarded ? begin_guards(job, reason) : BENCH_OK;
    if (answer == BENCH_OK)
        answer = make_sets(job, reason);
    const bench_op *op = bench_op_get(c->op);
    husk_status status = answer == BENCH_OK && op->husk_prepare && c->packed ? op->husk_prepare(job) : HUSK_OK;
    if (status != HUSK_OK)
        answer = explain(&job->error, status, reason);
    if (job->packed)
        job->packed_w = husk_packed_tensor(job->packed);
    if (answer != BENCH_OK) {
        husk_release_state(s);
        return answer;
    }
    s->session = session_;
    if (!s->is_guarded) // tuning's questions are about what is timed
        session_->job = job;
    *state = s;
    return BENCH_OK;
}

const husk_plan *bench_husk_plan(const bench_husk_job *job)
{
    const bench_op *op = bench_op_get(job->c->op);
    if (op->is_composed && op->is_composed(job->c))
        return NULL;
    return job->plan ? job->plan : husk_queue_plan(job->queue);
}

static void husk_details(void *state, bench_details *details)
{
    husk_state *s = state;
    const husk_plan *plan = bench_husk_plan(&s->job);
    husk_context_program_stats(s->job.context, &s->after);
    *details = (bench_details){
        .variant = plan ? husk_plan_variant(plan) : s->job.form,
        .configuration = plan ? husk_plan_configuration(plan) : NULL,
        .choice = plan ? husk_choice_text(husk_plan_choice(plan)) : NULL,
        .executed_flops = plan ? husk_plan_executed_flops(plan) : 0,
        .predicted_ns = plan ? husk_plan_predicted_ns(plan) : 0,
        .error_factor = plan ? husk_plan_error_factor(plan) : s->job.error_factor,
        .workspace = plan ? husk_plan_workspace(plan) : 0,
        .build_ns = s->after.build_ns - s->before.build_ns,
        .builds = s->after.builds - s->before.builds,
        .cache_loads = s->after.cache_loads - s->before.cache_loads,
        .on_device = true,
    };
}

static bench_answer husk_run_batch(void *state, int64_t count, char reason[BENCH_REASON_TEXT])
{
    bench_husk_job *job = &((husk_state *)state)->job;
    const bench_op *op = bench_op_get(job->c->op);
    husk_status status = HUSK_OK;
    for (int64_t i = 0; i < count && status == HUSK_OK; i++) {
        status = op->husk_enqueue(job, &job->sets[job->next]);
        job->next = job->next + 1 < job->copies ? job->next + 1 : 0;
    }
    if (status == HUSK_OK)
        status = husk_queue_finish(job->queue);
    return status == HUSK_OK ? BENCH_OK : explain_queue(job, status, reason);
}

static bench_answer husk_run(void *state, char reason[BENCH_REASON_TEXT])
{
    return husk_run_batch(state, 1, reason);
}

static husk_status fill_nan(husk_queue *queue, const husk_tensor *tensor, uint32_t pattern)
{
    if (!tensor->buffer)
        return HUSK_OK;
    const uint16_t half = 0x7fc0; // a NaN of f16 and of bf16
    const bool is_half = husk_dtype_size(tensor->dtype) == 2;
    return husk_buffer_fill(queue, tensor->buffer, 0, husk_buffer_size(tensor->buffer),
                            is_half ? (const void *)&half : &pattern, is_half ? sizeof half : sizeof pattern);
}

static bench_answer husk_reset(void *state, char reason[BENCH_REASON_TEXT])
{
    bench_husk_job *job = &((husk_state *)state)->job;
    const unsigned updated = bench_op_get(job->c->op)->updates_saved;
    husk_status status = HUSK_OK;
    for (int i = 0; i < job->copies && status == HUSK_OK; i++) {
        bench_husk_set *set = &job->sets[i];
        const uint32_t nan = 0x7fc00000u, never = 0xfffffffeu;
        status = upload(job->queue, &job->data->y, &set->y);
        status = status ? status : fill_nan(job->queue, &set->h_n, nan);
        status = status ? status : fill_nan(job->queue, &set->c_n, nan);
        status = status ? status : fill_nan(job->queue, &set->indices, never);
        for (int k = 0; k < BENCH_GRADIENTS; k++)
            status = status ? status : fill_nan(job->queue, &set->gradients[k], nan);
        for (int k = 0; k < BENCH_SAVED; k++) {
            if (status == HUSK_OK && updated >> k & 1)
                status = upload(job->queue, &job->data->saved[k], &set->saved[k]);
        }
    }
    job->next = 0;
    return status == HUSK_OK ? BENCH_OK : explain_queue(job, status, reason);
}

static husk_status download(husk_queue *queue, const husk_tensor *tensor, bench_array *array)
{
    if (!array->data || !tensor->buffer)
        return HUSK_OK;
    return husk_buffer_read(queue, tensor->buffer, 0, (uint64_t)bench_array_bytes(array), array->data);
}

static bench_answer husk_read(void *state, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    bench_husk_job *job = &((husk_state *)state)->job;
    bench_husk_set *set = &job->sets[job->next > 0 ? job->next - 1 : job->copies - 1];
    husk_status status = download(job->queue, &set->y, &output->y);
    status = status ? status : download(job->queue, &set->indices, &output->indices);
    status = status ? status : download(job->queue, &set->h_n, &output->h_n);
    status = status ? status : download(job->queue, &set->c_n, &output->c_n);
    for (int i = 0; i < BENCH_GRADIENTS; i++)
        status = status ? status : download(job->queue, &set->gradients[i], &output->gradients[i]);
    for (int i = 0; i < BENCH_SAVED; i++)
        status = status ? status : download(job->queue, &set->saved[i], &output->saved[i]);
    return status == HUSK_OK ? BENCH_OK : explain_queue(job, status, reason);
}

// ---- guards ----

typedef struct guarded {
    husk_status status;
    husk_error error;
    char name[64]; // of the operand whose bands were written; "" for packed weights and scratch memory
} guarded;

static void look_at(guarded *g, const husk_tensor *tensor, const char *name)
{
    if (g->status != HUSK_OK || !tensor->buffer)
        return;
    g->status = husk_buffer_check_guards(tensor->buffer, &g->error);
    snprintf(g->name, sizeof g->name, "%s", name);
}

static void look_at_each(guarded *g, const husk_tensor *tensors, int64_t count, const char *name)
{
    for (int64_t i = 0; tensors && i < count; i++) {
        char numbered[64];
        snprintf(numbered, sizeof numbered, "%s %" PRId64, name, i + 1);
        look_at(g, &tensors[i], numbered);
    }
}

// By operands first, since they have names; then all there is.
static void look_at_set(guarded *g, const bench_husk_job *job, const bench_husk_set *set)
{
    const bool is_forward = job->c->dir == BENCH_FWD;
    const struct {
        const husk_tensor *tensor;
        const char *name;
    } operands[] = {
        {&set->y, is_forward ? "the output" : "the first gradient"},
        {&set->indices, "the indices"},
        {&set->h_n, "h_n"},
        {&set->c_n, "c_n"},
        {&set->x, "x (A)"},
        {&set->w, "w (B)"},
        {&set->bias, "bias"},
        {&set->lengths, "lengths"},
        {&set->h0, "h_0"},
        {&set->c0, "c_0"},
        {&set->dy, "dy"},
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        look_at(g, operands[i].tensor, operands[i].name);
    look_at_each(g, set->gradients, BENCH_GRADIENTS, "further gradient");
    look_at_each(g, set->saved, BENCH_SAVED, "saved tensor");
    look_at_each(g, set->layer_tensors, 4 * job->data->layer_count, "weights");
}

// A simulator sees each access that leaves a buffer, reads as well; bands would hide from it what ends in them.
static const char *husk_unguarded(const void *session)
{
    const husk_context *context = ((const bench_husk_session *)session)->context;
    if (husk_context_traits(context)->device_class == HUSK_DEVICE_SIMULATOR)
        return "the simulator looks at each access itself";
    return NULL;
}

static bench_answer husk_guards(void *state, char *found, char reason[BENCH_REASON_TEXT])
{
    bench_husk_job *job = &((husk_state *)state)->job;
    guarded g = {.status = HUSK_OK};
    *found = '\0';
    for (int i = 0; i < job->copies; i++)
        look_at_set(&g, job, &job->sets[i]);
    if (g.status == HUSK_OK) {
        g.name[0] = '\0';
        g.status = husk_context_check_guards(job->context, &g.error);
    }
    if (g.status == HUSK_OK)
        return BENCH_OK;
    if (g.status != HUSK_INTERNAL)
        return explain(&g.error, g.status, reason);
    const char *text = strstr(g.error.text, ": ");
    snprintf(found, BENCH_REASON_TEXT, "%s%s%.900s", g.name, g.name[0] ? ": " : "", text ? text + 2 : g.error.text);
    return BENCH_OK;
}

const bench_runner bench_runner_husk = {
    .name = "husk",
    .description = "Husk, on the OpenCL device",
    .open = husk_open,
    .close = husk_close,
    .version = husk_version_text,
    .form = husk_form,
    .prepare = husk_prepare,
    .release = husk_release_state,
    .details = husk_details,
    .run = husk_run,
    .run_batch = husk_run_batch,
    .reset = husk_reset,
    .read = husk_read,
    .guards = husk_guards,
    .unguarded = husk_unguarded,
};
