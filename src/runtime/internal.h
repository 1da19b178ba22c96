/* SPDX-License-Identifier: MIT */
/*
 * runtime/internal.h: the runtime's own structures, for files in src/runtime alone.
 */
#ifndef HUSK_RUNTIME_INTERNAL_H
#define HUSK_RUNTIME_INTERNAL_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <husk/buffer.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "runtime/launch.h"

/* ---- the process: process.c ---- */

/*
 * A driver's threads do not live on in a child process, nor do its locks open again: after a fork every call is refused
 * whose process, or any above it since the last exec, had opened OpenCL. What such a child releases, it keeps.
 */
bool husk__is_forked(void);
/* UNSUPPORTED in such a child. */
husk_status husk__refuse_forked(const husk__scope *scope);
/* The same of a call by which a process may open OpenCL, which it then has. */
husk_status husk__open_process(const husk__scope *scope);

/* ---- devices: device.c, device_traits.c, device_notes.c, pocl.c ---- */

struct husk_device {
    husk_device_traits traits; /* its texts point into strings */
    char *strings[9];
    cl_platform_id platform;
    cl_device_id id;
    husk_device_list *list;
    int64_t index_limit;    /* kernels use 64-bit indices for what lies further from a tensor's first element */
    int64_t launch_limit;   /* work-items of a launch where there may be any number: husk__most_items */
    uint64_t pooled_memory; /* bytes of free memory that a context keeps for use again; no limit: UINT64_MAX */
};

typedef struct husk__note {
    husk_note_kind kind;
    char *text;
} husk__note;

struct husk_device_list {
    atomic_int references;
    size_t count;
    husk_device *devices;
    size_t note_count;
    husk__note *notes;
    bool lacks_memory; /* a note or a limit was lost */
};

bool husk__is_gpu(const husk_device_traits *traits);
/* Why a platform that is there may have no device, and what to do; to be freed. NULL: no reason is known. */
char *husk__explain_no_device(const char *platform_name, bool *lacks_memory);
/* IO before anything is compiled where PoCL's folder has no room for it. */
husk_status husk__refuse_full_folder(const husk_device_traits *traits, const husk__scope *scope);
/* UNSUPPORTED where the stacks of PoCL's threads are too small for kernels. */
husk_status husk__refuse_small_stacks(const husk_device_traits *traits, const husk__scope *scope);
void husk__device_list_retain(husk_device_list *list);
/* A list of the one device of an application's own context. */
husk_status husk__device_list_wrap(cl_device_id id, husk_device_list **list, const husk__scope *scope);
bool husk__device_list_add_note(husk_device_list *list, husk_note_kind kind, const char *format, ...)
    HUSK__PRINTF(3, 4);
/* A query of OpenCL's that failed; code is CL_SUCCESS where none has. */
typedef struct husk__unanswered {
    const char *function;
    cl_int code;
} husk__unanswered;

/*
 * Traits and limits of the device whose id, platform and list are set. False where there was no memory for its texts,
 * or it did not answer. Its strings are to be freed in any case.
 */
bool husk__device_read(husk_device *device, husk__unanswered *failed);
/* To be freed; "" where the platform does not tell, NULL where there is no memory. */
char *husk__platform_name(cl_platform_id platform, husk__unanswered *failed);
/* HUSK_LIMITS' text, "name=size,name=size": lowers traits. What is not understood becomes a note of the list. */
void husk__device_limit(husk_device *device, const char *limits);
/* What the system shows besides OpenCL: GPUs without a driver, missing groups and variables. */
void husk__device_list_examine_system(husk_device_list *list);

/* ---- errors: opencl_error.c ---- */

/* "CL_OUT_OF_RESOURCES" ... */
const char *husk__opencl_name(cl_int code);
/*
 * The status for a failed OpenCL call made for a context (which may be NULL): text "clFoo: CL_BAR", memory
 * codes as memory statuses, and DEVICE_LOST (sticky) when the device turns out to be gone.
 */
husk_status husk__opencl_failed(husk_context *context, const husk__scope *scope, const char *function,
                                cl_int code);
husk_status husk__context_lost(husk_context *context, const husk__scope *scope, const char *reason);

/* ---- progress: clock.c ---- */

/* How far a command queue has come. Shared by the queue and the memory blocks it used; outlives the queue. */
typedef struct husk__clock {
    atomic_int references;
    cl_command_queue cl;        /* NULL: closed, and all has ended */
    _Atomic uint64_t enqueued;  /* number of the last command */
    _Atomic uint64_t completed; /* every command up to here has ended */
    bool is_closed;             /* there will be no more */
    pthread_mutex_t lock;       /* the marker, and what becomes of a closed one */
    cl_event marker;            /* NULL, or behind command `marked` */
    uint64_t marked;
} husk__clock;

husk__clock *husk__clock_create(cl_command_queue cl);
void husk__clock_retain(husk__clock *clock);
void husk__clock_release(husk__clock *clock);
/* There will be no more commands. The driver's queue goes when it is known that all have ended. */
void husk__clock_close(husk__clock *clock);
uint64_t husk__clock_tick(husk__clock *clock);
void husk__clock_reached(husk__clock *clock, uint64_t number);
/*
 * Whether a command has ended. Nobody may have waited for its queue, so where it is not known to have, the queue is
 * asked, by a marker that a later question finds.
 */
bool husk__clock_has_ended(husk__clock *clock, uint64_t number);
/* clFinish: of the queue's own thread, since it also waits for what is enqueued meanwhile. */
cl_int husk__clock_finish(husk__clock *clock);
/* Until what is enqueued now has ended, from any thread. */
cl_int husk__clock_wait(husk__clock *clock);

/* ---- memory: pool.c, buffer.c ---- */

typedef struct husk__use {
    husk__clock *clock;
    uint64_t number;
} husk__use;

enum { HUSK__BLOCK_USES = 8 }; /* that a block has room for by itself */

/* One cl_mem. Buffers and views hold it; at the last release it returns to the pool with its uses. */
typedef struct husk__block {
    atomic_int references;
    struct husk__block *next; /* in the pool's list of free blocks, or of live ones */
    struct husk__block *previous; /* of live ones */
    uint64_t serial;          /* among its context's, from 1: a cl_mem may have the address of one that is gone */
    cl_mem mem;
    cl_mem root;          /* whose memory it is: mem's own, or that of the buffer which mem is a part of */
    uint64_t root_offset; /* bytes into it */
    uint64_t bytes;
    uint64_t band;   /* of them, the guard band at either end: guard.c; 0: none */
    _Atomic(const char *) last_kernel; /* that used a block with bands; NULL: none has */
    bool is_foreign; /* an application's cl_mem: not pooled */
    atomic_int maps; /* not unmapped yet; a block that is released mapped is not pooled either */
    pthread_mutex_t lock;
    int use_count, use_capacity;
    husk__use *uses; /* first_uses, or more */
    husk__use first_uses[HUSK__BLOCK_USES];
} husk__block;

enum { HUSK__SIZE_CLASSES = 256 };

typedef struct husk__pool {
    pthread_mutex_t lock;
    husk__block *free[HUSK__SIZE_CLASSES];
    husk__block *live; /* those that somebody has, but for foreign ones */
    uint64_t keep_bytes;   /* at most that much is kept for use again */
    _Atomic uint64_t made; /* blocks, foreign memory among them */
    husk_memory_stats stats;
    uint64_t guarded_bytes; /* of the live ones, in blocks with guard bands */
} husk__pool;

void husk__pool_init(husk__pool *pool, uint64_t budget, uint64_t keep_bytes);
void husk__pool_trim(husk__pool *pool, uint64_t keep_bytes);
void husk__pool_destroy(husk__pool *pool);
/* The memory begins behind the block's guard band, if it has one. */
husk_status husk__pool_take(husk_context *context, uint64_t bytes, husk__block **block,
                            const husk__scope *scope);
/* A block around a cl_mem, or the pool's own one that has its memory, which begins at *offset of that. */
husk_status husk__block_wrap(husk_context *context, cl_mem mem, uint64_t bytes, husk__block **block, uint64_t *offset,
                             const husk__scope *scope);
void husk__block_release(husk_context *context, husk__block *block);
/* The latest live block with guard bands that was made before the block of this number, with a reference; or NULL. */
husk__block *husk__pool_share_guarded(husk__pool *pool, uint64_t serial);
/*
 * Most drivers of GPUs have memory for a buffer made when a command first uses it, and refuse that command where there
 * is none. Whether one that was answered so is to be enqueued again, as free blocks have been returned to the driver.
 */
bool husk__pool_gives_way(husk_context *context, cl_int code);
#define HUSK__ENQUEUE(code, queue, call) \
    do                                   \
        (code) = (call);                 \
    while (husk__pool_gives_way((queue)->context, code))
/* The queue's next command touches the block. */
void husk__block_used(husk__block *block, husk__clock *clock, uint64_t number);

/* ---- guard bands: guard.c ---- */

typedef struct husk__guards {
    _Atomic uint64_t band; /* of blocks that are made from now on; 0: none */
    pthread_mutex_t lock;  /* of what follows */
    cl_command_queue queue; /* NULL until it is needed */
    uint64_t count;         /* of blocks that were found written outside, and nobody was told so */
    husk_error first;       /* of them */
    bool has_failed;        /* a look at another block, and nobody was told so */
    husk_error failure;     /* the first time */
} husk__guards;

void husk__guards_init(husk__guards *guards);
/* The last blocks are gone. What was not asked for goes to the log. */
void husk__guards_destroy(husk_context *context);
/* Write the bands of a new block, and what its memory holds until it is written. */
husk_status husk__guards_lay(husk_context *context, const husk__block *block, const husk__scope *scope);
/* A last look at a block that nobody has any more, once the commands that use it have ended. */
void husk__guards_end(husk_context *context, husk__block *block);

/* Whether two blocks, which may be NULL, are the same memory: an application may wrap it twice, and parts of it. */
static inline bool husk__blocks_meet(const husk__block *a, const husk__block *b)
{
    return a && b && a->root == b->root;
}

struct husk_buffer {
    atomic_int references; /* 0 or less: released, and kept for those that name it still */
    husk_buffer *next;     /* of the released ones */
    husk_context *context;
    husk__block *block; /* NULL for a buffer of 0 bytes */
    uint64_t offset;    /* bytes into the block */
    uint64_t bytes;
};

/* false: it was released, as far as can be known. */
bool husk__buffer_is_live(const husk_buffer *buffer);
void husk__buffers_init(husk_context *context);
/* Give back what is kept of released ones. */
void husk__buffers_trim(husk_context *context);
void husk__buffers_destroy(husk_context *context);

/* ---- programs: program.c, cache.c ---- */

typedef struct husk__program {
    struct husk__program *next;
    char *file;
    char *options;
    pthread_mutex_t lock;
    bool is_built;
    char *mark; /* the file that says that it has crashed the driver's compiler, or NULL */
    husk_status status;
    char *failure;       /* text of the failed build */
    int32_t opencl_code; /* its OpenCL error */
    cl_program cl;
} husk__program;

struct husk__kernel {
    struct husk__kernel *next;
    husk__program *program;
    uint32_t id; /* dense in its context: index into the queues' kernel objects */
    size_t work_group[3];
    size_t max_work_items;
    bool has_required_work_group;
    atomic_bool is_announced; /* the log has told of its first launch */
    char name[];
};

typedef struct husk__programs {
    pthread_mutex_t lock;
    husk__program *programs;
    husk__kernel *kernels;
    uint32_t kernel_count;
} husk__programs;

void husk__programs_destroy(husk__programs *programs);

/* ---- kernel objects: kernel_object.c ---- */

/*
 * A queue's own object of a kernel, made on first use, and what its arguments were set to last: one word a scalar, two
 * a buffer (the block's serial number and the offset). Arguments keep their values from launch to launch, so only those
 * that differ are set. Like all of a queue it belongs to one thread at a time.
 */
typedef struct husk__kernel_object {
    cl_kernel cl;
    bool is_known; /* words holds what the arguments are */
    size_t argument_count;
    uint64_t *words; /* NULL: there was no memory for it, and every argument is set every time */
} husk__kernel_object;

husk_status husk__kernel_object_get(husk_queue *queue, const husk__kernel *kernel, husk__kernel_object **object,
                                    const husk__scope *scope);
husk_status husk__kernel_object_set(husk_queue *queue, husk__kernel_object *object, const husk__kernel *kernel,
                                    const husk__arg *arguments, size_t count, const husk__scope *scope);
void husk__kernel_objects_destroy(husk_queue *queue);

/* Binaries on disk. directory NULL: off. */
typedef struct husk__cache {
    char *directory;
} husk__cache;

void husk__cache_open(husk__cache *cache, const husk_context_params *params, const husk_device_traits *traits,
                      const husk__log *log);
void husk__cache_close(husk__cache *cache);
/*
 * While one builds what is not there, the others that want the same wait for it, patience_ns at most. -1: none to be
 * had, one goes on without. To be ended by husk__unlock.
 */
int husk__cache_lock(const husk__cache *cache, const char *key, uint64_t patience_ns);
/* malloc'ed binary, or NULL: not there, damaged or for something else. */
unsigned char *husk__cache_load(const husk__cache *cache, const char *key, size_t *size);
/* Where it is said that this very program has crashed its driver's compiler. False: there is no cache, or no memory. */
bool husk__cache_mark_path(const husk__cache *cache, const char *key, husk__text *path);
/* What it says there, malloc'ed. NULL: nothing, or not for a week, so that a mended compiler is tried again. */
char *husk__cache_read_mark(const char *path);
void husk__cache_store(const husk__cache *cache, const char *key, const unsigned char *binary, size_t size);
/* The bytes of a file, and the binary inside a whole, undamaged one for this very key; NULL otherwise. */
void husk__cache_entry_write(husk__text *entry, const char *key, const unsigned char *binary, size_t size);
const char *husk__cache_entry_find(const char *bytes, size_t size, const char *key, size_t *binary_size);

/* ---- context and queue ---- */

enum {
    HUSK__RELEASE_ACTIONS = 8,
    HUSK__FEATURES = HUSK_FEATURE_DOT_I8 + 1,
    HUSK__QUIRKS = HUSK_QUIRK_ASSEMBLY + 1
};

struct husk_context {
    atomic_int references;
    husk_device_list *list; /* keeps the device alive */
    const husk_device *device;
    cl_device_id share; /* a part of the device that was made for the context; NULL: it has the whole */
    cl_context cl;
    husk__log log;
    atomic_bool is_lost;
    char lost_reason[256];
    husk__pool pool;
    husk__guards guards;
    husk__programs programs;
    husk__cache cache;
    pthread_mutex_t lock; /* extension and actions */
    struct {
        pthread_mutex_t lock;
        husk_buffer *first, **last;
        int count;
    } released; /* buffers, the oldest first: buffer.c */
    _Atomic(void *) extension;
    void (*destroy_extension)(void *extension);
    int action_count;
    void (*actions[HUSK__RELEASE_ACTIONS])(husk_context *context);
    size_t plan_cache_capacity;
    husk_precision precision; /* never DEFAULT */
    atomic_int features[HUSK__FEATURES]; /* 0 not probed yet, 1 there and right, -1 not */
    pthread_mutex_t quirk_lock;          /* one probe at a time: FLUSH measures */
    atomic_int quirks[HUSK__QUIRKS];     /* 0 not probed yet, 1 there, -1 not, -2 its kernel could not be run */
    pthread_mutex_t threads_lock;        /* one gathering of the driver's threads at a time */
    atomic_bool flushes_anyway;          /* denormal numbers, without being told: known with FLUSH */
    _Atomic uint64_t builds, cache_loads, build_ns, plans, plan_hits;
};

/* Pinned host memory, reused once the events of all the commands that read it say so. Small ones share a piece. */
enum { HUSK__STAGING_READERS = 256 };
typedef struct husk__staging {
    struct husk__staging *next;
    cl_mem mem;
    void *host;
    uint64_t bytes, used; /* what has been given away of it */
    int reader_count;
    cl_event readers[HUSK__STAGING_READERS];
} husk__staging;

typedef struct husk__profile_entry {
    const char *name;
    cl_event event;
} husk__profile_entry;

enum { HUSK__SCRATCH_LEVELS = 8 };

struct husk_queue {
    atomic_int references;
    husk_context *context;
    cl_command_queue cl;
    husk__clock *clock;
    husk_error error;
    bool can_profile; /* its commands' times can be had */
    bool profiling;   /* and are kept */
    bool has_failed;  /* a watched command, since that was last told */
    size_t watched_count, watched_capacity;
    cl_event *watched; /* watch.c */
    size_t kernel_capacity;
    husk__kernel_object *kernels; /* by husk__kernel.id */
    int scratch_level;
    husk_buffer *scratch[HUSK__SCRATCH_LEVELS];
    husk__staging *staging, *shared_staging; /* all; of them the one that small writes share now, or NULL */
    uint64_t staging_bytes;
    cl_mem shares; /* see runtime/shares.c; NULL until a kernel wants it */
    size_t profile_count, profile_capacity;
    husk__profile_entry *profile;
    husk_profile_record *records;
    void *kept; /* husk__queue_keep */
    void (*release_kept)(void *kept);
};

struct husk_event {
    atomic_int references;
    husk_context *context;
    husk__clock *clock;
    uint64_t number;
    cl_event cl;
};

/* What HUSK__ARG_SHARES gives a kernel; NULL with an OpenCL code where there is no memory for it. */
cl_mem husk__queue_shares(husk_queue *queue, cl_int *code);

/* ---- commands that fail after they were enqueued: watch.c ---- */

/* Takes over a command's event, which may be NULL. */
void husk__queue_watch(husk_queue *queue, cl_event event);
/* clWaitForEvents, and the event's own word of how its command ended: NVIDIA's driver answers CL_SUCCESS even so. */
cl_int husk__wait_for_event(cl_event event);
/* Where the queue has been waited for: whether the commands before did end well. What has failed is told once. */
husk_status husk__queue_ended_well(husk_queue *queue, const husk__scope *scope);
/* Wait for everything enqueued, and say whether it ended well. */
husk_status husk__queue_finish(husk_queue *queue, const husk__scope *scope);
void husk__queue_unwatch(husk_queue *queue);

/* Where a command's event goes: NULL unless the queue profiles. */
cl_event *husk__profile_event(husk_queue *queue, cl_event *event);
void husk__profile_keep(husk_queue *queue, const char *name, cl_event event);

/* ---- what compilers get wrong: quirk.c ---- */

/*
 * Whether a program from this file is built with -cl-denorms-are-zero: on GPUs always; on CPUs where it is needed and
 * costs nothing, which a probe finds out. Files of the runtime itself, which has the probes, go without.
 */
bool husk__flushes_denormals(husk_context *context, const char *file);

/*
 * Whether launches that flush take more than twice as long as those right behind them that do not, in most pairs, and
 * the fastest of them more than one and a half times what the fastest of the others does. A machine's speed may change
 * by as much from one launch to the next, which is wrong in that pair alone; and where other processes want the
 * processors each launch may be delayed by chance, but hardly all of one kind. What is answered decides bits: processes
 * that train together have to find the same.
 */
enum { HUSK__FLUSH_PAIRS = 15 };
bool husk__flush_costs(const uint64_t flushing_ns[HUSK__FLUSH_PAIRS], const uint64_t plain_ns[HUSK__FLUSH_PAIRS]);

/* ---- the driver's threads: gather.c ---- */

/*
 * Once all threads of the CPU device's driver are there, so many of them, bind each to the CPU at its place in cpus,
 * or, where that is NULL, none. All or none are bound. *bound: whether each had a CPU of its own before; may be NULL.
 */
husk_status husk__gather_threads(husk_context *context, size_t count, const int *cpus, bool *bound,
                                 const husk__scope *scope);

/* Keep the queue in order: its number for the command just enqueued, noted at a block (which may be NULL). */
void husk__queue_used(husk_queue *queue, husk__block *block);

#endif
