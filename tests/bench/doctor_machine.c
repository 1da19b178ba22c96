// SPDX-License-Identifier: MIT
#include "doctor_machine.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/embedded.h"
#include "common/json_schema.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

#define SCHEMA "schema/clbench-doctor-1.schema.json"

char machine_root[64], machine_variables[2048], doctor_said[1 << 18];
json_t *doctor_document;

// ---- the machine ----

const char *machine_place(const char *path)
{
    static char full[700];
    snprintf(full, sizeof full, "%s%s", machine_root, path);
    for (char *at = full + strlen(machine_root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0777);
        *at = '/';
    }
    return full;
}

void machine_put(const char *path, const char *text)
{
    FILE *file = fopen(machine_place(path), "w");
    ck_assert_msg(file != NULL, "%s", path);
    fputs(text, file);
    fclose(file);
}

void machine_link(const char *path, const char *target)
{
    ck_assert_int_eq(symlink(target, machine_place(path)), 0);
}

void machine_drop(const char *path)
{
    ck_assert_int_eq(unlink(machine_place(path)), 0);
}

void machine_let(const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(machine_variables);
    va_start(arguments, format);
    vsnprintf(machine_variables + used, sizeof machine_variables - used - 1, format, arguments);
    va_end(arguments);
    strcat(machine_variables, " ");
}

void machine_install(const char *name, const char *icd)
{
    char path[300], text[701];
    snprintf(path, sizeof path, "/usr/lib/%.100s", name);
    machine_link(path, HUSK_TEST_ICD_LIBRARY);
    snprintf(text, sizeof text, "%s\n", machine_place(path));
    snprintf(path, sizeof path, "/etc/OpenCL/vendors/%.100s", icd);
    machine_put(path, text);
}

void machine_gpu(const char *address, const char *vendor, const char *driver)
{
    char path[200], target[200];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", address);
    machine_put(path, "0x030000\n");
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", address);
    machine_put(path, vendor);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", address);
    machine_put(path, "0x73bf\n");
    if (!driver)
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", address);
    snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", driver);
    machine_link(path, target);
}

void machine_build(void)
{
    static const char cache[] = "glibc-ld.so.cache1.1 libOpenCL.so.1";
    strcpy(machine_root, "/tmp/husk-doctor-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(machine_root));
    chmod(machine_root, 0755); // other users look at it, too
    umask(022);
    machine_variables[0] = '\0';
    machine_put("/usr/lib/libOpenCL.so.1", "");
    FILE *file = fopen(machine_place("/etc/ld.so.cache"), "w");
    fwrite(cache, 1, sizeof cache, file);
    fwrite("/usr/lib/libOpenCL.so.1", 1, 24, file);
    fclose(file);
    machine_put("/sys/devices/system/cpu/online", "0-3\n");
    machine_put("/proc/self/cgroup", "0::/\n");
    machine_gpu("0000:03:00.0", "0x1002\n", "amdgpu");
    machine_put("/dev/dri/renderD128", "");
    machine_put("/dev/kfd", "");
    machine_install("libamdocl64.so", "amdocl64.icd");
    machine_put("/home/.cache/husk/x", "");
    machine_put("/home/.local/share/husk/x", "");
    machine_let("HUSK_TEST_ICD=device HUSK_TEST_ICD_VENDOR=AMD HUSK_TEST_ICD_PCI=3");
}

void machine_remove(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", machine_root);
    ck_assert_int_eq(system(command), 0);
    json_decref(doctor_document);
    doctor_document = NULL;
}

// ---- the doctor ----

int doctor_run(const char *command)
{
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return -1;
    const size_t size = fread(doctor_said, 1, sizeof doctor_said - 1, pipe);
    doctor_said[size] = '\0';
    const int status = pclose(pipe);
    json_decref(doctor_document);
    doctor_document = json_loads(doctor_said, 0, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void run_on_machine(int code, const char *arguments)
{
    char command[4096];
    // Sanitizers have their options in the environment; everything else is the test's own.
    snprintf(command, sizeof command,
             "env -i ${LD_PRELOAD:+LD_PRELOAD=\"$LD_PRELOAD\"} ASAN_OPTIONS=\"$ASAN_OPTIONS\" "
             "LSAN_OPTIONS=\"$LSAN_OPTIONS\" TSAN_OPTIONS=\"$TSAN_OPTIONS\" HOME='%s/home' "
             "HUSK_DOCTOR_ROOT='%s' %s '%s' doctor --quick %s 2> /dev/null < /dev/null",
             machine_root, machine_root, machine_variables, HUSK_CLBENCH, arguments);
    const int got = doctor_run(command);
    ck_assert_msg(got == code, "exit code %d instead of %d\n%.3000s", got, code, doctor_said);
}

static void check_schema(void)
{
    bench_fault fault;
    json_t *schema = json_loads(bench_embedded_text(SCHEMA), 0, NULL);
    ck_assert_ptr_nonnull(schema);
    ck_assert_msg(bench_schema_check(schema, doctor_document, &fault), "%s: %s", fault.place, fault.rule);
    ck_assert_msg(bench_schema_names_all(schema, doctor_document, &fault), "%s: %s", fault.place, fault.rule);
    json_decref(schema);
}

void machine_examine(int code, const char *arguments)
{
    char with_json[600];
    snprintf(with_json, sizeof with_json, "--json %s", arguments);
    run_on_machine(code, with_json);
    ck_assert_msg(doctor_document != NULL, "%.3000s", doctor_said);
    ck_assert_int_eq(json_integer_value(json_object_get(doctor_document, "exit_code")), code);
    check_schema();
}

void machine_examine_in_words(int code, const char *arguments)
{
    run_on_machine(code, arguments);
}

const char *doctor_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

const json_t *doctor_find(const char *id)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(json_object_get(doctor_document, "findings"), i, finding)
    {
        if (!strcmp(doctor_text(finding, "id"), id))
            return finding;
    }
    return NULL;
}

const json_t *doctor_expect(const char *level, const char *id, const char *words, const char *todo)
{
    const json_t *finding = doctor_find(id);
    ck_assert_msg(finding != NULL, "no %s in\n%.3000s", id, doctor_said);
    ck_assert_msg(!strcmp(doctor_text(finding, "level"), level), "%s is %s", id, doctor_text(finding, "level"));
    ck_assert_msg(strstr(doctor_text(finding, "text"), words) != NULL, "%s lacks '%s': %.1500s", id, words,
                  doctor_text(finding, "text"));
    ck_assert_msg(strstr(doctor_text(finding, "todo"), todo) != NULL, "%s lacks '%s': %.1500s", id, todo,
                  doctor_text(finding, "todo"));
    return finding;
}

void doctor_expect_any(const char *id, const char *words, const char *todo)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(json_object_get(doctor_document, "findings"), i, finding)
    {
        if (!strcmp(doctor_text(finding, "id"), id) && strstr(doctor_text(finding, "text"), words) &&
            strstr(doctor_text(finding, "todo"), todo))
            return;
    }
    ck_abort_msg("no %s with '%s' and '%s' in\n%.3000s", id, words, todo, doctor_said);
}

void doctor_expect_none(const char *level)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(json_object_get(doctor_document, "findings"), i, finding)
        ck_assert_msg(strcmp(doctor_text(finding, "level"), level) != 0, "%s: %s", level, doctor_text(finding, "text"));
}

void doctor_check_outside(void)
{
    char path[] = "/tmp/husk-doctor-json-XXXXXX", command[1200];
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    const size_t size = strlen(doctor_said);
    ck_assert_int_eq(write(descriptor, doctor_said, size), (ssize_t)size);
    close(descriptor);
    snprintf(command, sizeof command, "sh '" HUSK_TESTS_DIR "/tools/check_schema.sh' '%s' '%s'",
             HUSK_SOURCE_DIR "/bench/" SCHEMA, path);
    ck_assert_msg(system(command) == 0, "%s", command);
    unlink(path);
}
