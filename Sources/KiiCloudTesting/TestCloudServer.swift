import CLibrary
public import KiiCloud
import KiiPushAgent
public import KiiPushSystem
import Synchronization

/// Serves a ``TestCloud`` on a port of this machine, over plain HTTP.
///
/// ```swift
/// let server = try TestCloudServer(TestCloud())
/// defer { server.stop() }
/// ```
///
/// Each connection has a thread; at most 64 are open, and further clients wait.
public final class TestCloudServer: Sendable {
    /// The cloud that answers.
    public let cloud: TestCloud
    /// The port, on 127.0.0.1.
    public let port: Int

    private let listener: Int32
    private let state = Mutex(State())
    private let signal: ThreadSignal

    private struct State {
        var isStopped = false
        var open: Set<Int32> = []
        var accepted = 0
        /// Further names for this server, besides its own.
        var hosts: Set<String> = []
    }

    private static let mostConnections = 64

    /// Starts to listen on a free port.
    ///
    /// - Throws: the error of the system, such as no free descriptor.
    public init(_ cloud: TestCloud) throws(ErrorNumber) {
        self.cloud = cloud
        signal = try ThreadSignal()
        (listener, port) = try Self.makeListener()
        startThread { [self] in acceptAll() }
    }

    /// The app on this server; a transport must use plain HTTP for it.
    public var app: KiiApp {
        KiiApp(KiiSite(host: "127.0.0.1:\(port)"), id: cloud.app.id, key: cloud.app.key)
    }

    /// Also accepts requests for another host's name, such as that of a proxy before it.
    public func answer(alsoTo host: String) { state.withLock { _ = $0.hosts.insert(host) } }

    package var acceptedConnections: Int { state.withLock { $0.accepted } }

    package var openConnections: Int { state.withLock { $0.open.count } }

    /// Closes all connections and the port; later connections are refused.
    public func stop() {
        state.withLock { state in
            // The thread closes it later: until then the kernel would still accept connections.
            if !state.isStopped { shutdown(listener, Int32(SHUT_RDWR)) }
            state.isStopped = true
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
        signal.raise()
    }

    // MARK: Connections

    /// Listens on a free port of 127.0.0.1; returns the descriptor and the port.
    private static func makeListener() throws(ErrorNumber) -> (Int32, Int) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw .current }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The calls read or fill in `address`, whose length they are given.
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                guard unsafe bind(listener, general, length) == 0, listen(listener, 64) == 0 else { return -1 }
                return unsafe Int(getsockname(listener, general, &length))
            }
        }
        guard code == 0 else {
            let error = ErrorNumber.current
            close(listener)
            throw error
        }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    private func acceptAll() {
        while !state.withLock({ $0.isStopped }) {
            let isFull = openConnections >= Self.mostConnections
            var polls = [
                pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isFull ? -1 : listener, events: Int16(POLLIN), revents: 0),
            ]
            pollAll(&polls, for: nil)
            if polls[0].revents != 0 { signal.clear() }
            if polls[1].revents != 0 { acceptOne() }
        }
        close(listener)
    }

    private func acceptOne() {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let isOpen = state.withLock { state in
            guard !state.isStopped else { return false }
            state.accepted += 1
            state.open.insert(descriptor)
            return true
        }
        guard isOpen else { return _ = close(descriptor) }
        startThread { [self] in
            var connection = ServedConnection(
                descriptor, cloud, hosts: state.withLock { $0.hosts }.union([app.host]))
            connection.serve()
            // Under the lock, so that `stop` does not shut down a different file with a reused descriptor.
            state.withLock { state in
                state.open.remove(descriptor)
                close(descriptor)
            }
            signal.raise()
        }
    }
}
