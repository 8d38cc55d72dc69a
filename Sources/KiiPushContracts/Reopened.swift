import Synchronization

/// An object under test that is opened, closed and opened again, as when its process restarts.
final class Reopened<Tried: Sendable>: Sendable {
    struct Opened: Sendable {
        let tried: Tried
        let close: @Sendable () -> Void
    }

    /// A guarantee used the object after closing it.
    private struct IsClosed: Error {}

    private let open: @Sendable () throws -> Opened
    private let opened: Mutex<Opened?>

    init(_ open: @escaping @Sendable () throws -> Opened) throws {
        self.open = open
        opened = Mutex(try open())
    }

    /// The object of the current process.
    var tried: Tried {
        get throws {
            guard let tried = opened.withLock({ $0?.tried }) else { throw IsClosed() }
            return tried
        }
    }

    func close() {
        opened.withLock { opened in
            opened?.close()
            opened = nil
        }
    }

    /// Simulates the end of the process and the start of another.
    func restart() throws {
        close()
        let next = try open()
        opened.withLock { $0 = next }
    }
}
