/* SPDX-License-Identifier: MIT */
/*
 * husk/context.h: one device, its memory and its programs, shared by threads.
 *
 * A context holds exactly one device; several devices are several contexts, and two contexts never meet.
 * Every call here may be made from any thread. Children (queues, buffers, plans, packed weights) keep
 * their context alive, so the order of releases does not matter.
 *
 * The shared library stays loaded until the process ends, also after a dlclose: drivers call it back when memory is no
 * longer used, which may be later than the last release. A module that has the static library inside has to stay, too
 * (-Wl,-z,nodelete).
 *
 * After a fork: OpenCL drivers keep threads and locks that a child process does not have, and its calls would hang,
 * also those on a context of its own. So where a process, or one that it was forked from, has opened OpenCL through
 * this library (a list of devices, a context), every call of a child is refused at once, UNSUPPORTED, and what it
 * releases it keeps. A child from before the first such call is free, and so is one that execs. What the program itself
 * opened by OpenCL before the fork the library cannot know.
 *
 * What PoCL lacks: it ends the process where a kernel's work-group does not fit its threads' stacks, or the disk is
 * full to which it writes what it compiles. So there a context is UNSUPPORTED in a process whose threads have stacks
 * of less than 1 MiB (ulimit -s, as it was when the process began), and a call that needs a kernel for the first time
 * is IO where less than 16 MiB are free in PoCL's folder (POCL_CACHE_DIR). Nobody looks at the stack of the thread
 * that calls, on which PoCL compiles: 64 KiB were too few, 128 enough (PoCL 3.1); give it 512.
 */
#ifndef HUSK_CONTEXT_H
#define HUSK_CONTEXT_H

#include <husk/device.h>

HUSK_BEGIN_DECLS

typedef struct husk_context husk_context;

typedef enum husk_log_level {
    HUSK_LOG_DEBUG = 0,
    HUSK_LOG_INFORMATION = 1,
    HUSK_LOG_WARNING = 2
} husk_log_level;

/*
 * Called from the thread that does the work; must not call back into the same context.
 *
 * A driver's compiler may crash, and the process with it. A DEBUG line before each build names the program:
 *     building FILE with "OPTIONS" (refused where there is PATH)
 * and one behind it says "built ..." or "not built: ...". A host that runs the library in a process of its own may make
 * a file at PATH after a crash, whose first line says what has happened. What ran before may be the cause, too: clbench
 * makes the file where a new process crashes on the same program, having launched nothing else. Until the file is
 * deleted or a week old, that program is not built again on this driver: what needs it answers HUSK_BUILD_FAILED, and
 * calls that leave the choice to the library take another variant. Each call that needs the program looks at the file.
 * Without a cache of binaries there is no PATH.
 *
 * Some drivers compile a kernel only when it is launched, in threads of their own perhaps (PoCL). Before the context's
 * first launch of each kernel a DEBUG line says
 *     first launch of KERNEL of FILE
 * A crash after it may be the compiler's or the kernel's own: nothing says which, and there is no PATH for it. Some
 * drivers compile a kernel once more for another number of work-items, of which no line tells.
 */
typedef void (*husk_log_callback)(void *user, husk_log_level level, const char *text);

typedef enum husk_cache_mode {
    HUSK_CACHE_DEFAULT =
        0, /* HUSK_CACHE of the environment, else on, but off where the driver caches (PoCL), and on simulators */
    HUSK_CACHE_ON = 1,
    HUSK_CACHE_OFF = 2
} husk_cache_mode;

/*
 * Precision of f32 matrix work, named as PyTorch names it. Never lowered without being asked, by a call's params or
 * for all calls by the context's. Where no matrix engine (husk/engine.h) serves it, HIGH and MEDIUM are computed as
 * HIGHEST, but for convolutions, of all dtypes but f64, which may take Winograd's algorithm in them (husk/ops/conv.h).
 *
 * HIGH takes each factor in two parts and leaves out the product of the low ones. From a sum of k products it differs
 * by
 *     |error| <= (3 * 2^-16 + 2 (3 k + 3 k / 4) 2^-24) * sum |a b|      with parts of bf16
 *     |error| <= (3 * 2^-22 + 2 (3 k + 3 k / 4) 2^-24) * sum |a b|      with parts of TF32 (NVIDIA)
 * MEDIUM rounds each factor to one part:
 *     |error| <= (2^-7 + 2^-16 + 2 (k + k / 4) 2^-24) * sum |a b|       bf16
 *     |error| <= (2^-10 + 2^-22 + 2 (k + k / 4) 2^-24) * sum |a b|      TF32
 * and a few units of 2^-24 for what follows the sum; husk_plan_error_factor is the bound of a plan. A part rounds to
 * nearest and errs by 2^-8 (bf16) or 2^-11 (TF32) of the number, so two parts leave 2^-16 or 2^-22 of it, and the
 * product of two low parts is as small. Engines may cut off where f32 rounds: twice 2^-24 an addition, and once an
 * instruction, which adds four products or more. NaN stays NaN; an infinite factor gives an infinity or, where HIGH
 * multiplies it by a low part, NaN. Parts of numbers below 2^-110 may be lost as denormals.
 */
typedef enum husk_precision {
    HUSK_PRECISION_DEFAULT = 0, /* the context's; HIGHEST where that says nothing */
    HUSK_PRECISION_HIGHEST = 1, /* true f32 */
    HUSK_PRECISION_HIGH = 2,    /* may use three products of bf16 or TF32 parts */
    HUSK_PRECISION_MEDIUM = 3   /* may use one product of bf16 or TF32 */
} husk_precision;

/* Zero means the default throughout. */
typedef struct husk_context_params {
    uint32_t size;                /* sizeof this struct: HUSK_CONTEXT_PARAMS sets it */
    uint32_t plan_cache_capacity; /* plans kept for immediate calls; default 512 */
    uint64_t memory_budget; /* bytes all buffers, queues' scratch and packed weights together may take, in
                                     blocks of up to a quarter more than was asked for, unless that is too much;
                                     default: the device's global memory. Pinned staging for asynchronous writes (some
                                     128 MiB a queue at most, unless one write is larger) is beside it */
    husk_cache_mode cache;        /* binaries of programs on disk */
    const char *cache_directory;  /* default $XDG_CACHE_HOME/husk, else $HOME/.cache/husk */
    husk_log_callback log;        /* default: silence */
    void *log_user;
    husk_precision precision;     /* of calls whose params leave it at DEFAULT */
    uint32_t units; /* compute units to use, by a sub-device (clCreateSubDevices, by counts); the others
                                     are left alone, as for the program's own threads. Which ones they are is the
                                     driver's choice: two contexts may have the same. Default: the whole device */
} husk_context_params;

#define HUSK_CONTEXT_PARAMS(...) HUSK_MAKE(husk_context_params, __VA_ARGS__)

/*
 * Create a context. device: from a list, or NULL for what husk_device_list_select(NULL) gives.
 * params: NULL for the defaults. More units than the device has are INVALID_ARGUMENT; of a device that cannot be
 * divided by counts, as most GPUs, and a PoCL that was built with OpenMP, TBB or for conformance (Debian's 7.1), fewer
 * than all are UNSUPPORTED.
 */
HUSK_API husk_status husk_context_create(const husk_device *device, const husk_context_params *params,
                                         husk_context **context, husk_error *error);
HUSK_API void husk_context_retain(husk_context *context);
HUSK_API void husk_context_release(husk_context *context);

HUSK_API const husk_device_traits *husk_context_traits(const husk_context *context);

/* Hand a line to the context's log callback, for libraries that stand on this one. Where there is none it is lost. */
HUSK_API void husk_context_log(husk_context *context, husk_log_level level, const char *text);

/*
 * Build the programs of these operators now, for f32, in parallel where the driver allows it. ops: names
 * such as "conv" or "softmax_backward"; NULL with count 0 means all but the gradients. An unknown name is
 * INVALID_ARGUMENT.
 */
HUSK_API husk_status husk_context_prewarm(husk_context *context, const char *const *ops, size_t count,
                                          husk_error *error);

typedef struct husk_memory_stats {
    uint64_t budget_bytes;
    uint64_t live_bytes;   /* in buffers the caller or a queue holds */
    uint64_t peak_bytes;   /* the most live_bytes has been; what has guards (husk/guard.h) raises it no further */
    uint64_t cached_bytes; /* freed, kept for reuse */
    uint64_t allocations;  /* made from the driver */
    uint64_t reuses;       /* served from the cache */
} husk_memory_stats;

HUSK_API void husk_context_memory_stats(const husk_context *context, husk_memory_stats *stats);
/*
 * Return cached memory to the driver until at most keep_bytes remain cached, and the host what is kept of buffers that
 * were released (husk/buffer.h). What enqueued work uses stays, and counts, until that has ended: wait for the queues
 * first.
 */
HUSK_API void husk_context_trim(husk_context *context, uint64_t keep_bytes);

typedef struct husk_program_stats {
    uint64_t builds;       /* programs compiled from source */
    uint64_t cache_loads;  /* programs loaded from the cache on disk */
    uint64_t build_ns;     /* time spent in both */
    uint64_t plans;        /* plans made for immediate calls */
    uint64_t plan_hits;    /* immediate calls that found theirs */
} husk_program_stats;

HUSK_API void husk_context_program_stats(const husk_context *context, husk_program_stats *stats);

/* What a device may offer beyond OpenCL C 1.2's minimum, or get wrong. */
typedef enum husk_feature {
    HUSK_FEATURE_F64 = 0,
    HUSK_FEATURE_F16 = 1,
    HUSK_FEATURE_SUBGROUPS = 2,
    HUSK_FEATURE_FMA = 3,   /* fma rounds once */
    HUSK_FEATURE_DOT_I8 = 4 /* a CPU's instruction for four products of bytes in each of 16 lanes (AVX-512 VNNI) */
} husk_feature;

/* "f64" ...; "unknown" for a number that is no feature. */
HUSK_API const char *husk_feature_name(husk_feature feature);

/*
 * Whether the device has the feature: advertised, and a probe kernel that needs it builds and gives the right
 * numbers. The first question for a feature runs the probe; the answer is kept. A refusal is logged with its
 * reason. Where there was no memory for the probe the answer is no, and the next question runs it again.
 *
 * The probe is waited for, also where a context's first call in f64 is what asks: as long as the device is held by what
 * others have enqueued. Who may have kernels there that do not end asks before.
 */
HUSK_API bool husk_context_has(husk_context *context, husk_feature feature);

/*
 * What compilers are known to get wrong, or to do badly. Husk's kernels have none of the shapes that are miscompiled;
 * an application's own kernels may.
 */
typedef enum husk_quirk {
    HUSK_QUIRK_LOCAL_LOAD = 0, /* a load from local memory is repeated behind a barrier: PoCL 7.0 to 7.2 */
    HUSK_QUIRK_LOOP_EXIT = 1,  /* a loop under a condition runs past its end: PoCL 7.0 to 7.2 */
    HUSK_QUIRK_FLUSH = 2,      /* with -cl-denorms-are-zero functions of OpenCL C are called, not inlined: PoCL 6.0 */
    HUSK_QUIRK_ASSEMBLY = 3    /* inline assembly ends the process: PoCL 4.0 to 6.0 */
} husk_quirk;

/* "local_load" ...; "unknown" for a number that is no quirk. */
HUSK_API const char *husk_quirk_name(husk_quirk quirk);
/* What is wrong, and what can be done about it, a sentence each; "" for a number that is no quirk. */
HUSK_API const char *husk_quirk_text(husk_quirk quirk);
HUSK_API const char *husk_quirk_advice(husk_quirk quirk);

/*
 * Whether the device's compiler has the quirk: a kernel of its shape gives wrong numbers or, of FLUSH, takes twice
 * as long. The first question runs the kernel and waits for it; the answer is kept, and a yes is logged as
 * INFORMATION. Where the kernel could not be run the answer is no. The next question runs it again where the reason may
 * pass, as want of memory does; where it does not build, or the device refuses it, the answer stays no. ASSEMBLY alone
 * is known by the driver's version, since a compiler that ends the process cannot be tried.
 *
 * FLUSH is asked by the first program that is built for a CPU device. With the quirk, or where denormal numbers are
 * flushed anyway, programs are built without the option.
 */
HUSK_API bool husk_context_has_quirk(husk_context *context, husk_quirk quirk);
/*
 * The same question, for who wants to tell a no from a kernel that could not be run: OK and the answer in *has, or the
 * reason and no answer (*has is false). Each question runs a kernel again that could not be run.
 */
HUSK_API husk_status husk_context_quirk(husk_context *context, husk_quirk quirk, bool *has, husk_error *error);

/*
 * Bind each of the threads with which the driver computes on this CPU device to a CPU of its own. PoCL leaves them
 * unbound: two may share a CPU while another one is idle, and work then takes up to twice as long. A bound thread has
 * to wait where it is, on the other hand, while the calling thread enqueues kernels on its CPU: many short ones may
 * take a quarter longer (docs/performance.md). Husk never binds threads by itself.
 *
 * cpus: the numbers of the CPUs, at least as many as the driver has threads (its compute units). The driver's first
 * thread gets the first of them, the second thread the second; what is left over is not used. Each must be a CPU that
 * the calling thread may use now, and none may be there twice. NULL with count 0: all CPUs that the calling thread may
 * use, in ascending order.
 *
 * NULL is for a program that has the machine, or its set of CPUs, to itself. It answers UNSUPPORTED, and binds nothing,
 * where processes might meet on the same CPUs:
 * - The driver has fewer threads than the calling thread has CPUs. The rest may be for others, as where each rank of a
 *   machine is given its share of the threads.
 * - Another process of this user has bound threads in this way, has not ended, and may use one of these CPUs. Each
 *   holds a lock on the file "threads" in the user's cache folder ($XDG_CACHE_HOME/husk, else $HOME/.cache/husk) until
 *   it ends, since the driver's threads stay bound as long; a descriptor stays open for it. Where that folder cannot be
 *   had nobody is asked. Another context of the same process is not refused.
 * Such processes divide the CPUs between them, and each names its own. NULL also answers UNSUPPORTED where the driver
 * has more threads than there are CPUs.
 *
 * UNSUPPORTED, too, for any cpus:
 * - The device is no CPU, or the system is not Linux, or does not let threads be bound.
 * - The driver runs no native kernels (clEnqueueNativeKernel), by which the threads are found, or runs them on the
 *   thread that calls it.
 * - A second after the first thread has come, others have not: they have work to do, or the driver runs native kernels
 *   on some threads alone.
 * After a failure each thread may run where it might before.
 *
 * The call makes queues of its own, and waits until the device comes to them. So it is best made right behind
 * husk_context_create, before work is enqueued. It may be made again, also with other CPUs. What it changes are the
 * driver's threads, which all contexts of that driver in this process share. Two calls at once, for two contexts of one
 * driver, may keep threads from each other, and then answer UNSUPPORTED.
 */
HUSK_API husk_status husk_context_bind_threads(husk_context *context, const int *cpus, size_t count,
                                               husk_error *error);
/*
 * Whether each of those threads is bound to a CPU of its own, by whatever: OK and the answer in *bound, or UNSUPPORTED
 * for the reasons above. It waits for the device in the same way.
 */
HUSK_API husk_status husk_context_threads_bound(husk_context *context, bool *bound, husk_error *error);

/* OK, or DEVICE_LOST from the moment the device was lost on. */
HUSK_API husk_status husk_context_status(const husk_context *context);

HUSK_END_DECLS

#endif
