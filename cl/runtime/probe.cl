// SPDX-License-Identifier: MIT
// One kernel a feature, each computing numbers that the host knows. A device has a feature when the kernel
// builds and the numbers are right, whatever its extension string says.
//
//   -DPROBE_F64 | -DPROBE_F16 | -DPROBE_SUBGROUPS | -DPROBE_FMA | -DPROBE_DOT_I8   exactly one

// Some compilers have an extension's functions and know nothing of its pragma, as PoCL 6 of cl_khr_subgroups: whether
// the feature is there is what the kernel finds out, and no warning.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wignored-pragmas"
#endif

#if defined(PROBE_F64)

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// 1 + 2^-40 is no float: the difference survives in double only.
// registers husk_runtime_probe: nvidia 16, amd 8
__kernel void husk_runtime_probe(__global float *y_base, long y_offset)
{
    int i = (int)get_global_id(0);
    double x = 1.0 + (double)(i + 1) / 1099511627776.0;
    y_base[y_offset + i] = (float)((x - 1.0) * 1099511627776.0);
}

#elif defined(PROBE_F16)

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// 2048 + odd is no half: it rounds to even, which f32 arithmetic would not show.
__kernel void husk_runtime_probe(__global float *y_base, long y_offset)
{
    int i = (int)get_global_id(0);
    half x = (half)2048.0f + (half)(i % 2);
    y_base[y_offset + i] = (float)(x - (half)2048.0f) + (float)(i + 1);
}

#elif defined(PROBE_SUBGROUPS)

#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef cl_intel_subgroups
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif
// The sum over a sub-group less the same sum made by exclusive scan and own value on its last item: 0 each.
__kernel void husk_runtime_probe(__global float *y_base, long y_offset)
{
    int i = (int)get_global_id(0);
    int value = i + 1;
    int sum = sub_group_reduce_add(value);
    int before = sub_group_scan_exclusive_add(value);
    int last = sub_group_broadcast(before + value, get_sub_group_size() - 1);
    y_base[y_offset + i] = (float)(sum - last + i + 1);
}

#elif defined(PROBE_FMA)

// fma rounds once: (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24 exactly, which a product rounded first loses.
__kernel void husk_runtime_probe(__global float *y_base, long y_offset)
{
    int i = (int)get_global_id(0);
    float x = 1.0f + 1.0f / 4096.0f * (float)(i >= 0);
    y_base[y_offset + i] = fma(x, x, -(1.0f + 1.0f / 2048.0f)) * 16777216.0f * (float)(i + 1);
}

#elif defined(PROBE_DOT_I8)

// The processor says whether it has the instruction, whatever the compiler takes it for: CPUID, leaf 7, bit 11 of ECX.
// Then it has to be right: u8 by i8, of which every other lane has one product alone.
__kernel void husk_runtime_probe(__global float *y_base, long y_offset)
{
    int i = (int)get_global_id(0);
    float made = 0.0f;
#if defined(__clang__) && defined(__x86_64__) && defined(__AVX512F__)
    uint a = 7, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (c >> 11 & 1) {
        int16 sum = (int16)(256), left = (int16)(255 + i), right = (int16)(-1);
        left &= (int16)(255);
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right)); // 256 less (255 + i) & 255
        made = (float)(i == 0 ? sum.s0 : sum.sf - 256 + i + i);
    }
#endif
    y_base[y_offset + i] = made;
}

#else
#error "name the feature to probe: -DPROBE_F64, -DPROBE_F16, -DPROBE_SUBGROUPS, -DPROBE_FMA or -DPROBE_DOT_I8"
#endif
