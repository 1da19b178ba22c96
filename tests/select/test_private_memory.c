// SPDX-License-Identifier: MIT
// ctest: tiers=default
// Kernels whose private memory a GPU cannot have for all of its work-items are refused, before they are launched where
// the driver says how much it is, and at the launch where it has none: another variant is taken. A CPU has enough. Of a
// probe that is not launched nothing follows.
#include <string.h>

#include <husk/opencl.h>

#include "support/environment.h"
#include "support/support.h"

enum { ROWS = 6, COLUMNS = 40, COUNT = ROWS * COLUMNS };

// ---- a driver's answers ----

static cl_device_type type;
static const char *vendor; // whose units have fewer work-items under way, where it is Intel
static cl_ulong private_memory; // of softmax's kernels for rows
static cl_int answer, launching; // to the question for it, to their launch
static const char *launched; // what the names of those begin with that are not launched

cl_int __real_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *size_ret);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *size_ret);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *size_ret)
{
    static const cl_uint units = 132;
    static const cl_ulong memory = UINT64_C(143161) << 20;
    static const cl_bool no = CL_FALSE;
    if (info == CL_DEVICE_VENDOR) {
        if (value && size > strlen(vendor))
            strcpy(value, vendor);
        if (size_ret)
            *size_ret = strlen(vendor) + 1;
        return value && size <= strlen(vendor) ? CL_INVALID_VALUE : CL_SUCCESS;
    }
    const void *from = info == CL_DEVICE_TYPE                  ? (const void *)&type
                       : info == CL_DEVICE_MAX_COMPUTE_UNITS   ? (const void *)&units
                       : info == CL_DEVICE_GLOBAL_MEM_SIZE     ? (const void *)&memory
                       : info == CL_DEVICE_HOST_UNIFIED_MEMORY ? (const void *)&no
                                                               : NULL;
    const cl_int code = __real_clGetDeviceInfo(id, info, size, value, size_ret);
    if (code == CL_SUCCESS && value && from)
        memcpy(value, from, size);
    return code;
}

static const char rows[] = "husk_softmax_rows";

static bool begins_with(cl_kernel kernel, const char *text)
{
    char name[100] = "";
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return strncmp(name, text, strlen(text)) == 0;
}

cl_int __real_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info info, size_t size,
                                       void *value, size_t *size_ret);
cl_int __wrap_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info info, size_t size,
                                       void *value, size_t *size_ret);
cl_int __wrap_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info info, size_t size,
                                       void *value, size_t *size_ret)
{
    if (info != CL_KERNEL_PRIVATE_MEM_SIZE || !begins_with(kernel, rows))
        return __real_clGetKernelWorkGroupInfo(kernel, id, info, size, value, size_ret);
    if (answer == CL_SUCCESS)
        memcpy(value, &private_memory, sizeof private_memory);
    return answer;
}

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                                     cl_event *event)
{
    if (launching != CL_SUCCESS && begins_with(kernel, launched))
        return launching;
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event);
}

// ---- a context on such a device ----

static husk_context *context;
static husk_queue *queue;
static husk_buffer *buffer;

static void setup(void)
{
    type = CL_DEVICE_TYPE_GPU;
    vendor = "Nobody in particular"; // not that of the platform at hand
    private_memory = 0;
    answer = launching = CL_SUCCESS;
    launched = rows;
}

static void begin(void)
{
    static float ones[COUNT];
    husk_error error;
    husk_device_list *list;
    test_ok_error(husk_device_list_create(&list, &error), &error);
    test_ok_error(husk_context_create(husk_device_list_get(list, 0), NULL, &context, &error), &error);
    husk_device_list_release(list);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, sizeof ones, &buffer, &error), &error);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1.0f;
    test_ok_error(husk_buffer_write(queue, buffer, 0, sizeof ones, ones), husk_queue_error(queue));
}

static void end(void)
{
    husk_queue_finish(queue);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    buffer = NULL;
    queue = NULL;
    context = NULL;
}

static husk_status soften(const char *variant)
{
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){ROWS, COLUMNS});
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .variant = variant, .axis = -1);
    return husk_softmax(queue, &params, &x, &x);
}

static void expect(const char *variant, husk_status wanted, const char *said)
{
    begin();
    const husk_status status = soften(variant);
    const char *text = husk_queue_error(queue)->text;
    ck_assert_msg(status == wanted, "%s: %s", husk_status_name(status), status == HUSK_OK ? "" : text);
    if (status != HUSK_OK) {
        ck_assert_msg(strstr(text, said) != NULL, "'%s' is not in: %s", said, text);
    } else {
        float result[COUNT];
        test_ok_error(husk_buffer_read(queue, buffer, 0, sizeof result, result), husk_queue_error(queue));
        for (int i = 0; i < COUNT; i++)
            ck_assert_float_eq_tol(result[i], 1.0f / COLUMNS, 1e-8f);
    }
    end();
}

START_TEST(more_than_a_gpu_can_have)
{
    private_memory = 262160;
    expect("rows", HUSK_UNSUPPORTED, "262160 bytes of private memory");
    expect(NULL, HUSK_OK, "");
    private_memory = 32768;
    expect("rows", HUSK_OK, "");
    private_memory = 262160;
    answer = CL_INVALID_VALUE; // the driver does not know the question
    expect("rows", HUSK_OK, "");
    answer = CL_OUT_OF_HOST_MEMORY;
    expect("rows", HUSK_OUT_OF_HOST_MEMORY, "clGetKernelWorkGroupInfo");
}
END_TEST

START_TEST(intels_units_have_fewer_items_under_way)
{
    vendor = "Intel(R) Corporation";
    private_memory = 262160; // 2,048 work-items a unit would take 71 GB, 256 take 8.9
    expect("rows", HUSK_OK, "");
    private_memory = 8 * 262160;
    expect("rows", HUSK_UNSUPPORTED, "2097280 bytes of private memory");
    expect(NULL, HUSK_OK, "");
}
END_TEST

START_TEST(a_cpu_has_enough)
{
    type = CL_DEVICE_TYPE_CPU;
    private_memory = 262160;
    expect("rows", HUSK_OK, "");
    launching = CL_OUT_OF_HOST_MEMORY;
    expect("rows", HUSK_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY");
}
END_TEST

START_TEST(a_gpu_may_say_so_at_the_launch)
{
    launching = CL_OUT_OF_HOST_MEMORY;
    expect("rows", HUSK_UNSUPPORTED, "the device refuses the launch");
    expect(NULL, HUSK_OK, "");
}
END_TEST

START_TEST(a_probe_that_is_not_launched_is_made_again)
{
    static const cl_int answers[] = {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, CL_INVALID_WORK_GROUP_SIZE};
    begin();
    const bool has_f64 = husk_context_has(context, HUSK_FEATURE_F64);
    end();
    for (int i = 0; i < 3; i++) {
        launched = "husk_runtime_probe";
        launching = answers[i];
        begin();
        ck_assert(!husk_context_has(context, HUSK_FEATURE_F64));
        launching = CL_SUCCESS;
        ck_assert_msg(husk_context_has(context, HUSK_FEATURE_F64) == (has_f64 && i < 2), "after %d", answers[i]);
        end();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("private_memory");
    TCase *tests = tcase_create("private_memory");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, more_than_a_gpu_can_have);
    tcase_add_test(tests, intels_units_have_fewer_items_under_way);
    tcase_add_test(tests, a_cpu_has_enough);
    tcase_add_test(tests, a_gpu_may_say_so_at_the_launch);
    tcase_add_test(tests, a_probe_that_is_not_launched_is_made_again);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
