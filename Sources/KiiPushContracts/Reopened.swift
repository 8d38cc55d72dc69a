import Synchronization

/// What a contract opens, closes and opens again, as when its process ends and another one begins.
final class Reopened<Tried: Sendable>: Sendable {
    struct Opened: Sendable {
        let tried: Tried
        let close: @Sendable () -> Void
    }

    /// A guarantee used it after it had closed it.
    private struct IsClosed: Error {}

    private let open: @Sendable () throws -> Opened
    private let opened: Mutex<Opened?>

    init(_ open: @escaping @Sendable () throws -> Opened) throws {
        self.open = open
        opened = Mutex(try open())
    }

    /// That of the process that there is now.
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

    /// Ends the process, so to speak, and begins another one.
    func restart() throws {
        close()
        let next = try open()
        opened.withLock { $0 = next }
    }
}
