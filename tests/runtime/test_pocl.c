// SPDX-License-Identifier: MIT
// ctest: tiers=default,platform timeout=60
// Where PoCL would end the process the library answers first: no room in the folder to which PoCL writes what it
// compiles, and stacks of its threads that are too small for kernels. On other platforms neither is asked about.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // unshare, pthread_setattr_default_np
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "support/environment.h"
#include "support/support.h"

enum { COUNT = 64, SKIPPED = 77 };

static husk_error error;

// ---- each scene is a process: who runs kernels, and where, is settled by the first call of OpenCL ----

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, error.text); \
            return 1;                                                               \
        }                                                                           \
    } while (0)

static void in_a_child(int (*scene)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(scene());
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == SKIPPED)
        puts("skipped: this user may not mount a file system of his own");
    else
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static bool is_pocls_cpu(const husk_device_traits *traits)
{
    return strstr(traits->platform_name, "Portable Computing Language") && traits->device_class == HUSK_DEVICE_CPU;
}

// ---- stacks ----

static bool set_stack(size_t bytes)
{
    pthread_attr_t attributes;
    const bool is_set = pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, bytes) == 0 &&
                        pthread_setattr_default_np(&attributes) == 0;
    pthread_attr_destroy(&attributes);
    return is_set;
}

static int open_with_small_stacks(void)
{
    husk_context *first = NULL, *context = NULL;
    CHECK(husk_context_create(NULL, NULL, &first, &error) == HUSK_OK);
    const bool is_asked = is_pocls_cpu(husk_context_traits(first));
    cl_device_id device = husk_context_opencl_device(first);
    cl_context cl = husk_context_opencl(first);

    const husk_status expected = is_asked ? HUSK_UNSUPPORTED : HUSK_OK;
    CHECK(set_stack((1 << 20) - 4096));
    CHECK(husk_context_create(NULL, NULL, &context, &error) == expected);
    CHECK(is_asked == !context);
    CHECK(!is_asked || (strstr(error.text, "1020 KiB") && strstr(error.text, "ulimit -s")));
    husk_context_release(context);
    CHECK(husk_context_from_opencl(cl, device, NULL, &context, &error) == expected);
    CHECK(is_asked == !context);
    husk_context_release(context);

    CHECK(set_stack(1 << 20));
    CHECK(husk_context_create(NULL, NULL, &context, &error) == HUSK_OK);
    husk_context_release(context);
    CHECK(husk_context_from_opencl(cl, device, NULL, &context, &error) == HUSK_OK);
    husk_context_release(context);
    husk_context_release(first);
    return 0;
}

START_TEST(small_stacks_are_refused)
{
    in_a_child(open_with_small_stacks);
}
END_TEST

// ---- its folder ----

static char folder[] = "/tmp/husk-pocl-XXXXXX";

static bool mount_small(const char *options)
{
    return mount("tmpfs", folder, "tmpfs", 0, options) == 0;
}

// Mounts from here on are this process' own, and end with it.
static bool leave_mounts(void)
{
    const bool is_root = geteuid() == 0;
    return unshare(CLONE_NEWNS | (is_root ? 0 : CLONE_NEWUSER)) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int compute_without_room(void)
{
    if (!leave_mounts() || !mount_small("size=4m"))
        return SKIPPED;
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_OK);
    CHECK(husk_device_list_select(list, NULL, &device, &error) == HUSK_OK);
    CHECK(husk_context_create(device, NULL, &context, &error) == HUSK_OK);
    CHECK(husk_queue_create(context, NULL, &queue, &error) == HUSK_OK);
    CHECK(husk_buffer_create(context, COUNT * sizeof(float), &buffer, &error) == HUSK_OK);
    const husk_tensor row = husk_tensor_make(buffer, HUSK_F32, 1, (int64_t[]){COUNT});
    if (is_pocls_cpu(husk_device_get_traits(device))) {
        CHECK(husk_softmax(queue, NULL, &row, &row) == HUSK_IO);
        error = *husk_queue_error(queue);
        CHECK(strstr(error.text, folder) && strstr(error.text, "POCL_CACHE_DIR names"));
        CHECK(strstr(error.text, "4096 KiB are free"));
        CHECK(mount_small("size=64m"));
    }
    CHECK(husk_softmax(queue, NULL, &row, &row) == HUSK_OK); // nothing was kept of the failure
    CHECK(husk_queue_finish(queue) == HUSK_OK);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    husk_device_list_release(list);
    return 0;
}

START_TEST(a_full_folder_is_refused)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    test_setenv("POCL_CACHE_DIR", folder);
    in_a_child(compute_without_room);
    test_restore_environment();
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pocl");
    TCase *tests = tcase_create("pocl");
    tcase_add_test(tests, small_stacks_are_refused);
    tcase_add_test(tests, a_full_folder_is_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
