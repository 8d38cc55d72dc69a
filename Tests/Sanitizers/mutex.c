// Tells the thread sanitizer of the two steps of Synchronization.Mutex that it cannot see; sanitize.sh preloads it.
//
// A lock that is free is taken, and one that nobody waits for is let go, by an atomic operation in our own code, which
// the sanitizer sees. When threads meet, both happen inside libswiftSynchronization, which is not instrumented; then
// what one thread did under the lock seems to race with what the next one does. These two functions stand before the
// library's, call them, and report the order that the lock made: no report is suppressed, so a real race is still one.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// _MutexHandle._lockSlow(_: UInt32) and _MutexHandle._unlockSlow(), as Swift 6.3 names them.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t owner, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);

static void *next(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

SWIFT void lock_slow(uint32_t owner, SELF void *mutex) {
    ((SWIFT void (*)(uint32_t, SELF void *))next(LOCK))(owner, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
    if (__tsan_release) __tsan_release(mutex);
    ((SWIFT void (*)(SELF void *))next(UNLOCK))(mutex);
}
