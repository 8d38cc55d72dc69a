#if MQTT
import CMosquitto
import Glibc
import KiiPushLinux

/// Wakes a thread that waits in `poll`, from any other; several times before it looks are one.
final class WakeUp: Sendable {
    /// To be polled for reading.
    let descriptor: Int32

    init() throws(ErrorNumber) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .current }
    }

    // Whoever wants to wake the thread holds this object, so the number cannot be another file's by then.
    deinit { close(descriptor) }

    func signal() { _ = eventfd_write(descriptor, 1) }

    /// Forgets the signals so far.
    func clear() {
        var count: eventfd_t = 0
        // The call fills in `count`.
        _ = unsafe eventfd_read(descriptor, &count)
    }
}
#endif
