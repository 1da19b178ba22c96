// SPDX-License-Identifier: MIT
#include "worker/peaks.h"

#include <stdio.h>
#include <string.h>

const char *bench_arithmetic_name(bench_arithmetic arithmetic)
{
    static const char *const names[BENCH_ARITHMETICS] = {"f64", "f16", "i8"};
    return names[arithmetic];
}

const char *bench_transfer_name(bench_transfer transfer)
{
    static const char *const names[BENCH_TRANSFERS] = {"to_device", "to_device_pinned", "from_device",
                                                       "from_device_pinned"};
    return names[transfer];
}

static void put(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, value > 0 ? json_real(value) : json_null());
}

bool bench_engine_is_of_cpus(const char *name)
{
    return strstr(name, "amx") || strstr(name, "avx512");
}

json_t *bench_peaks_json(const bench_peaks *peaks)
{
    json_t *reply = json_object(), *copy = json_array(), *arithmetic = json_object(), *transfers = json_object(),
           *engines = json_array();
    json_object_set_new(reply, "fma_gflops", json_real(peaks->fma_gflops));
    put(arithmetic, "f32", peaks->fma_gflops);
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        put(arithmetic, bench_arithmetic_name((bench_arithmetic)i), peaks->arithmetic[i]);
    json_object_set_new(reply, "arithmetic", arithmetic);
    for (int i = 0; i < peaks->engine_count; i++)
        json_array_append_new(engines, json_pack("{s:s, s:s, s:f}", "name", peaks->engines[i].name, "dtype",
                                                 peaks->engines[i].dtype, "gflops", peaks->engines[i].gflops));
    json_object_set_new(reply, "engines", engines);
    for (int i = 0; i < peaks->copy_count; i++)
        json_array_append_new(
            copy, json_pack("{s:f, s:f}", "bytes", peaks->copy[i].bytes, "gbytes_per_s", peaks->copy[i].gbytes_per_s));
    json_object_set_new(reply, "copy", copy);
    put(reply, "local_gbytes_per_s", peaks->local_gbytes_per_s);
    for (int i = 0; i < BENCH_TRANSFERS; i++)
        put(transfers, bench_transfer_name((bench_transfer)i), peaks->transfers[i]);
    json_object_set_new(reply, "transfer_gbytes_per_s", transfers);
    json_object_set_new(reply, "launch_ns", json_real(peaks->launch_ns));
    put(reply, "round_trip_ns", peaks->round_trip_ns);
    json_object_set_new(reply, "trust_ratio", json_real(peaks->trust_ratio));
    return reply;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

void bench_read_peaks(const json_t *json, bench_peaks *peaks)
{
    const json_t *copy = json_object_get(json, "copy"), *arithmetic = json_object_get(json, "arithmetic");
    const json_t *transfers = json_object_get(json, "transfer_gbytes_per_s"),
                 *engines = json_object_get(json, "engines");
    peaks->fma_gflops = number_of(json, "fma_gflops");
    peaks->launch_ns = number_of(json, "launch_ns");
    peaks->round_trip_ns = number_of(json, "round_trip_ns");
    peaks->trust_ratio = number_of(json, "trust_ratio");
    peaks->local_gbytes_per_s = number_of(json, "local_gbytes_per_s");
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        peaks->arithmetic[i] = number_of(arithmetic, bench_arithmetic_name((bench_arithmetic)i));
    for (int i = 0; i < BENCH_TRANSFERS; i++)
        peaks->transfers[i] = number_of(transfers, bench_transfer_name((bench_transfer)i));
    for (size_t i = 0; i < json_array_size(copy) && i < BENCH_COPY_SIZES; i++) {
        peaks->copy[i].bytes = number_of(json_array_get(copy, i), "bytes");
        peaks->copy[i].gbytes_per_s = number_of(json_array_get(copy, i), "gbytes_per_s");
        peaks->copy_count = (int)i + 1;
    }
    for (size_t i = 0; i < json_array_size(engines) && i < BENCH_ENGINE_PEAKS; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(engines, i), "name"));
        const char *dtype = json_string_value(json_object_get(json_array_get(engines, i), "dtype"));
        snprintf(peaks->engines[i].name, sizeof peaks->engines[i].name, "%s", name ? name : "");
        snprintf(peaks->engines[i].dtype, sizeof peaks->engines[i].dtype, "%s", dtype ? dtype : "");
        peaks->engines[i].gflops = number_of(json_array_get(engines, i), "gflops");
        peaks->engine_count = (int)i + 1;
    }
}
