/* SPDX-License-Identifier: MIT */
/** @file
 * Visibility of the public names, and the macros that make params structs.
 *
 * The shared library exports only names that begin with `husk_`.
 *
 * A struct that begins with its own size has a macro that sets the size and the members that you name. All other
 * members are zero, which means the default:
 *
 *     HUSK_CONV_PARAMS(.pad = {1, 1})
 *
 * The macros work in C11, and in C++ from C++20 on. C++ requires the members in the order of their declaration. For
 * C++17 there is husk/husk.hpp.
 */
#ifndef HUSK_EXPORT_H
#define HUSK_EXPORT_H

/* The macros leave out most members, which are zero; g++ and clang++ warn of that outside system headers. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC system_header
#endif

#if defined(HUSK_API)
/* Husk's own build has set it, for a library that has parts of libhusk inside and does not export them. */
#elif defined(_WIN32)
#define HUSK_API
#elif defined(__GNUC__)
/** Marks a public function. */
#define HUSK_API __attribute__((visibility("default")))
#else
#define HUSK_API
#endif

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
/** An initializer that sets all members of a struct to zero, in C and in C++. */
#define HUSK_ZEROS \
    {              \
        0          \
    }
/** Begins declarations with C linkage. */
#define HUSK_BEGIN_DECLS
/** Ends declarations with C linkage. */
#define HUSK_END_DECLS
/** A struct with its `size` set, the given members set, and all others zero. The `HUSK_..._PARAMS` macros use it. */
#define HUSK_MAKE(type, ...)              \
    (type)                                \
    {                                     \
        .size = sizeof(type), __VA_ARGS__ \
    }
#endif

#endif
