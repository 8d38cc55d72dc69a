// The only file that uses the C library: Swift's own library has no wall clock.

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The seconds since the beginning of 1970 by the machine's wall clock; nil if it cannot be read.
func secondsSince1970() -> Int64? {
    // Whole seconds are enough for an age, and this is the one call that takes no pointer.
    let seconds = time(nil)
    return seconds < 0 ? nil : Int64(seconds)
}
