// SPDX-License-Identifier: MIT
// Metrics, counted on the device.
#include <husk/train/metrics.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/error.h"

enum { SLOTS = 1024, EXACT = 1 << 24 };

// What a batch leaves on the device.
enum { ENTROPY, ROWS, RIGHT, TOP, NUMBERS };

struct husk_metrics {
    husk_metrics_params params;
    husk_context *context;
    husk_buffer *memory;
    husk_tensor labels, work; // [rows, classes]: the labels one-hot, and what is made of them
    husk_tensor predicted;    // [rows] of i32
    husk_tensor matrix, slots, lowest, enough;
    int64_t used, rows;    // slots, and rows in them
    double weights[SLOTS]; // of losses; negative: a batch
    bool has_matrix;       // there is something in it
    bool has_constants;    // lowest and enough are there, since the last read or reset

    double entropy, loss, loss_rows;
    int64_t counted, right, top;
    int64_t *confusion;
};

// ---- making ----

static husk_status check(const husk_metrics_params *own, husk_context *context, const husk__train_scope *scope)
{
    if (own->dtype != HUSK_F32 && own->dtype != HUSK_F64)
        return husk__train_reject(scope, "params", "dtype %s; f32 and f64 are possible", husk_dtype_name(own->dtype));
    if (own->dtype == HUSK_F64 && !husk_context_has(context, HUSK_FEATURE_F64))
        return husk__train_fail(scope, HUSK_UNSUPPORTED, "params: the device has no f64");
    if (own->classes < 2 || own->classes > EXACT)
        return husk__train_reject(scope, "params", "classes is %lld; 2 to %d are possible", (long long)own->classes,
                                  EXACT);
    if (own->rows < 1 || own->rows > EXACT)
        return husk__train_reject(scope, "params", "rows is %lld; 1 to %d are possible", (long long)own->rows, EXACT);
    if (own->top < 0 || own->top >= own->classes)
        return husk__train_reject(scope, "params", "top is %lld; it has to be below the %lld classes",
                                  (long long)own->top, (long long)own->classes);
    return HUSK_OK;
}

// The next tensor in the memory; offsets are in elements of its own.
static husk_tensor place(uint64_t *bytes, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_tensor tensor = husk_tensor_make(NULL, dtype, rank, shape);
    tensor.offset = (int64_t)(*bytes / husk_dtype_size(dtype));
    *bytes += ((uint64_t)husk_tensor_extent(&tensor) + 63) / 64 * 64;
    return tensor;
}

static husk_status allocate(husk_metrics *own, const husk__train_scope *scope)
{
    const husk_metrics_params *p = &own->params;
    const int64_t one_hot[] = {p->rows, p->classes}, slots[] = {SLOTS, NUMBERS};
    const int64_t matrix[] = {p->classes, p->classes};
    uint64_t bytes = 0;
    own->labels = place(&bytes, p->dtype, 2, one_hot);
    own->work = place(&bytes, p->dtype, 2, one_hot);
    own->predicted = place(&bytes, HUSK_I32, 1, one_hot);
    own->slots = place(&bytes, p->dtype, 2, slots);
    own->lowest = place(&bytes, p->dtype, 0, NULL);
    own->enough = place(&bytes, p->dtype, 0, NULL);
    own->matrix = place(&bytes, p->dtype, 2, p->confusion ? matrix : (int64_t[]){0, 0});
    husk_error error;
    husk_status status = husk_buffer_create(own->context, bytes, &own->memory, &error);
    if (status)
        return husk__caused_by(scope->error, &error, husk__train_fail(scope, status, "%s", error.text));
    husk_tensor *const all[] = {&own->labels, &own->work,   &own->predicted, &own->slots,
                                &own->lowest, &own->enough, &own->matrix};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        all[i]->buffer = own->memory;
    if (p->confusion)
        own->confusion = calloc((size_t)(p->classes * p->classes), sizeof *own->confusion);
    return p->confusion && !own->confusion ? husk__train_no_memory(scope) : HUSK_OK;
}

husk_status husk_metrics_create(husk_context *context, const husk_metrics_params *params, husk_metrics **metrics,
                                husk_error *error)
{
    const husk__train_scope scope = {"husk_metrics_create", error};
    if (!metrics)
        return husk__train_reject(&scope, "metrics", "it is NULL");
    *metrics = NULL;
    if (!context)
        return husk__train_reject(&scope, "context", "it is NULL");
    if (!params)
        return husk__train_reject(&scope, "params", "it is NULL");
    husk_metrics *own = calloc(1, sizeof *own);
    if (!own)
        return husk__train_no_memory(&scope);
    husk_status status =
        husk__train_struct(&own->params, sizeof own->params, "HUSK_METRICS_PARAMS", params, "params", &scope);
    if (!status)
        status = check(&own->params, context, &scope);
    own->context = context;
    husk_context_retain(context);
    if (!status)
        status = allocate(own, &scope);
    if (status) {
        husk_metrics_release(own);
        return status;
    }
    *metrics = own;
    return HUSK_OK;
}

void husk_metrics_release(husk_metrics *metrics)
{
    if (!metrics)
        return;
    husk_buffer_release(metrics->memory);
    husk_context_release(metrics->context);
    free(metrics->confusion);
    free(metrics);
}

void husk_metrics_reset(husk_metrics *metrics)
{
    if (!metrics)
        return;
    metrics->used = metrics->rows = 0;
    metrics->has_matrix = metrics->has_constants = false;
    metrics->entropy = metrics->loss = metrics->loss_rows = 0;
    metrics->counted = metrics->right = metrics->top = 0;
    if (metrics->confusion)
        memset(metrics->confusion, 0,
               sizeof *metrics->confusion * (size_t)(metrics->params.classes * metrics->params.classes));
}

// ---- from the device ----

static husk_status queue_failed(husk_queue *queue, husk_status status, const husk__train_scope *scope)
{
    return status ? husk__caused_by(scope->error, husk_queue_error(queue),
                                    husk__train_fail(scope, status, "%s", husk_queue_error(queue)->text))
                  : HUSK_OK;
}

static double number_at(const husk_metrics *own, const void *host, int64_t index)
{
    return own->params.dtype == HUSK_F64 ? ((const double *)host)[index] : (double)((const float *)host)[index];
}

static husk_status fetch(const husk_metrics *own, husk_queue *queue, const husk_tensor *from, int64_t count,
                         void **host, const husk__train_scope *scope)
{
    uint64_t size = husk_dtype_size(own->params.dtype);
    *host = malloc((size_t)(count * (int64_t)size));
    if (!*host)
        return husk__train_no_memory(scope);
    husk_status status =
        husk_buffer_read(queue, own->memory, (uint64_t)from->offset * size, (uint64_t)count * size, *host);
    return queue_failed(queue, status, scope);
}

// Everything that is on the device into the host's sums. Where that fails nothing is lost.
static husk_status drain(husk_metrics *own, husk_queue *queue, const husk__train_scope *scope)
{
    int64_t cells = own->has_matrix ? own->params.classes * own->params.classes : 0;
    void *numbers = NULL, *matrix = NULL;
    husk_status status = own->used ? fetch(own, queue, &own->slots, own->used * NUMBERS, &numbers, scope) : HUSK_OK;
    if (!status && cells)
        status = fetch(own, queue, &own->matrix, cells, &matrix, scope);
    for (int64_t s = 0; s < own->used && !status; s++) {
        const int64_t first = s * NUMBERS;
        if (own->weights[s] >= 0) {
            own->loss += own->weights[s] > 0 ? own->weights[s] * number_at(own, numbers, first) : 0;
            own->loss_rows += own->weights[s];
            continue;
        }
        own->entropy += number_at(own, numbers, first + ENTROPY);
        own->counted += (int64_t)number_at(own, numbers, first + ROWS);
        own->right += (int64_t)number_at(own, numbers, first + RIGHT);
        if (own->params.top)
            own->top += (int64_t)number_at(own, numbers, first + TOP);
    }
    for (int64_t i = 0; i < cells && !status; i++)
        own->confusion[i] += (int64_t)number_at(own, matrix, i);
    free(numbers);
    free(matrix);
    if (status)
        return status;
    own->used = own->rows = 0;
    own->has_matrix = own->has_constants = false;
    return HUSK_OK;
}

// Room for one more slot, and for counts that stay exact.
static husk_status make_room(husk_metrics *own, husk_queue *queue, int64_t count, const husk__train_scope *scope)
{
    if (own->used < SLOTS && own->rows + count <= EXACT)
        return HUSK_OK;
    return drain(own, queue, scope);
}

// ---- a batch ----

static husk_tensor slot(const husk_metrics *own, int which)
{
    husk_tensor number = own->slots;
    number.rank = 0;
    number.offset += own->used * NUMBERS + which;
    return number;
}

static husk_status sum(husk_queue *queue, const husk_tensor *x, const husk_tensor *to)
{
    const husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_SUM);
    return husk_reduce(queue, &params, x, to);
}

// Labels whose score is higher than those of all but fewer than `top` classes.
static husk_status count_top(const husk_metrics *own, husk_queue *queue, const husk_tensor *scores,
                             const husk_tensor *labels, const husk_tensor *work)
{
    husk_tensor lowest = own->lowest, enough = own->enough, to = slot(own, TOP);
    // One-hot labels are not needed any more: the labels' own scores take their place.
    const int64_t column[] = {scores->shape[0], 1};
    husk_tensor mine = husk_tensor_make(own->memory, own->params.dtype, 2, column);
    mine.offset = own->labels.offset;
    const husk_reduce_params largest = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MAX, .axis_count = 1, .axes = {-1});
    const husk_reduce_params total = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_SUM, .axis_count = 1, .axes = {-1});
    const husk_binary_params less = husk_binary_defaults(HUSK_BINARY_LESS);
    const husk_binary_params at_least = husk_binary_defaults(HUSK_BINARY_GREATER_EQUAL);
    husk_status status = husk_where(queue, NULL, labels, scores, &lowest, work);
    if (!status)
        status = husk_reduce(queue, &largest, work, &mine);
    if (!status)
        status = husk_binary(queue, &less, scores, &mine, work);
    if (!status)
        status = husk_reduce(queue, &total, work, &mine);
    if (!status)
        status = husk_binary(queue, &at_least, &mine, &enough, &mine);
    return status ? status : sum(queue, &mine, &to);
}

static husk_status count_batch(const husk_metrics *own, husk_queue *queue, const husk_tensor *scores,
                               const husk_tensor *classes)
{
    const int64_t count = scores->shape[0];
    husk_tensor labels = husk_tensor_slice(&own->labels, 0, 0, count, 1);
    husk_tensor work = husk_tensor_slice(&own->work, 0, 0, count, 1);
    husk_tensor predicted = husk_tensor_slice(&own->predicted, 0, 0, count, 1), matrix = own->matrix;
    husk_tensor entropy = slot(own, ENTROPY), rows = slot(own, ROWS), right = slot(own, RIGHT);
    husk_loss_params loss = husk_loss_defaults(HUSK_LOSS_CROSS_ENTROPY);
    loss.reduction = HUSK_LOSS_SUM;
    const husk_reduce_params best = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_ARGMAX, .axis_count = 1, .axes = {-1});
    const husk_binary_params both = husk_binary_defaults(HUSK_BINARY_MULTIPLY);
    const husk_gemm_params transposed = HUSK_GEMM_PARAMS(.transpose_a = 1);
    husk_status status = husk_loss(queue, &loss, scores, classes, NULL, NULL, &entropy);
    if (!status)
        status = husk_one_hot(queue, NULL, classes, &labels);
    if (!status)
        status = husk_reduce(queue, &best, scores, &predicted);
    if (!status)
        status = husk_one_hot(queue, NULL, &predicted, &work);
    if (!status)
        status = husk_binary(queue, &both, &labels, &work, &work);
    if (!status)
        status = sum(queue, &work, &right);
    if (!status)
        status = sum(queue, &labels, &rows);
    if (!status && own->params.top)
        status = count_top(own, queue, scores, &labels, &work);
    // What is added to earlier batches cannot be taken back, so it comes last; both tables were written over.
    if (!status && own->params.confusion)
        status = husk_one_hot(queue, NULL, classes, &labels);
    if (!status && own->params.confusion)
        status = husk_one_hot(queue, NULL, &predicted, &work);
    if (!status && own->params.confusion)
        status = husk_gemm(queue, &transposed, 1, &labels, &work, NULL, own->has_matrix ? 1 : 0, &matrix);
    return status;
}

static husk_status check_count(const husk_metrics *own, int64_t count, const husk__train_scope *scope)
{
    if (count >= 0 && count <= own->params.rows)
        return HUSK_OK;
    return husk__train_reject(scope, "count", "%lld; 0 to %lld are possible", (long long)count,
                              (long long)own->params.rows);
}

static husk_status begin(const husk_metrics *own, const husk_queue *queue, const husk__train_scope *scope)
{
    if (!own)
        return husk__train_reject(scope, "metrics", "it is NULL");
    return queue ? HUSK_OK : husk__train_reject(scope, "queue", "it is NULL");
}

// The first `count` rows of both, as [count, classes] and [count].
static husk_status take_rows(const husk_metrics *own, const husk_tensor *scores, const husk_tensor *labels,
                             int64_t count, husk_tensor *of_scores, husk_tensor *of_labels,
                             const husk__train_scope *scope)
{
    const int64_t classes = own->params.classes;
    if (!scores)
        return husk__train_reject(scope, "scores", "it is NULL");
    if (!labels)
        return husk__train_reject(scope, "labels", "it is NULL");
    if (scores->dtype != own->params.dtype)
        return husk__train_reject(scope, "scores", "%s, where %s was said", husk_dtype_name(scores->dtype),
                                  husk_dtype_name(own->params.dtype));
    if (labels->dtype != HUSK_I32 && labels->dtype != HUSK_I64)
        return husk__train_reject(scope, "labels", "%s; i32 and i64 are possible", husk_dtype_name(labels->dtype));
    int64_t rows = husk_tensor_count(labels);
    if (scores->rank < 1 || scores->shape[scores->rank - 1] != classes)
        return husk__train_reject(scope, "scores", "the last dimension has to be the %lld classes", (long long)classes);
    if (husk_tensor_count(scores) != rows * classes)
        return husk__train_reject(scope, "labels", "%lld for %lld rows of scores", (long long)rows,
                                  (long long)(husk_tensor_count(scores) / classes));
    if (count > rows)
        return husk__train_reject(scope, "count", "%lld of %lld rows", (long long)count, (long long)rows);
    const int64_t shape[] = {rows, classes};
    husk_tensor table = husk_tensor_reshape(scores, 2, shape), list = husk_tensor_reshape(labels, 1, shape);
    if (table.rank < 0 || list.rank < 0)
        return husk__train_reject(scope, table.rank < 0 ? "scores" : "labels", "it has to be packed");
    *of_scores = husk_tensor_slice(&table, 0, 0, count, 1);
    *of_labels = husk_tensor_slice(&list, 0, 0, count, 1);
    return HUSK_OK;
}

static husk_status write_constants(const husk_metrics *own, husk_queue *queue)
{
    const double wide[] = {-INFINITY, (double)(own->params.classes - own->params.top)};
    const float narrow[] = {-INFINITY, (float)wide[1]};
    const husk_tensor *const to[] = {&own->lowest, &own->enough};
    uint64_t size = husk_dtype_size(own->params.dtype);
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = husk_buffer_write_async(queue, own->memory, (uint64_t)to[i]->offset * size, size,
                                         size == 8 ? (const void *)&wide[i] : (const void *)&narrow[i]);
    return status;
}

husk_status husk_metrics_add(husk_metrics *metrics, husk_queue *queue, const husk_tensor *scores,
                             const husk_tensor *labels, int64_t count, husk_error *error)
{
    const husk__train_scope scope = {"husk_metrics_add", error};
    husk_tensor of_scores, of_labels;
    husk_status status = begin(metrics, queue, &scope);
    if (!status)
        status = check_count(metrics, count, &scope);
    if (!status)
        status = take_rows(metrics, scores, labels, count, &of_scores, &of_labels, &scope);
    if (status || count == 0)
        return status;
    status = make_room(metrics, queue, count, &scope);
    if (status)
        return status;
    if (!metrics->has_constants && metrics->params.top) { // a loss may have the first slot
        status = write_constants(metrics, queue);
        metrics->has_constants = !status;
    }
    if (!status)
        status = count_batch(metrics, queue, &of_scores, &of_labels);
    if (status)
        return queue_failed(queue, status, &scope);
    metrics->weights[metrics->used++] = -1;
    metrics->rows += count;
    metrics->has_matrix = metrics->params.confusion != 0;
    return HUSK_OK;
}

husk_status husk_metrics_add_loss(husk_metrics *metrics, husk_queue *queue, const husk_tensor *loss, int64_t count,
                                  husk_error *error)
{
    const husk__train_scope scope = {"husk_metrics_add_loss", error};
    husk_status status = begin(metrics, queue, &scope);
    if (!status)
        status = check_count(metrics, count, &scope);
    if (!status && !loss)
        status = husk__train_reject(&scope, "loss", "it is NULL");
    if (!status && (loss->dtype != metrics->params.dtype || husk_tensor_count(loss) != 1))
        status = husk__train_reject(&scope, "loss", "it has to be one element of %s",
                                    husk_dtype_name(metrics->params.dtype));
    if (!status)
        status = make_room(metrics, queue, 0, &scope);
    if (status)
        return status;
    husk_tensor from = husk_tensor_reshape(loss, 0, NULL), to = slot(metrics, ENTROPY);
    status = husk_copy(queue, NULL, &from, &to);
    if (status)
        return queue_failed(queue, status, &scope);
    metrics->weights[metrics->used++] = (double)count;
    return HUSK_OK;
}

// ---- reports ----

static double mean(double sum, double count)
{
    return count > 0 ? sum / count : (double)NAN;
}

husk_status husk_metrics_read(husk_metrics *metrics, husk_queue *queue, husk_metrics_report *report, husk_error *error)
{
    const husk__train_scope scope = {"husk_metrics_read", error};
    husk_status status = begin(metrics, queue, &scope);
    if (!status && !report)
        status = husk__train_reject(&scope, "report", "it is NULL");
    if (!status)
        status = husk__train_size(report->size, sizeof *report, "HUSK_METRICS_REPORT", "report", &scope);
    if (!status)
        status = drain(metrics, queue, &scope);
    if (status)
        return status;
    const double rows = (double)metrics->counted;
    report->rows = metrics->counted;
    report->right = metrics->right;
    report->accuracy = mean((double)metrics->right, rows);
    report->top_accuracy = metrics->params.top ? mean((double)metrics->top, rows) : (double)NAN;
    report->cross_entropy = mean(metrics->entropy, rows);
    report->perplexity = exp(report->cross_entropy);
    report->loss = mean(metrics->loss, metrics->loss_rows);
    return HUSK_OK;
}

husk_status husk_metrics_read_confusion(husk_metrics *metrics, husk_queue *queue, int64_t *counts, husk_error *error)
{
    const husk__train_scope scope = {"husk_metrics_read_confusion", error};
    husk_status status = begin(metrics, queue, &scope);
    if (!status && !counts)
        status = husk__train_reject(&scope, "counts", "it is NULL");
    if (!status && !metrics->params.confusion)
        status = husk__train_reject(&scope, "metrics", "they were made without a confusion matrix");
    if (!status)
        status = drain(metrics, queue, &scope);
    if (!status)
        memcpy(counts, metrics->confusion,
               sizeof *counts * (size_t)(metrics->params.classes * metrics->params.classes));
    return status;
}
