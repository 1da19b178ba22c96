// SPDX-License-Identifier: MIT
#include "doctor/vendors.h"

#include <string.h>

// Parts of libraries' names: whose cards they serve, and what they come in.
static const struct {
    const char *part, *vendor, *packages;
} known_icds[] = {
    {"libnvidia-opencl", "NVIDIA",
     "nvidia-opencl-icd (Debian), libnvidia-compute-NNN (Ubuntu), nvidia-driver-cuda-libs (Fedora)"},
    {"libamdocl", "AMD",
     "rocm-opencl-runtime (AMD's repository), rocm-opencl-icd (Debian, Ubuntu), rocm-opencl (Fedora)"},
    {"libigdrcl", "Intel", "intel-opencl-icd (Debian, Ubuntu), intel-compute-runtime (Fedora, Arch)"},
    {"libintelocl", "CPU", "intel-oneapi-runtime-opencl (Intel's repository)"},
    {"RusticlOpenCL", "Mesa", "mesa-opencl-icd (Debian, Ubuntu), mesa-libOpenCL (Fedora), opencl-mesa (Arch)"},
    {"MesaOpenCL", "Mesa", "mesa-opencl-icd (Debian, Ubuntu), mesa-libOpenCL (Fedora), opencl-mesa (Arch)"},
    {"libpocl", "CPU", "pocl-opencl-icd (Debian, Ubuntu), pocl (Fedora, Arch)"},
    {"oclgrind", "simulator", "oclgrind"},
};

const char *bench_doctor_vendor_of(const char *library)
{
    for (size_t i = 0; i < sizeof known_icds / sizeof *known_icds; i++) {
        if (strstr(library, known_icds[i].part))
            return known_icds[i].vendor;
    }
    return "";
}

const char *bench_doctor_packages(const char *library)
{
    for (size_t i = 0; i < sizeof known_icds / sizeof *known_icds; i++) {
        if (strstr(library, known_icds[i].part) || !strcmp(library, known_icds[i].vendor))
            return known_icds[i].packages;
    }
    return "";
}
