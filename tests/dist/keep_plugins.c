// SPDX-License-Identifier: MIT
// AddressSanitizer tells what MPI's plugins have not freed from what Husk has not by where it was allocated; so the
// plugins stay in memory.
#if defined(__SANITIZE_ADDRESS__)
__attribute__((visibility("default"))) int dlclose(void *handle);
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
#else
typedef int husk_test_nothing;
#endif
