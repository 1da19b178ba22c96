// SPDX-License-Identifier: MIT
// Checkpoints, and networks made smaller.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"
#include "train/swept_subject.h"

enum { PATH = 64, MOST = 1 << 16 };

typedef struct files {
    swept_subject s;
    char folder[PATH], path[PATH + 24], other[PATH + 24];
    char *content; // of path, the first time
    size_t size;
    husk_safetensors *file;
    husk_graph_position position;
    husk_calibration *calibration;
} files;

// ---- folders and files ----

static void make_folder(files *f)
{
    snprintf(f->folder, sizeof f->folder, "/tmp/husk-sweep-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/net.safetensors", f->folder);
    snprintf(f->other, sizeof f->other, "%s/other", f->folder);
    f->content = calloc(1, MOST);
}

static void remove_folder(files *f)
{
    unlink(f->path);
    unlink(f->other);
    ck_assert_msg(rmdir(f->folder) == 0, "%s holds more than the test has made", f->folder);
    free(f->content);
}

static void put_old(const char *path)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("old", file);
    fclose(file);
}

static size_t get(const char *path, char *content)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    const size_t size = fread(content, 1, MOST, file);
    fclose(file);
    return size;
}

static void expect_old(const char *path, const char *when)
{
    char part[PATH + 32];
    static char content[MOST];
    snprintf(part, sizeof part, "%s.part", path);
    ck_assert_msg(access(part, F_OK) != 0, "%s: %s is left", when, part);
    ck_assert_msg(get(path, content) == 3 && memcmp(content, "old", 3) == 0, "%s: the file is not the old one", when);
}

static void expect_content(files *f, const char *path, const char *when)
{
    static char content[MOST];
    const size_t size = get(path, content);
    if (!f->size) {
        f->size = size;
        memcpy(f->content, content, size);
    }
    ck_assert_msg(size == f->size && memcmp(content, f->content, size) == 0, "%s: the file has other bytes", when);
}

// ---- a graph ----

static void compile_subject(files *f)
{
    swept_subject *s = &f->s;
    swept_begin(s);
    s->graph = swept_build(s->network, s->dtype, &s->loss);
    s->options.loss = s->loss;
    test_ok_error(husk_graph_compile(s->graph, &s->options, &swept_error), &swept_error);
    swept_keep_start(s);
}

// ---- saving ----

static void before_save(void *user)
{
    put_old(((files *)user)->path);
}

static husk_status run_save(void *user)
{
    files *f = user;
    static const float words[3] = {1, 2, 3};
    const husk_safetensors_item item = {"words", words, husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){3})};
    const husk_safetensors_pair pair = {"author", "somebody"};
    const husk_save_params params =
        HUSK_SAVE_PARAMS(.tensors = &item, .tensor_count = 1, .metadata = &pair, .metadata_count = 1);
    return SWEPT(husk_graph_save, f->s.graph, f->path, &params);
}

static void failed_save(void *user, const char *when)
{
    expect_old(((files *)user)->path, when);
}

static void check_save(void *user, const char *when)
{
    files *f = user;
    expect_content(f, f->path, when);
}

// ---- loading ----

static void before_load(void *user)
{
    swept_restart(&((files *)user)->s);
}

static husk_status run_load(void *user)
{
    files *f = user;
    husk_status status = SWEPT(husk_safetensors_open, f->path, NULL, &f->file);
    return status ? status : SWEPT(husk_graph_load, f->s.graph, f->file, NULL, NULL);
}

static void close_file(void *user)
{
    files *f = user;
    husk_safetensors_close(f->file);
    f->file = NULL;
}

// But where the device has failed while the graph was changed, which the text says.
static void failed_load(void *user, const char *when)
{
    files *f = user;
    if (!strstr(swept_error.text, "is before it is loaded") && !strstr(swept_error.text, "masks are not applied")) {
        swept_expect_start(&f->s, when);
        ck_assert_uint_eq(husk_graph_get_position(f->s.graph).batches, 0);
    }
    close_file(user);
}

static void check_load(void *user, const char *when)
{
    files *f = user;
    const husk_graph_position position = husk_graph_get_position(f->s.graph);
    ck_assert_msg(position.updates == f->position.updates && position.batches == f->position.batches,
                  "%s: it is another place", when);
    swept_expect_same(&f->s, when);
}

// One update, and where it takes two batches one of the next.
static void save_and_load(const swept_network *network, husk_dtype dtype)
{
    static files f;
    char save[80], load[80];
    f = (files){.s = {.network = network, .dtype = dtype}};
    make_folder(&f);
    compile_subject(&f);
    snprintf(save, sizeof save, "%s %s, save", network->name, husk_dtype_name(dtype));
    snprintf(load, sizeof load, "%s %s, load", network->name, husk_dtype_name(dtype));
    test_ok_error(swept_train(&f.s), &swept_error);
    if (network->options.accumulate > 1)
        ck_assert_int_eq(husk_graph_step(f.s.graph), HUSK_OK);
    swept_keep(&f.s);
    f.position = husk_graph_get_position(f.s.graph);
    sweep(&(swept){save, &f, before_save, run_save, failed_save, check_save, NULL});
    sweep(&(swept){load, &f, before_load, run_load, failed_load, check_load, close_file});
    swept_end(&f.s);
    remove_folder(&f);
}

// ---- files of others ----

static husk_status run_write(void *user)
{
    files *f = user;
    static const double bias[5] = {1, 2, 3, 4, 5};
    static const uint16_t weight[20] = {0x3f80, 0x4000}; // bf16
    const husk_safetensors_item items[] = {
        {"fc.bias", bias, husk_tensor_make(NULL, HUSK_F64, 1, (int64_t[]){5})},
        {"fc.weight", weight, husk_tensor_make(NULL, HUSK_BF16, 2, (int64_t[]){5, 4})},
    };
    swept_call = "husk_safetensors_write";
    return husk_safetensors_write(f->path, NULL, items, 2, NULL, 0, &swept_error);
}

static husk_status run_matching(void *user)
{
    files *f = user;
    const husk_load_params params = HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_MATCHING);
    husk_load_counts counts;
    husk_status status = SWEPT(husk_safetensors_open, f->path, NULL, &f->file);
    if (!status)
        status = SWEPT(husk_graph_load, f->s.graph, f->file, &params, &counts);
    SWEPT_ASSERT(status || counts.loaded == 2);
    return status;
}

static void check_matching(void *user, const char *when)
{
    files *f = user;
    float bias[5], weight[20];
    ck_assert_int_eq(husk_graph_read(f->s.graph, "fc.bias", bias, sizeof bias), HUSK_OK);
    ck_assert_int_eq(husk_graph_read(f->s.graph, "fc.weight", weight, sizeof weight), HUSK_OK);
    for (int i = 0; i < 5; i++)
        ck_assert_msg(bias[i] == (float)(i + 1), "%s: another bias", when);
    ck_assert_msg(weight[0] == 1 && weight[1] == 2 && weight[2] == 0, "%s: other weights", when);
}

static husk_status run_read_tensor(void *user)
{
    files *f = user;
    husk_tensor tensor;
    husk_status status = SWEPT(husk_safetensors_open, f->path, NULL, &f->file);
    if (status)
        return status;
    husk_queue *queue = test_queue();
    const int64_t count = 5;
    husk_buffer *buffer = NULL;
    status = SWEPT(husk_buffer_create, test_context(), 5 * sizeof(double), &buffer);
    tensor = husk_tensor_make(buffer, HUSK_F64, 1, &count);
    if (!status)
        status = SWEPT(husk_safetensors_read_tensor, f->file, "fc.bias", queue, &tensor);
    double bias[5] = {0};
    if (!status) {
        swept_call = "husk_buffer_read";
        status = husk_buffer_read(queue, buffer, 0, sizeof bias, bias);
        if (status)
            swept_error = *husk_queue_error(queue);
    }
    husk_buffer_release(buffer);
    SWEPT_ASSERT(status || bias[4] == 5);
    return status;
}

static void failed_read(void *user, const char *when)
{
    (void)when;
    close_file(user);
}

static void check_nothing(void *user, const char *when)
{
    (void)user;
    (void)when;
}

// ---- pruning ----

static void before_prune(void *user)
{
    files *f = user;
    test_ok_error(run_load(f), &swept_error); // without masks
    close_file(f);
}

static husk_status run_prune(void *user)
{
    files *f = user;
    husk_prune_counts counts;
    const husk_prune_params half = HUSK_PRUNE_PARAMS(.share = 0.5), most = HUSK_PRUNE_PARAMS(.share = 0.7);
    husk_status status = SWEPT(husk_graph_prune, f->s.graph, &half, &counts);
    if (!status)
        status = SWEPT(husk_graph_prune, f->s.graph, &most, &counts);
    return status ? status : SWEPT_STEP(husk_graph_step, f->s.graph);
}

static void failed_prune(void *user, const char *when)
{
    (void)when;
    before_prune(user);
}

static void check_same(void *user, const char *when)
{
    swept_expect_same(&((files *)user)->s, when);
}

// The first where there are none, another one, none again, and one to stay.
static husk_status run_set_masks(void *user)
{
    husk_graph *graph = ((files *)user)->s.graph;
    husk_parameter parameter = HUSK_PARAMETER();
    uint8_t mask[256];
    size_t index = 0;
    do
        SWEPT_ASSERT(!husk_graph_parameter_at(graph, index++, &parameter));
    while (strcmp(parameter.name, "fc.weight") != 0);
    const uint64_t elements = (uint64_t)husk_tensor_count(&parameter.tensor);
    SWEPT_ASSERT(elements <= sizeof mask);
    memset(mask, 1, sizeof mask);
    husk_status status = HUSK_OK;
    for (int time = 0; time < 4 && !status; time++) {
        mask[time] = 0;
        status = SWEPT_GRAPH(husk_graph_set_mask, graph, index - 1, time == 2 ? NULL : mask, elements);
    }
    return status ? status : SWEPT_STEP(husk_graph_step, graph);
}

static husk_status run_save_masks(void *user)
{
    files *f = user;
    return SWEPT(husk_graph_save, f->s.graph, f->other, NULL);
}

static husk_status run_load_masks(void *user)
{
    files *f = user;
    husk_status status = SWEPT(husk_safetensors_open, f->other, NULL, &f->file);
    return status ? status : SWEPT(husk_graph_load, f->s.graph, f->file, NULL, NULL);
}

static void before_masks(void *user)
{
    files *f = user;
    before_prune(f);
    swept_restart(&f->s);
}

static void write_and_prune(void)
{
    static files f;
    f = (files){.s = {.network = &swept_networks[0], .dtype = HUSK_F32}};
    make_folder(&f);
    compile_subject(&f);
    sweep(&(swept){"write", &f, before_save, run_write, failed_save, check_save, NULL});
    sweep(&(swept){"load others'", &f, NULL, run_matching, failed_read, check_matching, close_file});
    sweep(&(swept){"read a tensor", &f, NULL, run_read_tensor, failed_read, check_nothing, close_file});
    test_ok_error(swept_write(f.s.network, f.s.graph), &swept_error);
    ck_assert_int_eq(run_save(&f), HUSK_OK);
    test_ok_error(run_set_masks(&f), &swept_error);
    swept_keep(&f.s);
    sweep(&(swept){"set masks", &f, before_prune, run_set_masks, failed_prune, check_same, NULL});
    before_prune(&f);
    test_ok_error(run_prune(&f), &swept_error);
    swept_keep(&f.s);
    f.position = husk_graph_get_position(f.s.graph);
    sweep(&(swept){"prune", &f, before_prune, run_prune, failed_prune, check_same, NULL});
    test_ok_error(run_save_masks(&f), &swept_error);
    sweep(&(swept){"load masks", &f, before_masks, run_load_masks, failed_load, check_load, close_file});
    swept_end(&f.s);
    remove_folder(&f);
}

// ---- quantising ----

static husk_status run_calibrate(void *user)
{
    files *f = user;
    husk_status status = SWEPT(husk_calibration_create, f->s.graph, &f->calibration);
    if (!status)
        status = SWEPT(husk_calibration_observe, f->calibration);
    return status ? status : SWEPT(husk_calibration_save, f->calibration, f->path);
}

static void release_calibration(void *user)
{
    files *f = user;
    husk_calibration_release(f->calibration);
    f->calibration = NULL;
}

static void failed_calibrate(void *user, const char *when)
{
    failed_save(user, when);
    release_calibration(user);
}

// The network of eight bits: from building it to what it answers.
static void before_quantize(void *user)
{
    files *f = user;
    f->s.graph = swept_build(f->s.network, HUSK_F32, &f->s.loss);
    test_ok_error(husk_safetensors_open(f->path, NULL, &f->file, &swept_error), &swept_error);
}

static husk_status run_quantize(void *user)
{
    files *f = user;
    size_t count;
    const husk_load_params weights = HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS);
    const husk_graph_options none = HUSK_GRAPH_OPTIONS(0);
    husk_graph_memory memory;
    husk_status status = SWEPT(husk_graph_quantize, f->s.graph, f->file, &count);
    if (status)
        return status;
    SWEPT_ASSERT(count == 3);
    status = SWEPT(husk_graph_measure, f->s.graph, &none, &memory);
    if (!status)
        status = SWEPT(husk_graph_compile, f->s.graph, &none);
    if (!status)
        status = SWEPT(husk_graph_load, f->s.graph, f->file, &weights, NULL);
    if (!status)
        status = swept_write(f->s.network, f->s.graph);
    if (!status)
        status = SWEPT_GRAPH(husk_graph_forward, f->s.graph, HUSK_GRAPH_EVALUATION);
    return status ? status : SWEPT_GRAPH(husk_graph_read, f->s.graph, "logits", f->s.outputs, 4 * 5 * sizeof(float));
}

static void after_quantize(void *user)
{
    files *f = user;
    swept_release(&f->s);
    close_file(f);
}

// A graph that was changed in part is of no use, and says so; one that was not can be quantized again.
static void failed_quantize(void *user, const char *when)
{
    files *f = user;
    husk_error error;
    if (strcmp(swept_call, "husk_graph_quantize") == 0) {
        const husk_status built = husk_graph_error(f->s.graph)->status;
        const husk_status status = husk_graph_quantize(f->s.graph, f->file, NULL, &error);
        ck_assert_msg(status == built, "%s: once more: %s, and the graph's is %s", when, error.text,
                      husk_graph_error(f->s.graph)->text);
    }
    after_quantize(f);
    before_quantize(f);
}

static void check_quantize(void *user, const char *when)
{
    files *f = user;
    if (!f->s.has_wanted)
        memcpy(f->s.wanted, f->s.outputs, 4 * 5 * sizeof(float));
    f->s.has_wanted = true;
    ck_assert_msg(memcmp(f->s.wanted, f->s.outputs, 4 * 5 * sizeof(float)) == 0, "%s: outputs have other bits", when);
}

static void quantize(void)
{
    static files f;
    f = (files){.s = {.network = &swept_networks[0], .dtype = HUSK_F32}};
    make_folder(&f);
    compile_subject(&f);
    test_ok_error(swept_write(f.s.network, f.s.graph), &swept_error);
    sweep(&(swept){"calibrate", &f, before_save, run_calibrate, failed_calibrate, check_save, release_calibration});
    swept_release(&f.s);
    sweep(&(swept){"quantize", &f, before_quantize, run_quantize, failed_quantize, check_quantize, after_quantize});
    swept_end(&f.s);
    remove_folder(&f);
}

void swept_files(void)
{
    save_and_load(&swept_networks[0], HUSK_F16);
    save_and_load(&swept_networks[1], HUSK_F32);
    write_and_prune();
    quantize();
}
