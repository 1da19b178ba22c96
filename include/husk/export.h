/* SPDX-License-Identifier: MIT */
/*
 * husk/export.h: visibility of the public names. Only husk_* leaves the shared library.
 */
#ifndef HUSK_EXPORT_H
#define HUSK_EXPORT_H

#if defined(_WIN32)
#define HUSK_API
#elif defined(__GNUC__)
#define HUSK_API __attribute__((visibility("default")))
#else
#define HUSK_API
#endif

#ifdef __cplusplus
#define HUSK_BEGIN_DECLS extern "C" {
#define HUSK_END_DECLS }
#else
#define HUSK_BEGIN_DECLS
#define HUSK_END_DECLS
#endif

#endif
