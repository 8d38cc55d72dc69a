import CLibrary

/// Linux's error number, `errno`.
public struct ErrorNumber: RawRepresentable, Error, Sendable, Hashable, CustomStringConvertible {
    /// The number, such as `ENOENT`.
    public let rawValue: Int32

    /// Wraps a number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The error number of this thread's last failed call.
    package static var current: ErrorNumber { ErrorNumber(rawValue: errno) }

    /// Linux's text for the number: "No such file or directory".
    public var description: String {
        // The C library owns the text; for an unknown number it is valid until the thread's next call.
        unsafe String(cString: strerror(rawValue))
    }
}
