import Glibc

/// The number by which Linux says why a call failed: `errno`.
public struct ErrorNumber: RawRepresentable, Error, Sendable, Hashable, CustomStringConvertible {
    /// The number, such as `ENOENT`.
    public let rawValue: Int32

    /// Wraps a number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The number that the last failed call of this thread left behind.
    package static var current: ErrorNumber { ErrorNumber(rawValue: errno) }

    /// What the number means, in Linux's words: "No such file or directory".
    public var description: String {
        // The C library keeps the text; for an unknown number it is the thread's own until its next call.
        unsafe String(cString: strerror(rawValue))
    }
}

/// Makes a system call again for as long as a signal interrupts it.
///
/// - Parameter call: the call, which says -1 and sets `errno` when it fails.
/// - Returns: what the last call returned.
package func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

/// Blocks until a descriptor that somebody has made non-blocking is ready.
///
/// - Returns: false when it cannot be waited for; `errno` says why.
func waitUntilReady(_ descriptor: Int32, for events: Int32) -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return retrying { unsafe Glibc.poll(&poll, 1, -1) } >= 0
}
