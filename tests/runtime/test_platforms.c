// SPDX-License-Identifier: MIT
// ctest: tiers=default,devices
// Other sets of platforms than this machine's. The loader reads them once a process, so each case is a child of
// its own, forked before this process has touched OpenCL. Only for loaders that obey OCL_ICD_VENDORS (ocl-icd's
// and Khronos' do).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/environment.h"
#include "support/support.h"

#define OCLGRIND       "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
#define SYSTEM_VENDORS "/etc/OpenCL/vendors"

static char vendors[] = "/tmp/husk-vendors-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", vendors, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void setup(void)
{
    strcpy(vendors + sizeof vendors - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(vendors));
    test_setenv("OCL_ICD_VENDORS", vendors);
    test_setenv("HUSK_DEVICE", NULL);
    test_setenv("HUSK_LIMITS", NULL);
}

static void teardown(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", vendors);
    ck_assert_int_eq(system(command), 0);
    test_restore_environment();
}

/* The machine's own ICDs beside what the test puts there. */
static void add_system_icds(void)
{
    char command[300];
    snprintf(command, sizeof command, "cp " SYSTEM_VENDORS "/*.icd %s/ 2> /dev/null", vendors);
    if (system(command) != 0)
        puts("no ICD in " SYSTEM_VENDORS);
}

/* A child's checks; the first that fails is its exit code, so that the parent can name it. */
#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            return 1;                                               \
        }                                                           \
    } while (0)

static void in_a_child(int (*check)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(check());
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child was ended by signal %d", WTERMSIG(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static int count_of_class(const husk_device_list *list, husk_device_class device_class)
{
    int count = 0;
    for (size_t i = 0; i < husk_device_list_count(list); i++)
        count += husk_device_get_traits(husk_device_list_get(list, i))->device_class == device_class;
    return count;
}

static const char *find_note(const husk_device_list *list, const char *part)
{
    for (size_t i = 0; i < husk_device_list_note_count(list); i++) {
        husk_note_kind kind;
        const char *text = husk_device_list_note(list, i, &kind);
        if (strstr(text, part) && kind == HUSK_NOTE_WARNING)
            return text;
    }
    return NULL;
}

/* Something is computed: a fill and a read, on what the preference names. */
static int works_on(husk_device_list *list, const char *preference)
{
    husk_error error = {0};
    const husk_device *device = NULL;
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    uint32_t word = 99, seen = 0;
    CHECK(husk_device_list_select(list, preference, &device, &error) == HUSK_OK);
    CHECK(husk_context_create(device, NULL, &context, &error) == HUSK_OK);
    CHECK(husk_queue_create(context, NULL, &queue, &error) == HUSK_OK);
    CHECK(husk_buffer_create(context, 64, &buffer, &error) == HUSK_OK);
    CHECK(husk_buffer_fill(queue, buffer, 0, 64, &word, 4) == HUSK_OK);
    CHECK(husk_buffer_read(queue, buffer, 60, 4, &seen) == HUSK_OK);
    CHECK(seen == word);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    return 0;
}

static int no_platform(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    husk_context *context = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_NO_PLATFORM);
    CHECK(list == NULL);
    CHECK(error.status == HUSK_NO_PLATFORM);
    CHECK(strstr(error.text, "apt-get install pocl-opencl-icd") != NULL);
    CHECK(husk_device_list_create(&list, NULL) == HUSK_NO_PLATFORM);
    CHECK(husk_context_create(NULL, NULL, &context, &error) == HUSK_NO_PLATFORM);
    CHECK(context == NULL);
    return 0;
}

START_TEST(without_a_platform_the_text_says_how_to_get_one)
{
    in_a_child(no_platform);
}
END_TEST

static int only_broken(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_NO_PLATFORM);
    CHECK(strstr(error.text, "gone.icd") != NULL);
    CHECK(strstr(error.text, "/no/such/libOpenCL-vendor.so") != NULL);
    CHECK(strstr(error.text, "garbage.icd") != NULL);
    return 0;
}

START_TEST(broken_platforms_alone_are_named)
{
    char library[160];
    snprintf(library, sizeof library, "%s/libgarbage.so\n", vendors);
    put("libgarbage.so", "this is no library\n");
    put("garbage.icd", library);
    put("gone.icd", "/no/such/libOpenCL-vendor.so\n");
    in_a_child(only_broken);
}
END_TEST

static int broken_beside_sound(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    husk_status status = husk_device_list_create(&list, &error);
    if (status == HUSK_NO_PLATFORM)
        return 0; /* this machine has none that is sound */
    CHECK(status == HUSK_OK);
    CHECK(husk_device_list_count(list) >= 1);
    CHECK(find_note(list, "gone.icd") != NULL);
    CHECK(find_note(list, "unqualified.icd") != NULL);
    CHECK(find_note(list, "garbage.icd") != NULL);
    CHECK(find_note(list, "empty.icd") != NULL);
    CHECK(works_on(list, NULL) == 0);
    husk_device_list_release(list);
    return 0;
}

START_TEST(broken_platforms_are_noted_and_skipped)
{
    char library[160];
    add_system_icds();
    snprintf(library, sizeof library, "%s/libgarbage.so\n", vendors);
    put("libgarbage.so", "this is no library\n");
    put("garbage.icd", library);
    put("gone.icd", "/no/such/libOpenCL-vendor.so\n");
    put("unqualified.icd", "libno-such-opencl-vendor.so.1\n");
    put("empty.icd", "\n");
    in_a_child(broken_beside_sound);
}
END_TEST

static int two_platforms(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_OK);
    CHECK(count_of_class(list, HUSK_DEVICE_SIMULATOR) == 1);
    CHECK((int)husk_device_list_count(list) > 1);
    /* never the default, but there when named */
    CHECK(husk_device_list_select(list, NULL, &device, &error) == HUSK_OK);
    CHECK(husk_device_get_traits(device)->device_class != HUSK_DEVICE_SIMULATOR);
    CHECK(husk_device_list_select(list, "OCLGRIND", &device, &error) == HUSK_OK);
    CHECK(husk_device_get_traits(device)->device_class == HUSK_DEVICE_SIMULATOR);
    /* both at once, in one process */
    CHECK(works_on(list, "oclgrind") == 0);
    CHECK(works_on(list, NULL) == 0);
    CHECK(works_on(list, "oclgrind") == 0);
    husk_device_list_release(list);
    return 0;
}

static int simulator_alone(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_OK);
    CHECK(husk_device_list_select(list, NULL, &device, &error) == HUSK_NO_DEVICE);
    CHECK(strstr(error.text, "Oclgrind") != NULL);
    CHECK(device == NULL);
    husk_device_list_release(list);
    return 0;
}

START_TEST(a_simulator_alone_is_not_the_default)
{
    if (access(OCLGRIND, R_OK) != 0)
        return; /* not installed; the tier "devices" installs it */
    put("oclgrind.icd", OCLGRIND "\n");
    in_a_child(simulator_alone);
}
END_TEST

START_TEST(two_platforms_live_in_one_process)
{
    if (access(OCLGRIND, R_OK) != 0 || access(SYSTEM_VENDORS, R_OK) != 0)
        return;
    add_system_icds();
    put("oclgrind.icd", OCLGRIND "\n");
    in_a_child(two_platforms);
}
END_TEST

static int limited(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_OK);
    if (husk_device_list_select(list, "Portable Computing Language", &device, &error) != HUSK_OK)
        return 0; /* not installed here */
    const husk_device_traits *traits = husk_device_get_traits(device);
    CHECK(traits->work_group <= 64);
    CHECK(traits->global_memory <= UINT64_C(1) << 30);
    CHECK(traits->max_allocation <= traits->global_memory);
    CHECK(works_on(list, "Portable Computing Language") == 0);
    husk_device_list_release(list);
    return 0;
}

START_TEST(pocls_own_limits_are_seen)
{
    add_system_icds();
    test_setenv("POCL_MAX_WORK_GROUP_SIZE", "64");
    test_setenv("POCL_MEMORY_LIMIT", "1");
    in_a_child(limited);
}
END_TEST

// What POCL_CACHE_DIR, XDG_CACHE_HOME and HOME are, and the folder and the variable that the text has to name.
static const struct {
    const char *values[3], *folder, *variable;
} unusable[] = {
    {{NULL, NULL, "/dev/null"}, "/dev/null/.cache/pocl/kcache", "HOME names"},
    {{NULL, "/dev/null", "/tmp"}, "/dev/null/pocl/kcache", "XDG_CACHE_HOME names"},
    {{"/dev/null/own", NULL, "/tmp"}, "/dev/null/own,", "POCL_CACHE_DIR names"},
};
enum { UNUSABLE = sizeof unusable / sizeof *unusable };
static int chosen;

static int pocl_without_a_folder(void)
{
    husk_error error = {0};
    husk_device_list *list = NULL;
    husk_context *context = NULL;
    CHECK(husk_device_list_create(&list, &error) == HUSK_OK);
    for (size_t i = 0; i < husk_device_list_count(list); i++)
        if (strstr(husk_device_get_traits(husk_device_list_get(list, i))->platform_name, "Portable Computing"))
            return 0; // one that does without the folder
    const char *note = find_note(list, "has no device");
    CHECK(note != NULL);
    CHECK(strstr(note, unusable[chosen].folder) != NULL);
    CHECK(strstr(note, unusable[chosen].variable) != NULL);
    CHECK(strstr(note, "Set POCL_CACHE_DIR to a folder") != NULL);
    CHECK(husk_context_create(NULL, NULL, &context, &error) == HUSK_NO_DEVICE);
    CHECK(strstr(error.text, "Set POCL_CACHE_DIR to a folder") != NULL);
    CHECK(strstr(error.text, "install") == NULL);
    husk_device_list_release(list);
    return 0;
}

START_TEST(pocl_without_a_folder_for_its_cache_is_explained)
{
    static const char *const variables[] = {"POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    char command[300];
    add_system_icds();
    snprintf(command, sizeof command, "cd %s && for f in *; do case $f in pocl*) ;; *) rm -f $f ;; esac; done",
             vendors);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command, "ls %s | grep -q pocl", vendors);
    if (system(command) != 0)
        return; // PoCL is not here, or has another name
    for (int i = 0; i < 3; i++)
        test_setenv(variables[i], unusable[_i].values[i]);
    chosen = _i;
    in_a_child(pocl_without_a_folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("platforms");
    TCase *tests = tcase_create("platforms");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, without_a_platform_the_text_says_how_to_get_one);
    tcase_add_test(tests, broken_platforms_alone_are_named);
    tcase_add_test(tests, broken_platforms_are_noted_and_skipped);
    tcase_add_test(tests, a_simulator_alone_is_not_the_default);
    tcase_add_test(tests, two_platforms_live_in_one_process);
    tcase_add_test(tests, pocls_own_limits_are_seen);
    tcase_add_loop_test(tests, pocl_without_a_folder_for_its_cache_is_explained, 0, UNUSABLE);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
