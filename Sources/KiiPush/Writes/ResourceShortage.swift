/// An error of a handler that has done nothing because it lacks a resource: open files, memory, threads.
///
/// A `PushService` does not count the attempt. It runs the handler again at ``endsAt``, or else after a pause, which
/// grows from 100 ms to 10 s, for as long as nothing else fails, and does not report that: report the shortage, and its
/// end, yourself. For a receiver without a service it is a failure like any other.
public protocol ResourceShortage: Error {
    /// When the resource is there again, on the receiver's clock; nil, the default, if nobody knows.
    var endsAt: MonotonicInstant? { get }
}

extension ResourceShortage {
    /// Nil: nobody knows when it ends.
    public var endsAt: MonotonicInstant? { nil }
}
