#pragma once

#include <stddef.h>

/// Counts from now on, from zero.
void allocation_counter_start(void);

/// Stops, and returns how often memory was asked for since the start, by any thread.
size_t allocation_counter_stop(void);

/// The bytes that are allocated and not freed, as glibc counts them.
size_t allocation_counter_live_bytes(void);
