package import CLibrary
import Synchronization

/// Wakes a polling thread from any other thread or task, and tells it when to end.
package final class ThreadSignal: Sendable {
    /// Readable while the signal is raised.
    package let descriptor: Int32

    private let writer: Int32
    private let isRaised = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)

    package init() throws(ErrorNumber) {
        // Swift's Glibc has no eventfd.
        (descriptor, writer) = try DescriptorLimit.socketPair(Int32(SOCK_NONBLOCK.rawValue))
    }

    deinit {
        close(descriptor)
        close(writer)
    }

    /// Wakes the thread; makes no system call if the signal is already raised.
    package func raise() {
        guard !isRaised.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 1
        _ = unsafe send(writer, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    /// Wakes the thread for the last time.
    package func end() {
        isOver.store(true, ordering: .releasing)
        raise()
    }

    package var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Lets the thread sleep again; call it before checking for work.
    package func clear() {
        var bytes: UInt64 = 0
        while unsafe recv(descriptor, &bytes, 8, 0) > 0 {}
        // An exchange, so that writes before a `raise` that found the flag set are visible from here on.
        _ = isRaised.exchange(false, ordering: .acquiringAndReleasing)
    }
}

/// Blocks until a descriptor is ready or the time has passed; a signal may end it early, and -1 is ignored.
package func pollAll(_ polled: inout [pollfd], for limit: Duration?) {
    let milliseconds = limit.map { Int32(min(max($0 / .milliseconds(1), 0).rounded(.up), 1_000_000_000)) } ?? -1
    if unsafe poll(&polled, nfds_t(polled.count), milliseconds) < 0 {
        for index in polled.indices { polled[index].revents = 0 }
    }
}

/// Makes every write of this process to a broken pipe or socket fail with `EPIPE`, and to a file at its size limit with
/// `EFBIG`, instead of ending the process by a signal; programs that it starts get the signals as usual.
package func ignoreWriteSignals() { for number in [SIGPIPE, SIGXFSZ] { _ = signal(number, SIG_IGN) } }

/// Lets this process learn how its children end, if it was started by one that ignores the end of its own.
package func stopIgnoringChildren() {
    var before = sigaction()
    _ = unsafe sigaction(SIGCHLD, nil, &before)
    let handler = signal(SIGCHLD, SIG_DFL)
    let isIgnored = unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    if !isIgnored { _ = unsafe sigaction(SIGCHLD, &before, nil) }
}

/// The same for this thread alone, permanently: a pending signal would arrive as soon as it is unblocked.
package func blockBrokenPipeSignal() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
