// SPDX-License-Identifier: MIT
// An OpenCL layer (cl_khr_icd's: OPENCL_LAYERS=.../libopencl_layer.so) between a program and its driver, by which tests
// plant faults in any program that loads an OpenCL library, and count what it leaves behind.
//
// HUSK_TEST_FAULTS holds rules, divided by ';'. A rule is an action, a call, and what has to be so:
//
//     fail=-4 clCreateBuffer over=1000000          ACTION  fail=CODE    is not made, and answers with the code
//     crash clEnqueueNDRangeKernel kernel=pool             crash        SIGSEGV, or that signal: crash=5
//     hang clFinish after=softmax                          hang         does not come back
//     delay=50 clFinish nth=20+                            delay=MS     comes back later
//     skip clEnqueueNDRangeKernel kernel=gemm nth=3+       skip         is not made, and answers with success
//     corrupt clEnqueueReadBuffer after=activation         corrupt      flips a bit of what was read or mapped
//     scale=2 clGetEventProfilingInfo                      scale=F      times of events are multiplied
//     status=-5 clEnqueueNDRangeKernel                     status=CODE  the command's event ends with the code
//     load=0 clFinish nth=20                               load=N       N threads spin from now on; 0: one a processor
//     fail=-5 any nth=17                           CALL    a name, or any
//
//     kernel=TEXT   the kernel that is enqueued has TEXT in its name; the program that is built, in its source
//     after=TEXT    the kernel that was enqueued last has
//     over=BYTES    the memory or transfer is larger
//     since=MS      so much later than the first call of which all that is so, or later still
//     nth=N, nth=N+ the Nth call of which all that is so; N+: and every one after it
//
// The first rule that is met decides. What is not understood ends the program, and so does what would do nothing, such
// as a code that is no error or times of a call that tells none: a test must not pass by a typing error.
//
// HUSK_TEST_REPORT names a file to which each process adds at its end, a line each: calls NAME COUNT; live KIND COUNT,
// references to objects that were made or retained, and not released.
//
// A call that is not in CALLS is passed on unseen; one more is a line there and one at the end.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALLS(X)                                                                                             \
    X(clGetPlatformIDs) X(clGetDeviceIDs) X(clCreateContext) X(clRetainContext) X(clReleaseContext)           \
    X(clCreateCommandQueue) X(clCreateCommandQueueWithProperties) X(clRetainCommandQueue)                     \
    X(clReleaseCommandQueue) X(clCreateBuffer) X(clCreateSubBuffer) X(clRetainMemObject)                      \
    X(clReleaseMemObject) X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram)         \
    X(clRetainProgram) X(clReleaseProgram) X(clGetProgramInfo) X(clCreateKernel) X(clRetainKernel)            \
    X(clReleaseKernel) X(clSetKernelArg) X(clGetKernelWorkGroupInfo) X(clEnqueueNDRangeKernel)                \
    X(clEnqueueNativeKernel)                                                                                  \
    X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer)              \
    X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) X(clEnqueueMarkerWithWaitList)                           \
    X(clEnqueueBarrierWithWaitList) X(clCreateUserEvent) X(clSetUserEventStatus) X(clRetainEvent)             \
    X(clReleaseEvent) X(clGetEventInfo) X(clGetEventProfilingInfo) X(clWaitForEvents) X(clFlush) X(clFinish)  \
    X(clGetPlatformInfo) X(clGetDeviceInfo) X(clGetContextInfo) X(clGetCommandQueueInfo) X(clGetMemObjectInfo) \
    X(clGetProgramBuildInfo) X(clSetMemObjectDestructorCallback)

#define NUMBER(name) AT_##name,
enum { CALLS(NUMBER) CALL_COUNT, ANY = -1 };
#define NAME(name) #name,
static const char *const call_names[] = {CALLS(NAME)};

enum { CONTEXT, QUEUE, MEM, PROGRAM, KERNEL, EVENT, KIND_COUNT };
static const char *const kind_names[] = {"context", "queue", "mem", "program", "kernel", "event"};

typedef enum action { FAIL, CRASH, HANG, DELAY, SKIP, CORRUPT, SCALE, STATUS, LOAD, ACTION_COUNT } action;
static const char *const action_names[] = {"fail",    "crash", "hang",   "delay", "skip",
                                           "corrupt", "scale", "status", "load"};

typedef struct rule {
    action action;
    double value;
    int call; // or ANY
    char kernel[64], after[64];
    size_t over;
    long since; // milliseconds
    atomic_long first;
    long nth; // 0: always
    bool onwards;
    atomic_long met;
} rule;

#define MAX_RULES 32
static rule rules[MAX_RULES];
static size_t rule_count;
static atomic_long call_counts[CALL_COUNT], live[KIND_COUNT];
static const cl_icd_dispatch *next;
static cl_icd_dispatch ours;

static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_kernel[128]; // enqueued, by whichever thread

// ---- the rules ----

static void refuse(const char *word)
{
    fprintf(stderr, "opencl_layer: HUSK_TEST_FAULTS: '%s' is not understood\n", word);
    abort();
}

static int find(const char *const *names, int count, const char *word, size_t length)
{
    for (int i = 0; i < count; i++) {
        if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0)
            return i;
    }
    return -1;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *end_of_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

// Whether the call is told how many bytes it is about.
static bool has_bytes(const char *call)
{
    return !strcmp(call, "clCreateBuffer") || (begins(call, "clEnqueue") && strstr(call, "Buffer"));
}

static void read_condition(rule *r, const char *call, const char *word)
{
    const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
    char *end = NULL;
    const bool is_any = r->call == ANY;
    const bool has_kernel = !strcmp(call, "clEnqueueNDRangeKernel") || !strcmp(call, "clBuildProgram");
    if ((begins(word, "kernel=") && !is_any && !has_kernel) || (begins(word, "over=") && !is_any && !has_bytes(call)))
        refuse(word); // it would never be so
    if (!*value || (end_of_digits(value) == value && !begins(word, "kernel=") && !begins(word, "after=")))
        refuse(word);
    if (!strncmp(word, "kernel=", 7))
        snprintf(r->kernel, sizeof r->kernel, "%s", word + 7);
    else if (!strncmp(word, "after=", 6))
        snprintf(r->after, sizeof r->after, "%s", word + 6);
    else if (!strncmp(word, "over=", 5))
        r->over = (size_t)strtoull(word + 5, &end, 10);
    else if (!strncmp(word, "since=", 6))
        r->since = strtol(word + 6, &end, 10);
    else if (!strncmp(word, "nth=", 4))
        r->nth = strtol(word + 4, &end, 10);
    else
        refuse(word);
    r->onwards = r->onwards || (end && *end == '+');
    if (end && *end && (strcmp(end, "+") != 0 || !begins(word, "nth=")))
        refuse(word);
    if (begins(word, "nth=") && r->nth == 0)
        refuse(word);
}

// Whether the action does something to the call.
static bool acts_on(action does, const char *call)
{
    switch (does) {
    case SKIP: // what makes something cannot answer without it
        return strcmp(call, "any") != 0 && !begins(call, "clCreate") && strcmp(call, "clEnqueueMapBuffer") != 0 &&
               strcmp(call, "clGetEventProfilingInfo") != 0;
    case CORRUPT:
        return !strcmp(call, "clEnqueueReadBuffer") || !strcmp(call, "clEnqueueMapBuffer");
    case SCALE:
        return !strcmp(call, "clGetEventProfilingInfo");
    case STATUS:
        return begins(call, "clEnqueue");
    default:
        return true;
    }
}

static bool is_value(action does, const char *text)
{
    char *end = NULL;
    const double value = text ? strtod(text, &end) : 0;
    if (text && (end == text || *end))
        return false;
    switch (does) {
    case CRASH:
        return !text || (value > 1 && value < 32 && value == (int)value);
    case FAIL:
    case STATUS:
        return text && value < 0 && value == (int)value;
    case SCALE:
        return text && value > 0;
    case DELAY:
        return text && value >= 0;
    case LOAD:
        return text && value >= 0 && value == (int)value;
    default:
        return !text;
    }
}

static void read_rule(char *text)
{
    char *position = NULL, *word = strtok_r(text, " \t\n", &position);
    if (!word)
        return;
    if (rule_count == MAX_RULES)
        refuse("more than 32 rules");
    rule *r = &rules[rule_count++];
    memset(r, 0, sizeof *r);
    const int which = find(action_names, ACTION_COUNT, word, strcspn(word, "="));
    if (which < 0)
        refuse(word);
    const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : NULL;
    r->action = (action)which;
    r->value = value ? atof(value) : 0;
    if (!is_value(r->action, value))
        refuse(word);
    const char *call = strtok_r(NULL, " \t\n", &position);
    r->call = call ? find(call_names, CALL_COUNT, call, strlen(call)) : -1;
    if (!call || (r->call < 0 && strcmp(call, "any") != 0) || !acts_on(r->action, call))
        refuse(call ? call : "a rule without a call");
    while ((word = strtok_r(NULL, " \t\n", &position)))
        read_condition(r, call, word);
}

static void read_rules(const char *text)
{
    char *copy = text ? strdup(text) : NULL, *position = NULL;
    rule_count = 0;
    for (char *one = copy ? strtok_r(copy, ";", &position) : NULL; one; one = strtok_r(NULL, ";", &position))
        read_rule(one);
    free(copy);
}

// What a call is about; what it has none of is empty.
typedef struct call {
    int number;
    const char *kernel;
    size_t bytes;
} call;

static bool last_has(const char *text)
{
    pthread_mutex_lock(&last_lock);
    const bool has = strstr(last_kernel, text) != NULL;
    pthread_mutex_unlock(&last_lock);
    return has;
}

// Whether it is so much later than the first time that this was asked.
static bool is_late(rule *r)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const long now = (long)time.tv_sec * 1000 + time.tv_nsec / 1000000 + 1;
    long first = 0;
    if (atomic_compare_exchange_strong(&r->first, &first, now))
        first = now;
    return now - first >= r->since;
}

static bool meets(rule *r, const call *c)
{
    if (r->call != ANY && r->call != c->number)
        return false;
    if (r->kernel[0] && (!c->kernel || !strstr(c->kernel, r->kernel)))
        return false;
    if ((r->after[0] && !last_has(r->after)) || (r->over && c->bytes <= r->over))
        return false;
    if (r->since && !is_late(r))
        return false;
    const long number = atomic_fetch_add(&r->met, 1) + 1;
    return r->nth == 0 || number == r->nth || (r->onwards && number > r->nth);
}

static void *spin(void *unused)
{
    volatile bool goes_on = true; // read in every turn, so that there are turns
    while (goes_on)
        ;
    return unused;
}

static void load(int threads)
{
    const int count = threads > 0 ? threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin, NULL) == 0)
            pthread_detach(thread);
    }
}

// Counts the call and does what a rule wants before it; the rule, where something is left to do.
static const rule *enter(const call *c)
{
    atomic_fetch_add(&call_counts[c->number], 1);
    const rule *met = NULL;
    for (size_t i = 0; i < rule_count && !met; i++)
        met = meets(&rules[i], c) ? &rules[i] : NULL;
    if (!met)
        return NULL;
    if (met->action == CRASH) {
        const int number = met->value > 0 ? (int)met->value : SIGSEGV;
        signal(number, SIG_DFL); // sanitizers have a handler of their own
        raise(number);
    }
    while (met->action == HANG)
        pause();
    if (met->action == DELAY)
        nanosleep(&(struct timespec){(time_t)(met->value / 1000), (long)(met->value * 1e6) % 1000000000L}, NULL);
    if (met->action == LOAD)
        load((int)met->value);
    return met;
}

static bool is(const rule *met, action wanted)
{
    return met && met->action == wanted;
}

static void flip(void *host, size_t bytes)
{
    if (host && bytes > 3)
        ((unsigned char *)host)[3] ^= 0x40; // the exponent of the first float
}

static const char *name_of(cl_kernel kernel, char *name, size_t size)
{
    name[0] = 0;
    if (next->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size - 1, name, NULL) != CL_SUCCESS)
        name[0] = 0;
    return name;
}

// The event of a command that is not made, or ends badly: one that is over.
static cl_event ended_event(cl_command_queue queue, cl_int status)
{
    cl_context context = NULL;
    cl_int code;
    if (next->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return NULL;
    cl_event event = next->clCreateUserEvent(context, &code);
    if (event)
        next->clSetUserEventStatus(event, status);
    return event;
}

// What a command answers that was made, or was skipped.
static cl_int answer(const rule *met, cl_command_queue queue, cl_int code, cl_event *event)
{
    if (event && is(met, SKIP))
        *event = ended_event(queue, CL_COMPLETE);
    if (event && is(met, STATUS) && code == CL_SUCCESS) {
        next->clReleaseEvent(*event);
        *event = ended_event(queue, (cl_int)met->value);
    }
    atomic_fetch_add(&live[EVENT], event && code == CL_SUCCESS);
    return code;
}

// ---- the calls ----

/* A call that answers with its error. */
#define ANSWERS(name, parameters, arguments)                         \
    static cl_int CL_API_CALL layer_##name parameters                \
    {                                                                \
        const rule *met = enter(&(call){.number = AT_##name});       \
        if (is(met, FAIL))                                           \
            return (cl_int)met->value;                               \
        return is(met, SKIP) ? CL_SUCCESS : next->name arguments;    \
    }
/* One that makes an object, and has the error as its last argument. */
#define MAKES(kind, type, name, size, parameters, arguments)                       \
    static type CL_API_CALL layer_##name parameters                                \
    {                                                                              \
        const rule *met = enter(&(call){.number = AT_##name, .bytes = size});      \
        if (is(met, FAIL)) {                                                       \
            if (code)                                                              \
                *code = (cl_int)met->value;                                        \
            return NULL;                                                           \
        }                                                                          \
        type made = next->name arguments;                                          \
        atomic_fetch_add(&live[kind], made != NULL);                               \
        return made;                                                               \
    }
/* A command, with an event as its last parameter. */
#define ENQUEUES(name, size, parameters, arguments)                                \
    static cl_int CL_API_CALL layer_##name parameters                              \
    {                                                                              \
        const rule *met = enter(&(call){.number = AT_##name, .bytes = size});      \
        if (is(met, FAIL))                                                         \
            return (cl_int)met->value;                                             \
        return answer(met, queue, is(met, SKIP) ? CL_SUCCESS : next->name arguments, event); \
    }
/* What counts references. */
#define COUNTS(kind, change, type, name)                             \
    static cl_int CL_API_CALL layer_##name(type object)              \
    {                                                                \
        const rule *met = enter(&(call){.number = AT_##name});       \
        if (is(met, FAIL))                                           \
            return (cl_int)met->value;                               \
        if (is(met, SKIP))                                           \
            return CL_SUCCESS;                                       \
        const cl_int code = next->name(object);                      \
        atomic_fetch_add(&live[kind], code == CL_SUCCESS ? (change) : 0); \
        return code;                                                 \
    }

// A question about one object.
#define TELLS(name, type)                                                                  \
    ANSWERS(name, (type object, cl_uint what, size_t size, void *value, size_t *needed),   \
            (object, what, size, value, needed))
TELLS(clGetPlatformInfo, cl_platform_id)
TELLS(clGetDeviceInfo, cl_device_id)
TELLS(clGetContextInfo, cl_context)
TELLS(clGetCommandQueueInfo, cl_command_queue)
TELLS(clGetMemObjectInfo, cl_mem)
ANSWERS(clGetProgramBuildInfo,
        (cl_program program, cl_device_id device, cl_program_build_info name, size_t size, void *value, size_t *needed),
        (program, device, name, size, value, needed))
ANSWERS(clSetMemObjectDestructorCallback, (cl_mem mem, void(CL_CALLBACK *notify)(cl_mem, void *), void *user),
        (mem, notify, user))

ANSWERS(clGetPlatformIDs, (cl_uint count, cl_platform_id *ids, cl_uint *found), (count, ids, found))
ANSWERS(clGetDeviceIDs,
        (cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *ids, cl_uint *found),
        (platform, type, count, ids, found))

MAKES(CONTEXT, cl_context, clCreateContext, 0,
      (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
       void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *code),
      (properties, count, devices, notify, user, code))
COUNTS(CONTEXT, 1, cl_context, clRetainContext)
COUNTS(CONTEXT, -1, cl_context, clReleaseContext)

MAKES(QUEUE, cl_command_queue, clCreateCommandQueue, 0,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code),
      (context, device, properties, code))
MAKES(QUEUE, cl_command_queue, clCreateCommandQueueWithProperties, 0,
      (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *code),
      (context, device, properties, code))
COUNTS(QUEUE, 1, cl_command_queue, clRetainCommandQueue)
COUNTS(QUEUE, -1, cl_command_queue, clReleaseCommandQueue)

MAKES(MEM, cl_mem, clCreateBuffer, size,
      (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
      (context, flags, size, host, code))
MAKES(MEM, cl_mem, clCreateSubBuffer, 0,
      (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *about, cl_int *code),
      (buffer, flags, type, about, code))
COUNTS(MEM, 1, cl_mem, clRetainMemObject)
COUNTS(MEM, -1, cl_mem, clReleaseMemObject)

MAKES(PROGRAM, cl_program, clCreateProgramWithSource, 0,
      (cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *code),
      (context, count, strings, lengths, code))
MAKES(PROGRAM, cl_program, clCreateProgramWithBinary, 0,
      (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
       const unsigned char **binaries, cl_int *status, cl_int *code),
      (context, count, devices, lengths, binaries, status, code))
// Its kernels' names are in its source; a binary has none.
static cl_int CL_API_CALL layer_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                               const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                               void *user)
{
    size_t size = 0;
    next->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size);
    char *source = calloc(1, size + 1);
    if (source)
        next->clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source, NULL);
    const rule *met = enter(&(call){.number = AT_clBuildProgram, .kernel = source});
    free(source);
    if (is(met, FAIL))
        return (cl_int)met->value;
    return is(met, SKIP) ? CL_SUCCESS : next->clBuildProgram(program, count, devices, options, notify, user);
}
COUNTS(PROGRAM, 1, cl_program, clRetainProgram)
COUNTS(PROGRAM, -1, cl_program, clReleaseProgram)
ANSWERS(clGetProgramInfo, (cl_program program, cl_program_info name, size_t size, void *value, size_t *needed),
        (program, name, size, value, needed))

MAKES(KERNEL, cl_kernel, clCreateKernel, 0, (cl_program program, const char *name, cl_int *code), (program, name, code))
COUNTS(KERNEL, 1, cl_kernel, clRetainKernel)
COUNTS(KERNEL, -1, cl_kernel, clReleaseKernel)
ANSWERS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value), (kernel, index, size, value))
ANSWERS(clGetKernelWorkGroupInfo,
        (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name, size_t size, void *value,
         size_t *needed),
        (kernel, device, name, size, value, needed))

// The one that knows its kernel's name.
static cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint count, const cl_event *events, cl_event *event)
{
    char name[128];
    const call here = {.number = AT_clEnqueueNDRangeKernel, .kernel = name_of(kernel, name, sizeof name)};
    pthread_mutex_lock(&last_lock);
    memcpy(last_kernel, name, sizeof last_kernel);
    pthread_mutex_unlock(&last_lock);
    const rule *met = enter(&here);
    if (is(met, FAIL))
        return (cl_int)met->value;
    cl_int code = CL_SUCCESS;
    if (!is(met, SKIP))
        code = next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, events, event);
    return answer(met, queue, code, event);
}

// A transfer that does not block may be corrupted only when it is over: it waits then.
static cl_int CL_API_CALL layer_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset,
                                                    size_t size, void *host, cl_uint count, const cl_event *events,
                                                    cl_event *event)
{
    const rule *met = enter(&(call){.number = AT_clEnqueueReadBuffer, .bytes = size});
    if (is(met, FAIL))
        return (cl_int)met->value;
    cl_int code = CL_SUCCESS;
    if (!is(met, SKIP))
        code = next->clEnqueueReadBuffer(queue, mem, is(met, CORRUPT) ? CL_TRUE : blocking, offset, size, host, count,
                                         events, event);
    if (is(met, CORRUPT) && code == CL_SUCCESS)
        flip(host, size);
    return answer(met, queue, code, event);
}

static void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                                  cl_map_flags flags, size_t offset, size_t size, cl_uint count,
                                                  const cl_event *events, cl_event *event, cl_int *code)
{
    const rule *met = enter(&(call){.number = AT_clEnqueueMapBuffer, .bytes = size});
    if (is(met, FAIL)) {
        if (code)
            *code = (cl_int)met->value;
        return NULL;
    }
    void *mapped = next->clEnqueueMapBuffer(queue, mem, is(met, CORRUPT) ? CL_TRUE : blocking, flags, offset, size,
                                            count, events, event, code);
    if (is(met, CORRUPT))
        flip(mapped, size);
    answer(met, queue, mapped ? CL_SUCCESS : CL_MAP_FAILURE, event);
    return mapped;
}

ENQUEUES(clEnqueueNativeKernel, 0,
         (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size, cl_uint mem_count,
          const cl_mem *mems, const void **places, cl_uint count, const cl_event *events, cl_event *event),
         (queue, function, arguments, size, mem_count, mems, places, count, events, event))
ENQUEUES(clEnqueueWriteBuffer, size,
         (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t size, const void *host,
          cl_uint count, const cl_event *events, cl_event *event),
         (queue, mem, blocking, offset, size, host, count, events, event))
ENQUEUES(clEnqueueCopyBuffer, size,
         (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
          cl_uint count, const cl_event *events, cl_event *event),
         (queue, from, to, from_offset, to_offset, size, count, events, event))
ENQUEUES(clEnqueueFillBuffer, size,
         (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_size, size_t offset, size_t size,
          cl_uint count, const cl_event *events, cl_event *event),
         (queue, mem, pattern, pattern_size, offset, size, count, events, event))
ENQUEUES(clEnqueueUnmapMemObject, 0,
         (cl_command_queue queue, cl_mem mem, void *host, cl_uint count, const cl_event *events, cl_event *event),
         (queue, mem, host, count, events, event))
ENQUEUES(clEnqueueMarkerWithWaitList, 0,
         (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *event),
         (queue, count, events, event))
ENQUEUES(clEnqueueBarrierWithWaitList, 0,
         (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *event),
         (queue, count, events, event))

MAKES(EVENT, cl_event, clCreateUserEvent, 0, (cl_context context, cl_int *code), (context, code))
ANSWERS(clSetUserEventStatus, (cl_event event, cl_int status), (event, status))
COUNTS(EVENT, 1, cl_event, clRetainEvent)
COUNTS(EVENT, -1, cl_event, clReleaseEvent)
ANSWERS(clGetEventInfo, (cl_event event, cl_event_info name, size_t size, void *value, size_t *needed),
        (event, name, size, value, needed))

static cl_int CL_API_CALL layer_clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size,
                                                        void *value, size_t *needed)
{
    const rule *met = enter(&(call){.number = AT_clGetEventProfilingInfo});
    if (is(met, FAIL))
        return (cl_int)met->value;
    const cl_int code = next->clGetEventProfilingInfo(event, name, size, value, needed);
    if (is(met, SCALE) && code == CL_SUCCESS && value && size >= sizeof(cl_ulong))
        *(cl_ulong *)value = (cl_ulong)((double)*(cl_ulong *)value * met->value);
    return code;
}

ANSWERS(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
ANSWERS(clFlush, (cl_command_queue queue), (queue))
ANSWERS(clFinish, (cl_command_queue queue), (queue))

// ---- what the loader asks for ----

static void report(void)
{
    const char *path = getenv("HUSK_TEST_REPORT");
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    for (int i = 0; file && i < CALL_COUNT; i++)
        fprintf(file, "calls %s %ld\n", call_names[i], atomic_load(&call_counts[i]));
    for (int i = 0; file && i < KIND_COUNT; i++)
        fprintf(file, "live %s %ld\n", kind_names[i], atomic_load(&live[i]));
    if (file)
        fclose(file);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char layer_name[] = "Husk's tests";
    const bool is_version = name == CL_LAYER_API_VERSION;
    const size_t length = is_version ? sizeof version : sizeof layer_name;
    if ((!is_version && name != CL_LAYER_NAME) || (value && size < length))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, is_version ? (const void *)&version : layer_name, length);
    if (needed)
        *needed = length;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_back,
                                            const cl_icd_dispatch **layer)
{
    const size_t all = sizeof ours / sizeof(void *);
    if (!target || !count_back || !layer || count * sizeof(void *) < offsetof(cl_icd_dispatch, clCreateKernel))
        return CL_INVALID_VALUE;
    next = target;
    memcpy(&ours, target, (count < all ? count : all) * sizeof(void *));
#define INSTALL(name) ours.name = layer_##name;
    CALLS(INSTALL)
    read_rules(getenv("HUSK_TEST_FAULTS"));
    atexit(report);
    *count_back = (cl_uint)(count < all ? count : all);
    *layer = &ours;
    return CL_SUCCESS;
}

// For programs that change the rules as they go: found with dlsym in the library that the loader has opened.
void husk_test_layer_rules(const char *text);
long husk_test_layer_live(void);
long husk_test_layer_live_of(const char *kind);

void husk_test_layer_rules(const char *text)
{
    read_rules(text);
}

long husk_test_layer_live(void)
{
    long sum = 0;
    for (int i = 0; i < KIND_COUNT; i++)
        sum += atomic_load(&live[i]);
    return sum;
}

long husk_test_layer_live_of(const char *kind)
{
    const int i = find(kind_names, KIND_COUNT, kind, strlen(kind));
    return i < 0 ? -1 : atomic_load(&live[i]);
}
