// The wall clock without a pointer, so that Swift calls it as safe code.
#pragma once
#include <stdint.h>
#include <time.h>

/// The milliseconds since the beginning of 1970; -1 if the clock cannot be read.
static inline int64_t wallclock_milliseconds(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
