// SPDX-License-Identifier: MIT
// ctest: tiers=default,platform timeout=60 processors=2
// A child process of one that has opened OpenCL is refused at once, whatever it calls, and says why; none of its calls
// hangs. What forks before the first call of OpenCL, and what execs, is free. Each scene is a process of its own, since
// a process can open OpenCL for the first time but once; a child that hangs is ended by its alarm.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

enum { HANGS_AFTER_SECONDS = 20, COUNT = 64 };

typedef struct objects { // of a process
    husk_context *context;
    husk_queue *queue;
    husk_buffer *buffer;
    husk_event *event;
} objects;

static husk_error error;

static void end(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    _exit(1);
}

static void need(bool holds, const char *what)
{
    if (!holds)
        end(what, "does not hold");
}

static void need_ok(husk_status status, const char *what, const char *text)
{
    if (status != HUSK_OK)
        end(what, text);
}

// The rule, in the queue's error or in the one that was given.
static void need_refused(husk_status status, const char *what, const char *text)
{
    if (status != HUSK_UNSUPPORTED)
        end(what, status == HUSK_OK ? "is not refused" : text);
    if (text && !strstr(text, "was forked from process"))
        end(what, text);
}

static objects open_all(void)
{
    objects own = {0};
    const float one = 1;
    need_ok(husk_context_create(NULL, NULL, &own.context, &error), "a context", error.text);
    need_ok(husk_queue_create(own.context, NULL, &own.queue, &error), "a queue", error.text);
    need_ok(husk_buffer_create(own.context, COUNT * sizeof one, &own.buffer, &error), "a buffer", error.text);
    need_ok(husk_buffer_fill(own.queue, own.buffer, 0, COUNT * sizeof one, &one, sizeof one), "a command",
            husk_queue_error(own.queue)->text);
    need_ok(husk_queue_record(own.queue, &own.event), "an event", husk_queue_error(own.queue)->text);
    return own;
}

static void release_all(objects *own)
{
    husk_event_release(own->event);
    husk_buffer_release(own->buffer);
    husk_queue_release(own->queue);
    husk_context_release(own->context);
    *own = (objects){0};
}

// The sum of a softmax' row, which takes a kernel that is compiled, or loaded, here.
static void compute(const objects *own)
{
    float row[COUNT], sum = 0;
    husk_tensor tensor = husk_tensor_make(own->buffer, HUSK_F32, 1, (int64_t[]){COUNT});
    need_ok(husk_softmax(own->queue, NULL, &tensor, &tensor), "softmax", husk_queue_error(own->queue)->text);
    need_ok(husk_buffer_read(own->queue, own->buffer, 0, sizeof row, row), "a read",
            husk_queue_error(own->queue)->text);
    for (int i = 0; i < COUNT; i++)
        sum += row[i];
    need(sum > 0.999f && sum < 1.001f, "the sum of a softmax");
}

// Whether the child that runs it ends well; it is killed where it hangs.
static void in_child(void (*scene)(void *), void *with)
{
    int status;
    const pid_t child = fork();
    if (child < 0)
        end("fork", "there is no process");
    if (child == 0) {
        alarm(HANGS_AFTER_SECONDS);
        scene(with);
        _exit(0);
    }
    need(waitpid(child, &status, 0) == child, "a child that is waited for");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        end("the child", "hangs");
    need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child that ends well");
}

// ---- scenes ----

static void try_new_ones(void *nothing)
{
    husk_context *context = (husk_context *)&error;
    husk_device_list *list = (husk_device_list *)&error;
    (void)nothing;
    need_refused(husk_context_create(NULL, NULL, &context, &error), "a context", error.text);
    need(context == NULL, "no context");
    need_refused(husk_device_list_create(&list, &error), "a list of devices", error.text);
    need(list == NULL, "no list");
}

static void use_the_parents(void *with)
{
    objects *own = with;
    float values[COUNT] = {0};
    husk_tensor tensor = husk_tensor_make(own->buffer, HUSK_F32, 1, (int64_t[]){COUNT});
    husk_tensor matrix = husk_tensor_make(own->buffer, HUSK_F32, 2, (int64_t[]){8, 8});
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    husk_plan *plan = NULL;
    bool has = true;
    const char *text = husk_queue_error(own->queue)->text;
    need_refused(husk_buffer_write(own->queue, own->buffer, 0, sizeof values, values), "a write", text);
    need_refused(husk_buffer_read(own->queue, own->buffer, 0, sizeof values, values), "a read", text);
    need_refused(husk_softmax(own->queue, NULL, &tensor, &tensor), "softmax", text);
    need_refused(husk_queue_flush(own->queue), "flush", text);
    need_refused(husk_queue_finish(own->queue), "finish", text);
    need_refused(husk_queue_create(own->context, NULL, &queue, &error), "a queue", error.text);
    need_refused(husk_buffer_create(own->context, 64, &buffer, &error), "a buffer", error.text);
    need_refused(husk_gemm_plan_create(own->context, NULL, &matrix, &matrix, NULL, &matrix, &plan, &error), "a plan",
                 error.text);
    need_refused(husk_context_prewarm(own->context, NULL, 0, &error), "prewarm", error.text);
    need_refused(husk_context_quirk(own->context, HUSK_QUIRK_FLUSH, &has, &error), "a quirk", error.text);
    need_refused(husk_context_status(own->context), "the context's status", NULL);
    need_refused(husk_event_wait(own->event, HUSK_FOREVER), "a wait", NULL);
    husk_context_has_quirk(own->context,
                           HUSK_QUIRK_ASSEMBLY); // may be known already: that it answers is enough
    husk_context_has(own->context, HUSK_FEATURE_F64);
    husk_memory_stats stats;
    husk_context_memory_stats(own->context, &stats);
    husk_context_trim(own->context, 0);
    husk_queue_profile_clear(own->queue);
    for (size_t i = 0; husk_engine_name(i); i++)
        need(husk_context_engine(own->context, i, NULL, 0) != HUSK_ENGINE_READY, "no engine is ready");
    release_all(own);
    try_new_ones(NULL);
}

static void be_a_grandchild(void *with)
{
    in_child(try_new_ones, with);
}

static void open_and_compute(void *nothing)
{
    (void)nothing;
    objects own = open_all();
    compute(&own);
    release_all(&own);
}

static void exec_and_compute(void *with)
{
    execl(with, with, "computes", (char *)NULL);
    end("exec", "does not begin");
}

static const char *own_path;

static void with_a_context(void)
{
    objects own = open_all();
    in_child(use_the_parents, &own);
    in_child(try_new_ones, NULL);
    in_child(be_a_grandchild, NULL);
    compute(&own); // the parent's work goes on
    release_all(&own);
}

static void with_a_context_that_is_released(void)
{
    open_and_compute(NULL);
    in_child(try_new_ones, NULL);
}

// Listing the devices is enough to start a driver's threads.
static void with_a_list_of_devices(void)
{
    husk_device_list *list = NULL;
    need_ok(husk_device_list_create(&list, &error), "a list of devices", error.text);
    in_child(try_new_ones, NULL);
    husk_device_list_release(list);
}

static void before_opencl(void)
{
    in_child(open_and_compute, NULL);
    open_and_compute(NULL);
}

static void with_exec(void)
{
    open_and_compute(NULL);
    in_child(exec_and_compute, (void *)own_path);
}

static const struct {
    const char *name;
    void (*scene)(void);
} scenes[] = {
    {"a child of one with a context", with_a_context},
    {"a child of one whose context is released", with_a_context_that_is_released},
    {"a child of one that has listed devices", with_a_list_of_devices},
    {"a child from before the first call of OpenCL", before_opencl},
    {"a child that execs", with_exec},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

START_TEST(what_is_forked_is_refused_or_free)
{
    int status;
    fflush(NULL);
    const pid_t process = fork(); // this one has not opened OpenCL
    ck_assert_int_ge(process, 0);
    if (process == 0) {
        alarm(3 * HANGS_AFTER_SECONDS);
        scenes[_i].scene();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", scenes[_i].name, (unsigned)status);
}
END_TEST

int main(int count, char **arguments)
{
    own_path = arguments[0];
    if (count == 2 && strcmp(arguments[1], "computes") == 0) {
        open_and_compute(NULL);
        return 0;
    }
    Suite *suite = suite_create("fork");
    TCase *tests = tcase_create("fork");
    tcase_add_loop_test(tests, what_is_forked_is_refused_or_free, 0, SCENES);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
