// The only file that uses the C library: Swift's own library has no wall clock.

import CWallClock

/// The milliseconds since the beginning of 1970 by the machine's wall clock; nil if it cannot be read.
func millisecondsSince1970() -> Int64? {
    let time = wallclock_milliseconds()
    return time < 0 ? nil : time
}
