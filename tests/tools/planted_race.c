// SPDX-License-Identifier: MIT
// planted_race HOW: two threads write what no lock guards, one after the other by the clock alone. For
// check_planted.sh.
//
//   threads   a thread of the program's and main, a number
//   queue     the same, a queue of Husk's, which belongs to one thread at a time: the race is inside the library
//   event     the driver's thread, which calls back when a command has ended, and main, a number
//   memory    the same when a buffer has ended, whose memory is freed there, as Husk's own callback does
//   sound     threads, event and memory, with a lock
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <husk/husk.h>
#include <husk/opencl.h>

enum { BYTES = 64 };
static husk_context *context;
static husk_queue *queue;
static husk_buffer *buffer;

static pthread_t main_thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_sound;
static int number;
static atomic_int is_done; // relaxed: it says when, and orders nothing

static void must(bool is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "planted_race: %s\n", what);
    exit(2);
}

static void touch_number(void)
{
    if (is_sound)
        pthread_mutex_lock(&lock);
    number++;
    if (is_sound)
        pthread_mutex_unlock(&lock);
}

static void touch_queue(void)
{
    const uint32_t word = 7;
    must(husk_buffer_fill(queue, buffer, 0, BYTES, &word, sizeof word) == HUSK_OK, "fill");
}

static void touch_first(void (*touch)(void))
{
    must(!pthread_equal(pthread_self(), main_thread), "it is main that is called back");
    touch();
    atomic_store_explicit(&is_done, 1, memory_order_relaxed);
}

static void touch_second(void (*touch)(void))
{
    for (int i = 0; i < 10000 && !atomic_load_explicit(&is_done, memory_order_relaxed); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    must(atomic_exchange_explicit(&is_done, 0, memory_order_relaxed) == 1, "the other thread has never come");
    touch();
}

static void *run(void *is_of_queue)
{
    touch_first(is_of_queue ? touch_queue : touch_number);
    return NULL;
}

static void CL_CALLBACK event_ended(cl_event event, cl_int status, void *user)
{
    (void)event;
    (void)status;
    (void)user;
    touch_first(touch_number);
}

static void CL_CALLBACK memory_ended(cl_mem mem, void *memory)
{
    (void)mem;
    free(memory);
    touch_first(touch_number);
}

static void with_thread(bool is_of_queue)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, is_of_queue ? &thread : NULL) == 0, "pthread_create");
    touch_second(is_of_queue ? touch_queue : touch_number);
    pthread_join(thread, NULL);
}

// A command that waits until the callback is known and main has let go of everything else.
static void with_driver(bool is_memory)
{
    const cl_context cl = husk_context_opencl(context);
    const cl_int word = 7;
    cl_int code;
    cl_event gate = clCreateUserEvent(cl, &code), filled = NULL;
    must(code == CL_SUCCESS, "clCreateUserEvent");
    int *memory = aligned_alloc(BYTES, BYTES);
    must(memory != NULL, "no host memory");
    memset(memory, 1, BYTES);
    cl_mem mem = clCreateBuffer(cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, memory, &code);
    must(code == CL_SUCCESS, "clCreateBuffer");
    code = clEnqueueFillBuffer(husk_queue_opencl(queue), mem, &word, sizeof word, 0, BYTES, 1, &gate, &filled);
    must(code == CL_SUCCESS, "clEnqueueFillBuffer");
    if (is_memory)
        code = clSetMemObjectDestructorCallback(mem, memory_ended, memory);
    else
        code = clSetEventCallback(filled, CL_COMPLETE, event_ended, NULL);
    must(code == CL_SUCCESS, "the callback is not taken");
    clReleaseMemObject(mem);
    must(clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS, "clSetUserEventStatus");
    touch_second(touch_number);
    must(husk_queue_finish(queue) == HUSK_OK, "finish");
    clReleaseEvent(filled);
    clReleaseEvent(gate);
    if (!is_memory)
        free(memory);
}

int main(int argc, char **argv)
{
    husk_error error = {0};
    const char *how = argc > 1 ? argv[1] : "";
    main_thread = pthread_self();
    is_sound = strcmp(how, "sound") == 0;
    must(husk_context_create(NULL, NULL, &context, &error) == HUSK_OK &&
             husk_queue_create(context, NULL, &queue, &error) == HUSK_OK &&
             husk_buffer_create(context, BYTES, &buffer, &error) == HUSK_OK,
         error.text);
    if (is_sound || strcmp(how, "threads") == 0)
        with_thread(false);
    if (strcmp(how, "queue") == 0)
        with_thread(true);
    if (is_sound || strcmp(how, "event") == 0)
        with_driver(false);
    if (is_sound || strcmp(how, "memory") == 0)
        with_driver(true);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    puts("planted_race: done");
    return 0;
}
