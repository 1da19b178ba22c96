/* SPDX-License-Identifier: MIT */
/** @file
 * A context: one device with its memory and programs, shared by threads.
 *
 * A context has exactly one device. For several devices create several contexts; contexts share nothing. Every call of
 * this header may be made from any thread. Queues, buffers, plans and packed weights keep their context alive, so you
 * may release the objects in any order.
 *
 * ## Unloading the library
 *
 * The shared library stays loaded until the process ends, even after dlclose. Drivers call it back when memory is no
 * longer used, and that may be later than the last release. A module that contains the static library must stay loaded,
 * too: link it with `-Wl,-z,nodelete`.
 *
 * ## After a fork
 *
 * OpenCL drivers keep threads and locks that a child process does not have. OpenCL calls of the child would hang, even
 * on a context that it creates itself. Husk therefore refuses them:
 *
 * - If the process, or one that it was forked from, has opened OpenCL through this library before the fork (a device
 *   list, a context), every call of the child returns HUSK_UNSUPPORTED at once. What the child releases is kept.
 * - A child that was forked before the first such call works as usual. So does a child that calls exec.
 * - The library cannot know whether the program itself has opened OpenCL before the fork.
 *
 * ## PoCL
 *
 * PoCL ends the process in two situations: if a kernel's work-group does not fit the stacks of PoCL's threads, and if
 * the disk is full to which PoCL writes compiled kernels. Husk refuses work before that happens:
 *
 * - If the stacks of the process's threads are below 1 MiB (`ulimit -s` when the process began), no context is created:
 *   HUSK_UNSUPPORTED.
 * - If PoCL's folder (POCL_CACHE_DIR) has less than 16 MiB free, a call that needs a kernel for the first time returns
 *   HUSK_IO.
 *
 * PoCL compiles on the stack of the calling thread, which Husk does not check. With PoCL 3.1, 64 KiB are too few and
 * 128 KiB suffice. Give such threads 512 KiB.
 */
#ifndef HUSK_CONTEXT_H
#define HUSK_CONTEXT_H

#include <husk/device.h>

HUSK_BEGIN_DECLS

/** One device with its memory and programs. */
typedef struct husk_context husk_context;

/** The levels of log lines. */
typedef enum husk_log_level { HUSK_LOG_DEBUG = 0, HUSK_LOG_INFORMATION = 1, HUSK_LOG_WARNING = 2 } husk_log_level;

/**
 * Receives the lines of the log. It is called from the thread that does the work, and must not call back into the same
 * context.
 *
 * @par Lines around builds
 * A driver's compiler may crash and end the process. A HUSK_LOG_DEBUG line before each build therefore names the
 * program; a line after it says "built ..." or "not built: ...":
 *
 *     building FILE with "OPTIONS" (refused where there is PATH)
 *
 * @par Refusing a program after a crash
 * A host that runs the library in a separate process may create a file at PATH after a crash. The file's first line
 * says what happened. Husk then does not build that program on this driver until the file is deleted or a week old:
 * - What needs the program returns HUSK_BUILD_FAILED. Calls that leave the choice to the library use another variant.
 * - Each call that needs the program looks for the file.
 * - Without a cache of binaries there is no PATH.
 *
 * Something that ran earlier in the process may also be the cause of a crash. So clbench creates the file only if a new
 * process, which has launched nothing else, crashes on the same program.
 *
 * @par Lines before first launches
 * Some drivers (PoCL) compile a kernel only when it is launched, perhaps in threads of their own. Before the context's
 * first launch of each kernel a HUSK_LOG_DEBUG line says:
 *
 *     first launch of KERNEL of FILE
 *
 * A crash after this line may come from the compiler or from the kernel. Nothing tells the two apart, and there is no
 * PATH for it. Some drivers compile a kernel again for another number of work-items; no line reports that.
 */
typedef void (*husk_log_callback)(void *user, husk_log_level level, const char *text);

/** Whether compiled programs are kept on disk. */
typedef enum husk_cache_mode {
    /** The environment variable HUSK_CACHE if it is set. Otherwise on, except on simulators and where the driver has a
     * cache of its own (PoCL). */
    HUSK_CACHE_DEFAULT = 0,
    HUSK_CACHE_ON = 1,
    HUSK_CACHE_OFF = 2
} husk_cache_mode;

/**
 * Precision of f32 matrix products, with PyTorch's names.
 *
 * The precision is never lowered without being asked for, by a call's params or by the context's for all calls. If no
 * matrix engine (husk/engine.h) can do it, HIGH and MEDIUM are computed as HIGHEST. Convolutions are the exception:
 * under HIGH and MEDIUM they may use Winograd's algorithm for all dtypes except f64 (husk/ops/conv.h).
 *
 * HIGH splits each factor into two parts and omits the product of the low parts. For a sum of k products:
 *
 *     |error| <= (3 * 2^-16 + 2 (3 k + 3 k / 4) 2^-24) * sum |a b|      with parts of bf16
 *     |error| <= (3 * 2^-22 + 2 (3 k + 3 k / 4) 2^-24) * sum |a b|      with parts of TF32 (NVIDIA)
 *
 * MEDIUM rounds each factor to one part:
 *
 *     |error| <= (2^-7 + 2^-16 + 2 (k + k / 4) 2^-24) * sum |a b|       bf16
 *     |error| <= (2^-10 + 2^-22 + 2 (k + k / 4) 2^-24) * sum |a b|      TF32
 *
 * What follows the sum adds a few units of 2^-24. husk_plan_error_factor() returns the bound of a plan.
 *
 * The bounds follow from these facts:
 *
 * - A part is rounded to nearest. Its error is 2^-8 (bf16) or 2^-11 (TF32) of the number. So two parts leave 2^-16 or
 *   2^-22 of it, and the product of two low parts is as small.
 * - Engines may truncate where f32 rounds. That costs 2 * 2^-24 for each addition, and once more for each instruction,
 *   which adds at least four products.
 *
 * NaN gives NaN. An infinite factor gives an infinity or, if HIGH multiplies it by a low part, NaN. Parts of numbers
 * below 2^-110 may be lost as denormals.
 */
typedef enum husk_precision {
    HUSK_PRECISION_DEFAULT = 0, /**< The context's precision; HIGHEST if the context sets none. */
    HUSK_PRECISION_HIGHEST = 1, /**< True f32. */
    HUSK_PRECISION_HIGH = 2, /**< May use three products of bf16 or TF32 parts. */
    HUSK_PRECISION_MEDIUM = 3 /**< May use one product of bf16 or TF32. */
} husk_precision;

/** Options of a context. Zero means the default for every member. */
typedef struct husk_context_params {
    uint32_t size; /**< sizeof this struct; HUSK_CONTEXT_PARAMS() sets it. */
    uint32_t plan_cache_capacity; /**< Plans that are kept for immediate calls. Default: 512. */
    /** Bytes that all buffers, the queues' scratch memory and packed weights may take together. They are taken in
     * blocks of up to a quarter more than was asked for, unless that is too much. Pinned staging memory for
     * asynchronous writes does not count; it is about 128 MiB a queue at most, or the size of a larger single write.
     * Default: the device's global memory. */
    uint64_t memory_budget;
    husk_cache_mode cache; /**< Whether binaries of programs are kept on disk. */
    const char *cache_directory; /**< Default: $XDG_CACHE_HOME/husk, else $HOME/.cache/husk. */
    husk_log_callback log; /**< Default: no log. */
    void *log_user; /**< The callback's first argument. */
    husk_precision precision; /**< Of calls whose params leave it at DEFAULT. */
    /** Compute units to use, by a sub-device (clCreateSubDevices, by counts). The others are left to, for example, the
     * program's own threads. The driver chooses which units these are, and two contexts may have the same ones.
     * Default: the whole device. */
    uint32_t units;
} husk_context_params;

/** Makes a husk_context_params; see husk/export.h. */
#define HUSK_CONTEXT_PARAMS(...) HUSK_MAKE(husk_context_params, __VA_ARGS__)

/**
 * Create a context.
 *
 * @param device a device of a list; NULL for the one that husk_device_list_select() chooses with a `preference` of NULL
 * @param params NULL for the defaults
 * @retval HUSK_INVALID_ARGUMENT `params` asks for more units than the device has.
 * @retval HUSK_UNSUPPORTED `params` asks for fewer units than all, and the device cannot be divided by counts. That is
 *   so for most GPUs, and for a PoCL that was built with OpenMP, TBB or for conformance (Debian's 7.1). The file's
 *   sections on forks and on PoCL name further reasons.
 */
HUSK_API husk_status husk_context_create(const husk_device *device, const husk_context_params *params,
                                         husk_context **context, husk_error *error);
/** Add a reference. */
HUSK_API void husk_context_retain(husk_context *context);
/** Drop a reference. */
HUSK_API void husk_context_release(husk_context *context);

/** The properties of the context's device. */
HUSK_API const husk_device_traits *husk_context_traits(const husk_context *context);

/** Write a line to the context's log. This is for libraries that build on Husk. Without a callback the line is lost. */
HUSK_API void husk_context_log(husk_context *context, husk_log_level level, const char *text);

/**
 * Build the programs of operators now, for f32. The builds run in parallel if the driver allows it.
 *
 * @param ops names of operators, such as "conv" or "softmax_backward". NULL with a count of 0 means all operators
 *   except the gradients.
 * @retval HUSK_INVALID_ARGUMENT A name is unknown.
 */
HUSK_API husk_status husk_context_prewarm(husk_context *context, const char *const *ops, size_t count,
                                          husk_error *error);

/** Memory of a context. */
typedef struct husk_memory_stats {
    uint64_t budget_bytes;
    uint64_t live_bytes; /**< In buffers that the caller or a queue holds. */
    uint64_t peak_bytes; /**< The maximum of live_bytes. Memory with guards (husk/guard.h) does not raise it. */
    uint64_t cached_bytes; /**< Freed, and kept for reuse. */
    uint64_t allocations; /**< Made from the driver. */
    uint64_t reuses; /**< Served from the cache. */
} husk_memory_stats;

/** Read the memory statistics. */
HUSK_API void husk_context_memory_stats(const husk_context *context, husk_memory_stats *stats);
/**
 * Return cached memory to the driver until at most `keep_bytes` remain cached. The host memory that is kept about
 * released buffers (husk_buffer_release()) is freed, too. Memory that enqueued work uses stays, and counts, until that
 * work has ended: wait for the queues first.
 */
HUSK_API void husk_context_trim(husk_context *context, uint64_t keep_bytes);

/** Programs and plans of a context. */
typedef struct husk_program_stats {
    uint64_t builds; /**< Programs compiled from source. */
    uint64_t cache_loads; /**< Programs loaded from the cache on disk. */
    uint64_t build_ns; /**< Time spent in both. */
    uint64_t plans; /**< Plans made for immediate calls. */
    uint64_t plan_hits; /**< Immediate calls that found their plan. */
} husk_program_stats;

/** Read the statistics of programs and plans. */
HUSK_API void husk_context_program_stats(const husk_context *context, husk_program_stats *stats);

/** What a device may offer beyond the minimum of OpenCL C 1.2, or may get wrong. */
typedef enum husk_feature {
    HUSK_FEATURE_F64 = 0,
    HUSK_FEATURE_F16 = 1,
    HUSK_FEATURE_SUBGROUPS = 2,
    HUSK_FEATURE_FMA = 3, /**< fma rounds once. */
    HUSK_FEATURE_DOT_I8 = 4 /**< A CPU instruction for four byte products in each of 16 lanes (AVX-512 VNNI). */
} husk_feature;

/** A feature's name, such as "f64"; "unknown" for any other number. */
HUSK_API const char *husk_feature_name(husk_feature feature);

/**
 * Whether the device has a feature: the device advertises it, and a probe kernel that needs it builds and gives the
 * right numbers.
 *
 * The first question for a feature runs the probe, and the answer is kept. A refusal is logged with its reason. If
 * there is no memory for the probe, the answer is no, and the next question runs the probe again.
 *
 * The call waits for the probe. So does a context's first call in f64, which asks this question. The wait lasts as long
 * as earlier work of others occupies the device. If that work may contain kernels that do not end, ask before you
 * enqueue it.
 */
HUSK_API bool husk_context_has(husk_context *context, husk_feature feature);

/**
 * What compilers are known to get wrong, or to do badly. Husk's kernels avoid all forms that are miscompiled; an
 * application's own kernels may contain them.
 */
typedef enum husk_quirk {
    HUSK_QUIRK_LOCAL_LOAD = 0, /**< A load from local memory is repeated behind a barrier. PoCL 7.0 to 7.2. */
    HUSK_QUIRK_LOOP_EXIT = 1, /**< A loop under a condition runs past its end. PoCL 7.0 to 7.2. */
    /** With -cl-denorms-are-zero, functions of OpenCL C are called instead of inlined. PoCL 6.0. */
    HUSK_QUIRK_FLUSH = 2,
    HUSK_QUIRK_ASSEMBLY = 3 /**< Inline assembly ends the process. PoCL 4.0 to 6.0. */
} husk_quirk;

/** A quirk's name, such as "local_load"; "unknown" for any other number. */
HUSK_API const char *husk_quirk_name(husk_quirk quirk);
/** One sentence that says what is wrong; "" for a number that is no quirk. */
HUSK_API const char *husk_quirk_text(husk_quirk quirk);
/** One sentence that says what to do about it; "" for a number that is no quirk. */
HUSK_API const char *husk_quirk_advice(husk_quirk quirk);

/**
 * Whether the device's compiler has a quirk: a kernel of this form gives wrong numbers or, for HUSK_QUIRK_FLUSH, takes
 * twice as long.
 *
 * The first question runs the kernel and waits for it. The answer is kept, and a yes is logged as
 * HUSK_LOG_INFORMATION. If the kernel could not be run, the answer is no:
 *
 * - The next question runs the kernel again if the reason may pass, such as a lack of memory.
 * - The answer stays no if the kernel does not build or the device refuses it.
 *
 * HUSK_QUIRK_ASSEMBLY is the exception: the driver's version decides it, since a compiler that ends the process cannot
 * be tried.
 *
 * The first program that is built for a CPU device asks for HUSK_QUIRK_FLUSH. Programs are built without
 * -cl-denorms-are-zero if the compiler has the quirk, or if denormal numbers are flushed anyway.
 */
HUSK_API bool husk_context_has_quirk(husk_context *context, husk_quirk quirk);
/**
 * The same question, for callers that must distinguish a no from a kernel that could not be run. Each question runs a
 * kernel again that could not be run.
 *
 * @param has receives the answer; false after a failure
 * @return HUSK_OK with an answer, or the reason why there is none
 */
HUSK_API husk_status husk_context_quirk(husk_context *context, husk_quirk quirk, bool *has, husk_error *error);

/**
 * Bind each thread with which the driver computes on this CPU device to a CPU of its own.
 *
 * PoCL leaves its threads unbound. Two may then share a CPU while another CPU is idle, and work takes up to twice as
 * long. Binding has a cost, too: a bound thread must wait while the calling thread enqueues kernels on its CPU, and
 * many short kernels may take a quarter longer (docs/performance.md). Husk never binds threads unless asked.
 *
 * The call makes queues of its own, and waits until the device executes them. It is best made right after
 * husk_context_create(), before work is enqueued. It may be repeated, also with other CPUs. It changes the driver's
 * threads, which all contexts of that driver in this process share. Two calls at the same time, for two contexts of one
 * driver, may keep threads from each other and then return HUSK_UNSUPPORTED.
 *
 * After a failure each thread may run where it could run before the call.
 *
 * @param cpus the numbers of the CPUs, at least as many as the driver has threads (its compute units). The driver's
 *   first thread gets the first CPU, the second thread the second, and so on; the rest is not used. The calling thread
 *   must be allowed to use each CPU now, and none may occur twice. NULL with a count of 0 means all CPUs that the
 *   calling thread may use, in ascending order; this is for a program that has the machine, or its set of CPUs, to
 *   itself.
 * @retval HUSK_UNSUPPORTED For any `cpus`:
 *   - The device is no CPU, the system is not Linux, or the system does not allow threads to be bound.
 *   - The driver has no native kernels (clEnqueueNativeKernel), by which the threads are found, or runs them on the
 *     thread that calls it.
 *   - A second after the first thread was found, others are still missing: they have work to do, or the driver runs
 *     native kernels only on some threads.
 *
 *   With `cpus` NULL also:
 *   - The driver has more threads than there are CPUs.
 *   - The driver has fewer threads than the calling thread has CPUs. The others may be meant for other processes, for
 *     example if each rank of a machine is given its share of the threads.
 *   - Another process of this user has bound threads in this way, has not ended, and may use one of these CPUs. Such
 *     processes divide the CPUs between them, and each passes its own.
 *
 *   To find other processes, each one holds a lock on the file "threads" in the user's cache folder
 *   ($XDG_CACHE_HOME/husk, else $HOME/.cache/husk). It holds the lock until it ends, since the driver's threads stay
 *   bound as long, and keeps a descriptor open for it. If that folder is not available, other processes are not found.
 *   Another context of the same process is not refused.
 */
HUSK_API husk_status husk_context_bind_threads(husk_context *context, const int *cpus, size_t count, husk_error *error);
/**
 * Whether each of the driver's threads is bound to a CPU of its own, whoever bound it. The call waits for the device as
 * husk_context_bind_threads() does.
 *
 * @param bound receives the answer
 * @retval HUSK_UNSUPPORTED for the reasons that husk_context_bind_threads() names for any `cpus`
 */
HUSK_API husk_status husk_context_threads_bound(husk_context *context, bool *bound, husk_error *error);

/** HUSK_OK, or HUSK_DEVICE_LOST once the device is lost. */
HUSK_API husk_status husk_context_status(const husk_context *context);

HUSK_END_DECLS

#endif
