package import Glibc
import Synchronization

/// Wakes a thread that polls, from any other thread or task, and tells it when to end.
package final class ThreadSignal: Sendable {
    /// Readable while the signal is raised.
    package let descriptor: Int32

    private let writer: Int32
    private let isRaised = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)

    /// Makes a signal that is not raised.
    ///
    /// - Throws: the number of the call that failed, such as `EMFILE`.
    package init() throws(ErrorNumber) {
        // A pair of sockets, since Swift's Glibc knows no eventfd.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .current }
        guard DescriptorLimit.isBelowReserve(max(ends[0], ends[1])) else {
            for end in ends { close(end) }
            throw ErrorNumber(rawValue: EMFILE)
        }
        (descriptor, writer) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writer)
    }

    /// Wakes the thread; what it has raised before and nobody has cleared makes no further call.
    package func raise() {
        guard !isRaised.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 1
        _ = unsafe send(writer, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    /// Wakes the thread for the last time.
    func end() {
        isOver.store(true, ordering: .releasing)
        raise()
    }

    /// Whether somebody has ended it.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Lets the thread sleep again; call it before looking at what the signal may be about.
    package func clear() {
        var bytes: UInt64 = 0
        while unsafe recv(descriptor, &bytes, 8, 0) > 0 {}
        // An exchange, so that what was written before a call of `raise` that found the flag set is seen from here on.
        _ = isRaised.exchange(false, ordering: .acquiringAndReleasing)
    }
}

/// Blocks until one of the descriptors is ready or the time is over; a signal may end it early.
///
/// - Parameters:
///   - polled: what is waited for; a descriptor of -1 is passed over.
///   - limit: how long at most; nil for as long as it takes.
package func pollAll(_ polled: inout [pollfd], for limit: Duration?) {
    let milliseconds = limit.map { Int32(min(max($0 / .milliseconds(1), 0).rounded(.up), 1_000_000_000)) } ?? -1
    if unsafe poll(&polled, nfds_t(polled.count), milliseconds) < 0 {
        for index in polled.indices { polled[index].revents = 0 }
    }
}

/// Lets every write of this process to a pipe or a socket that nobody reads fail with `EPIPE`, where otherwise a signal
/// would end it.
///
/// For a program that has the process to itself. Programs that it starts get the signal as they always do.
package func ignoreBrokenPipeSignal() { _ = signal(SIGPIPE, SIG_IGN) }

/// Lets this thread's writes to a pipe that nobody reads fail with `EPIPE`, where otherwise a signal would end the
/// process.
///
/// For a thread of its own, for good: a signal that waits would come as soon as it is let through.
func blockBrokenPipeSignal() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
