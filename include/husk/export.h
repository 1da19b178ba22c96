/* SPDX-License-Identifier: MIT */
/*
 * husk/export.h: visibility of the public names, of which only husk_* leaves the shared library; and how the macros
 * that make a struct do it: HUSK_CONV_PARAMS(.pad = {1, 1}) in C11, and in C++ from C++20 on, where members have to be
 * named in the order in which they are declared. husk/husk.hpp is for C++17.
 */
#ifndef HUSK_EXPORT_H
#define HUSK_EXPORT_H

/* The macros leave out most members, which are zero; g++ and clang++ warn of that outside system headers. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC system_header
#endif

#if defined(_WIN32)
#define HUSK_API
#elif defined(__GNUC__)
#define HUSK_API __attribute__((visibility("default")))
#else
#define HUSK_API
#endif

/* HUSK_ZEROS: what a struct is begun with, all of whose members are to be zero. */
#ifdef __cplusplus
#define HUSK_ZEROS \
    {              \
    }
#define HUSK_BEGIN_DECLS extern "C" {
#define HUSK_END_DECLS }
#define HUSK_MAKE(type, ...)              \
    type                                  \
    {                                     \
        .size = sizeof(type), __VA_ARGS__ \
    }
#else
#define HUSK_ZEROS \
    {              \
        0          \
    }
#define HUSK_BEGIN_DECLS
#define HUSK_END_DECLS
#define HUSK_MAKE(type, ...)              \
    (type)                                \
    {                                     \
        .size = sizeof(type), __VA_ARGS__ \
    }
#endif

#endif
