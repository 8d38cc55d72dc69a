import Dispatch
import Glibc
import Synchronization

/// A relay on a port of the loopback interface, whose links can be cut.
final class Proxy: Sendable {
    let port: Int
    private let target: Int
    private let listener: Int32
    private let links = Mutex<[Int32]>([])

    init(to target: Int) throws {
        self.target = target
        port = try freePort()
        listener = try listening(on: port)
        DispatchQueue(label: "proxy").async { self.accept() }
    }

    /// Cuts all links, both ways at once and without a word.
    func cut() {
        links.withLock { links in
            for link in links { shutdown(link, Int32(SHUT_RDWR)) }
            links = []
        }
    }

    /// Ends it.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    private func accept() {
        while true {
            let near = Glibc.accept(listener, nil, nil)
            guard near >= 0 else { break }
            guard let far = connected(to: target) else {
                close(near)
                continue
            }
            links.withLock { $0 += [near, far] }
            let relays = DispatchGroup()
            for (from, to) in [(near, far), (far, near)] {
                DispatchQueue(label: "relay").async(group: relays) { self.relay(from, to) }
            }
            relays.notify(queue: .global()) { self.close(near, far) }
        }
        Glibc.close(listener)
    }

    private func close(_ links: Int32...) {
        self.links.withLock { all in all.removeAll { links.contains($0) } }
        for link in links { Glibc.close(link) }
    }

    private func relay(_ from: Int32, _ to: Int32) {
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = recv(from, &bytes, bytes.count, 0)
            guard count > 0, send(to, bytes, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
    }
}
