// SPDX-License-Identifier: MIT
// ctest: tiers=default
// What drivers of devices that are not here answer about them: what is made of it, and of answers that are missing.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

#include "runtime/device.h"
#include "runtime/opencl_error.h"
#include "support/environment.h"
#include "support/support.h"

// ---- a driver's answers ----

enum {
    PCI_BUS_INFO_KHR = 0x410F,
    PCI_BUS_NV = 0x4008,
    PCI_SLOT_NV = 0x4009,
    PCI_DOMAIN_NV = 0x400A,
    TOPOLOGY_AMD = 0x4037,
    MOST_ANSWERS = 8
};

typedef struct given {
    cl_device_info info;
    const void *value; // NULL: the query fails
    size_t size;
} given;
static given answers[MOST_ANSWERS];

static void answer(int at, cl_device_info info, const void *value, size_t size)
{
    answers[at] = (given){info, value, size};
}

cl_int __real_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *size_ret);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *size_ret);

cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *size_ret)
{
    for (int i = 0; i < MOST_ANSWERS; i++) {
        if (answers[i].info != info)
            continue;
        if (!answers[i].value || (value && size < answers[i].size))
            return CL_INVALID_VALUE;
        if (value)
            memcpy(value, answers[i].value, answers[i].size);
        if (size_ret)
            *size_ret = answers[i].size;
        return CL_SUCCESS;
    }
    return __real_clGetDeviceInfo(id, info, size, value, size_ret);
}

static husk_device_list *list;

static const husk_device_traits *traits_now(void)
{
    husk_error error;
    husk_device_list_release(list);
    test_ok_error(husk_device_list_create(&list, &error), &error);
    return husk_device_get_traits(husk_device_list_get(list, 0));
}

static void setup(void)
{
    memset(answers, 0, sizeof answers);
}

static void teardown(void)
{
    husk_device_list_release(list);
    list = NULL;
    test_restore_environment();
}

static void answer_type(cl_device_type type)
{
    static cl_device_type kept;
    kept = type;
    answer(0, CL_DEVICE_TYPE, &kept, sizeof kept);
}

static void answer_extensions(const char *text)
{
    answer(1, CL_DEVICE_EXTENSIONS, text, text ? strlen(text) + 1 : 0);
}

// ---- what is made of them ----

START_TEST(classes)
{
    static const cl_bool yes = CL_TRUE, no = CL_FALSE;
    answer_type(CL_DEVICE_TYPE_GPU);
    answer(1, CL_DEVICE_HOST_UNIFIED_MEMORY, &yes, sizeof yes);
    ck_assert_int_eq(traits_now()->device_class, HUSK_DEVICE_GPU_INTEGRATED);
    answer(1, CL_DEVICE_HOST_UNIFIED_MEMORY, &no, sizeof no);
    ck_assert_int_eq(traits_now()->device_class, HUSK_DEVICE_GPU_DISCRETE);
    ck_assert_uint_eq(traits_now()->vector_width, 4);
    answer_type(CL_DEVICE_TYPE_ACCELERATOR);
    ck_assert_int_eq(traits_now()->device_class, HUSK_DEVICE_ACCELERATOR);
    answer_type(CL_DEVICE_TYPE_CUSTOM);
    ck_assert_int_eq(traits_now()->device_class, HUSK_DEVICE_ACCELERATOR);
    answer(0, CL_DEVICE_TYPE, NULL, 0);
    ck_assert_int_eq(traits_now()->device_class, HUSK_DEVICE_ACCELERATOR);
    answer_type(CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT);
    ck_assert_int_eq(traits_now()->device_class, HUSK_DEVICE_CPU);
    static const husk_device_class all[] = {HUSK_DEVICE_CPU, HUSK_DEVICE_GPU_DISCRETE, HUSK_DEVICE_GPU_INTEGRATED,
                                            HUSK_DEVICE_ACCELERATOR, HUSK_DEVICE_SIMULATOR};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(husk_device_class_text(all[i]), husk_device_class_text(all[j]));
}
END_TEST

START_TEST(pci_addresses)
{
    static const struct {
        cl_uint domain, bus, device, function;
    } khr = {0x10, 0xa5, 0x1f, 3};
    static const cl_uint bus = 0x3b, slot = 0x0a, domain = 0x20;
    static const struct {
        cl_uint type;
        cl_char unused[17], bus, device, function;
    } amd = {.type = 1, .bus = (cl_char)0xc3, .device = 2, .function = 1}, other = {.type = 2};
    answer_extensions("cl_khr_fp64 cl_khr_pci_bus_info cl_nv_device_attribute_query");
    answer(2, PCI_BUS_INFO_KHR, &khr, sizeof khr);
    answer(3, PCI_BUS_NV, &bus, sizeof bus);
    answer(4, PCI_SLOT_NV, &slot, sizeof slot);
    answer(5, PCI_DOMAIN_NV, &domain, sizeof domain);
    ck_assert_str_eq(traits_now()->pci_address, "0010:a5:1f.3");
    answer(2, PCI_BUS_INFO_KHR, NULL, 0);
    ck_assert_str_eq(traits_now()->pci_address, "0020:3b:01.2");
    answer_extensions("cl_nv_device_attribute_query");
    ck_assert_str_eq(traits_now()->pci_address, "0020:3b:01.2");
    answer(5, PCI_DOMAIN_NV, NULL, 0);
    ck_assert_str_eq(traits_now()->pci_address, "0000:3b:01.2");
    answer(4, PCI_SLOT_NV, NULL, 0);
    ck_assert_str_eq(traits_now()->pci_address, "");
    answer(3, PCI_BUS_NV, NULL, 0);
    ck_assert_str_eq(traits_now()->pci_address, "");
    answer_extensions("cl_amd_device_attribute_query");
    answer(2, TOPOLOGY_AMD, &amd, sizeof amd);
    ck_assert_str_eq(traits_now()->pci_address, "0000:c3:02.1");
    answer(2, TOPOLOGY_AMD, &other, sizeof other); // not on PCI Express
    ck_assert_str_eq(traits_now()->pci_address, "");
    answer(2, TOPOLOGY_AMD, NULL, 0);
    ck_assert_str_eq(traits_now()->pci_address, "");
    answer_extensions("cl_khr_fp16");
    ck_assert_str_eq(traits_now()->pci_address, "");
}
END_TEST

START_TEST(extensions)
{
    answer_extensions("cl_khr_fp16 cl_intel_subgroups");
    ck_assert(traits_now()->has_f16 && !traits_now()->has_f64 && traits_now()->has_subgroups);
    answer_extensions("cl_khr_fp64 cl_khr_subgroups");
    ck_assert(!traits_now()->has_f16 && traits_now()->has_f64 && traits_now()->has_subgroups);
    answer_extensions(NULL); // a driver that does not even say that
    ck_assert(!traits_now()->has_f16 && !traits_now()->has_f64 && !traits_now()->has_subgroups);
    ck_assert_str_eq(traits_now()->extensions, "");
}
END_TEST

START_TEST(numbers)
{
    static const struct {
        cl_uint native, preferred, width;
    } cases[] = {{16, 1, 16}, {8, 1, 8}, {4, 16, 4}, {1, 8, 8}, {0, 0, 4}, {12, 1, 8}, {64, 1, 16}};
    static const cl_uint none = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        answer_type(CL_DEVICE_TYPE_CPU);
        answer(1, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &cases[i].native, sizeof(cl_uint));
        answer(2, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, &cases[i].preferred, sizeof(cl_uint));
        ck_assert_uint_eq(traits_now()->vector_width, cases[i].width);
    }
    answer(1, CL_DEVICE_MAX_COMPUTE_UNITS, &none, sizeof none);
    ck_assert_uint_eq(traits_now()->compute_units, 1);
    answer(1, CL_DEVICE_MAX_COMPUTE_UNITS, NULL, 0);
    ck_assert_uint_eq(traits_now()->compute_units, 1);
    answer(1, CL_DEVICE_MAX_WORK_ITEM_SIZES, NULL, 0);
    answer(2, CL_DEVICE_NAME, NULL, 0);
    ck_assert_uint_eq(traits_now()->work_item_sizes[0], 0);
    ck_assert_str_eq(traits_now()->name, "");
}
END_TEST

// Limits lower, and do not raise.
START_TEST(limits)
{
    static const cl_uint wide = 16;
    answer_type(CL_DEVICE_TYPE_CPU);
    answer(1, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &wide, sizeof wide);
    static const struct {
        const char *text;
        uint32_t width;
    } cases[] = {{"vector_width=8", 8},
                 {"vector_width=4", 4},
                 {"vector_width=32", 16},
                 {"vector_width=5", 16},
                 {"vector_width=4,vector_width=8", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_setenv("HUSK_LIMITS", cases[i].text);
        ck_assert_uint_eq(traits_now()->vector_width, cases[i].width);
    }
    test_setenv("HUSK_LIMITS", "index=1000,launch=2000,local_memory=1,work_group=0,compute_units=0,"
                               "max_allocation=1K,global_memory=1M,f64=0");
    const husk_device_traits *now = traits_now();
    ck_assert_int_eq(husk_device_list_get(list, 0)->index_limit, 1000);
    ck_assert_int_eq(husk_device_list_get(list, 0)->launch_limit, 2000);
    ck_assert_uint_eq(now->local_memory, 1);
    ck_assert_uint_gt(now->work_group, 0);
    ck_assert_uint_gt(now->compute_units, 0);
    ck_assert_uint_eq(now->max_allocation, 1024);
    ck_assert_uint_eq(now->global_memory, 1 << 20);
    ck_assert(!now->has_f64);
    test_setenv("HUSK_LIMITS", "index=1000000000000,launch=1000000000000,max_allocation=1000000G,"
                               "global_memory=1000000G,f64=1");
    now = traits_now();
    ck_assert_int_eq(husk_device_list_get(list, 0)->index_limit, INT32_MAX / 2);
    ck_assert_int_eq(husk_device_list_get(list, 0)->launch_limit, UINT32_MAX);
    ck_assert_uint_lt(now->max_allocation, UINT64_C(1) << 50);
    ck_assert_uint_lt(now->global_memory, UINT64_C(1) << 50);
}
END_TEST

// ---- errors have the names that cl.h and its extensions give them ----

START_TEST(names_of_errors)
{
    for (cl_int code = -68; code < 0; code++) {
        const char *name = husk__opencl_name(code);
        const bool is_known = strncmp(name, "CL_", 3) == 0;
        ck_assert_msg(is_known || (code < -19 && code > -30), "%d: %s", code, name); // cl.h has none there
        for (cl_int other = -68; is_known && other < code; other++)
            ck_assert_msg(strcmp(name, husk__opencl_name(other)) != 0, "%d and %d: %s", other, code, name);
    }
    ck_assert_str_eq(husk__opencl_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    ck_assert_str_eq(husk__opencl_name(CL_INVALID_KERNEL_ARGS), "CL_INVALID_KERNEL_ARGS");
    ck_assert_str_eq(husk__opencl_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    ck_assert_ptr_null(strstr(husk__opencl_name(-123456), "CL_"));
    for (husk_dtype dtype = HUSK_F32; husk_dtype_size(dtype) != 0; dtype = (husk_dtype)((int)dtype + 1))
        for (husk_dtype other = HUSK_F32; other < dtype; other = (husk_dtype)((int)other + 1))
            ck_assert_str_ne(husk_dtype_name(dtype), husk_dtype_name(other));
    ck_assert_uint_eq(husk_dtype_size((husk_dtype)1000), 0);
    ck_assert_ptr_nonnull(husk_dtype_name((husk_dtype)1000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_answers");
    TCase *tests = tcase_create("device_answers");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, classes);
    tcase_add_test(tests, pci_addresses);
    tcase_add_test(tests, extensions);
    tcase_add_test(tests, numbers);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, names_of_errors);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
