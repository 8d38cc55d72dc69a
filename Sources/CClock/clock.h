// The clocks without a pointer, so that Swift calls them as safe code.
#pragma once
#include <stdint.h>
#include <time.h>

/// The nanoseconds of the clock that Swift's `ContinuousClock` reads.
static inline int64_t clock_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// The milliseconds since the beginning of 1970; -1 if the clock cannot be read.
static inline int64_t clock_wall_milliseconds(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
