// The allocator's functions, defined in the program itself so that they come before glibc's: each counts and passes on.
// While nobody counts they cost one load and one branch, so times can be measured in the same program.

#include "CAllocationCounter.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_bool counting;
static atomic_size_t allocations;

static void count(void) {
    if (atomic_load_explicit(&counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) { return ENOMEM; }
    *result = memory;
    return 0;
}

void free(void *memory) { __libc_free(memory); }

void allocation_counter_start(void) {
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
}

size_t allocation_counter_stop(void) {
    atomic_store(&counting, false);
    return atomic_load(&allocations);
}

size_t allocation_counter_live_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
