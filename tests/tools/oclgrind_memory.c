// SPDX-License-Identifier: MIT
// Preloaded before Oclgrind's library: no buffer's number is ever given to another buffer.
//
// Oclgrind (21.10) keeps a map of what is initialised for every buffer, by the buffer's number, and does not drop it
// when the buffer is released: the next buffer of that number starts with the map of the last one, and what lies
// beyond its end counts as uninitialised whatever is written there. So every buffer gets a reference more than its
// owner knows of, and its number stays taken. Releases are passed on, and still checked.
//
// And before the first program is built, LLVM's inliner is told not to leave noalias scopes where it inlines functions
// that return structs: Oclgrind knows no llvm.experimental.noalias.scope.decl, and refuses kernels that have one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

typedef cl_mem create_function(cl_context, cl_mem_flags, size_t, void *, cl_int *);
typedef void llvm_function(int, const char *const *, const char *); // LLVMParseCommandLineOptions

// POSIX lets an object's address become a function's; ISO C has no cast for it.
static void look_up(const char *name, void *function, size_t size)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (!address) {
        fprintf(stderr, "oclgrind_memory: there is no %s\n", name);
        abort();
    }
    memcpy(function, &address, size);
}

// With the library Oclgrind is linked with, which was loaded with it.
__attribute__((constructor)) static void set_inliner(void)
{
    static const char *const options[] = {"oclgrind", "-use-noalias-intrinsic-during-inlining=false"};
    llvm_function *parse;
    if (!dlsym(RTLD_NEXT, "LLVMParseCommandLineOptions"))
        return; // a program beside Oclgrind, such as the shell
    look_up("LLVMParseCommandLineOptions", &parse, sizeof parse);
    parse(2, options, NULL);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    create_function *next;
    look_up("clCreateBuffer", &next, sizeof next);
    cl_mem buffer = next(context, flags, size, host, code);
    if (buffer)
        clRetainMemObject(buffer);
    return buffer;
}
