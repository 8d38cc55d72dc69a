import Glibc

/// A mosquitto on a free port of the loopback interface, with a directory of its own.
final class Broker {
    let folder: Folder
    let port: Int
    /// Where it takes devices that prove themselves over TLS; nil where it takes everybody only.
    let securePort: Int?
    private var process: Child?

    static let program = "/usr/sbin/mosquitto"

    /// Starts a broker that keeps sessions and forgets no message for want of room.
    ///
    /// - Parameters:
    ///   - savesAtOnce: whether it writes its sessions after each change, so that a kill of it loses none that has
    ///     settled; else when it ends. It takes time in proportion to all that it keeps.
    ///   - window: how many messages it sends before it waits for acknowledgements; mosquitto's own default is 20.
    ///   - security: what the devices on another port prove themselves with; nil for no such port.
    /// - Throws: why it does not answer.
    init(savesAtOnce: Bool = false, window: Int = 20, security: Security? = nil) throws {
        folder = try Folder()
        port = try freePort()
        securePort = try security.map { _ in try freePort() }
        let secure = security.flatMap { security in securePort.map { security.listener($0) } } ?? ""
        let saving = savesAtOnce ? "autosave_interval 1\nautosave_on_changes true" : "autosave_interval 0"
        // As root it would become another user, who may not write to the folder.
        let user = getuid() == 0 ? "user root\n" : ""
        let configuration = """
            \(user)per_listener_settings \(security != nil)
            listener \(port) 127.0.0.1
            allow_anonymous true
            \(secure)
            persistence true
            persistence_location \(folder.path)/
            max_queued_messages 0
            max_inflight_messages \(window)
            set_tcp_nodelay true
            log_type error
            log_type warning
            \(saving)

            """
        try write(configuration.utf8, to: "\(folder.path)/mosquitto.conf")
        try start()
    }

    deinit { try? stop() }

    /// Starts it, and waits until it answers.
    func start() throws {
        let process = try Child([Self.program, "-c", "\(folder.path)/mosquitto.conf"], errors: "\(folder.path)/log")
        self.process = process
        try wait(for: "mosquitto answers", within: .seconds(10)) {
            guard process.isRunning else { throw Trouble("mosquitto ended: \(words(of: "\(folder.path)/log"))") }
            guard let link = connected(to: port) else { return false }
            close(link)
            return true
        }
    }

    func send(_ signal: Int32) { process?.send(signal) }

    /// Ends it: with SIGTERM it writes down what it has, with SIGKILL it does not.
    func stop(by signal: Int32 = SIGTERM) throws {
        guard let process else { return }
        self.process = nil
        process.send(SIGCONT)
        try process.end(by: signal)
    }

    /// Forgets all sessions; for one that is stopped.
    func forget() { unlink("\(folder.path)/mosquitto.db") }

    /// When it last wrote its sessions down.
    var lastSave: timespec {
        var information = stat()
        return stat("\(folder.path)/mosquitto.db", &information) == 0 ? information.st_mtim : timespec()
    }
}

/// A port of the loopback interface that nobody listens on.
///
/// It is none of those that the system gives to connections: one to a broker that is away could get that port, and
/// be connected with itself, so that the broker cannot return.
func freePort() throws -> Int {
    for _ in 0..<100 {
        let port = Int.random(in: 10_000..<32_768)
        if let link = makeLink(to: port, bind) {
            close(link)
            return port
        }
    }
    throw Trouble("no free port: \(text())")
}

/// A socket that a call took for a port of the loopback interface; nil when the call failed.
private func makeLink(to port: Int, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32? {
    let link = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            call(link, address, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    if result == 0 { return link }
    close(link)
    return nil
}

/// A socket that is connected to a port of the loopback interface; nil when nobody listens there.
func connected(to port: Int) -> Int32? { makeLink(to: port, connect) }

/// A socket that listens on a port of the loopback interface.
func listening(on port: Int) throws -> Int32 {
    guard let link = makeLink(to: port, bind), listen(link, 16) == 0 else { throw Trouble("port \(port): \(text())") }
    return link
}

/// Sends all bytes; false when the link is lost.
func sendAll(_ bytes: [UInt8], _ link: Int32) -> Bool {
    var left = bytes[...]
    while !left.isEmpty {
        let count = left.withUnsafeBytes { send(link, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        left = left.dropFirst(count)
    }
    return true
}
