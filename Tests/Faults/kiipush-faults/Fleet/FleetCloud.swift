import Dispatch
import Glibc
import KiiCloud
import KiiCloudTesting
import KiiPush
import Synchronization

/// A cloud behind a port that pushes to its subscribers over a broker, as Kii does to devices with MQTT.
final class FleetCloud: Sendable {
    static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "heating")

    let cloud = TestCloud()
    let server: TestCloudServer
    private let devices: Int
    private let link: Int32
    private let state = Mutex((pushes: 0, isStopped: false))

    /// Starts to publish what the devices are subscribed to.
    init(devices: Int, broker: Broker) throws {
        self.devices = devices
        server = try TestCloudServer(cloud)
        guard let link = connected(to: broker.port) else { throw Trouble("no connection to the broker: \(text())") }
        self.link = link
        // CONNECT: MQTT 3.1.1, a clean session, no keep-alive, no client id.
        guard sendAll([0x10, 12, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 0], link) else {
            throw Trouble("the broker takes no connection: \(text())")
        }
        DispatchQueue(label: "fleet").async { self.publish() }
    }

    deinit { close(link) }

    func stop() {
        state.withLock { $0.isStopped = true }
        server.stop()
    }

    static func topic(of device: Int) -> String { "device-\(device)" }
    static func thing(_ device: Int) -> KiiThing { KiiThing(id: "th.\(device)") }

    /// A client of somebody, within this process.
    func client(of sender: Sender) -> KiiClient {
        KiiClient(cloud.app, transport: cloud, tokens: FixedToken(cloud.logIn(sender)), me: sender)
    }

    /// How many pushes were published, to all devices together.
    var pushes: Int { state.withLock { $0.pushes } }

    // MARK: The publisher

    private func publish() {
        while !state.withLock({ $0.isStopped }) {
            var packets: [UInt8] = []
            var count = 0
            for device in 0..<devices {
                let pushes = cloud.takePushes(for: .thing(Self.thing(device)))
                count += pushes.count
                for push in pushes { packets += Self.packet(push.bytes, Self.topic(of: device)) }
            }
            guard count > 0 else {
                usleep(2000)
                continue
            }
            guard sendAll(packets, link) else { return }
            state.withLock { $0.pushes += count }
        }
    }

    /// PUBLISH with quality of service 0, the only one that Kii documents.
    private static func packet(_ payload: [UInt8], _ topic: String) -> [UInt8] {
        let body = [UInt8(topic.utf8.count >> 8), UInt8(topic.utf8.count & 255)] + topic.utf8 + payload
        return [0x30, UInt8(body.count & 127 | 128), UInt8(body.count >> 7)] + body
    }
}

/// What a careless handler does: it changes the object that it was called for, and tells nobody.
enum CarelessWrite {
    /// Runs it: `careless PORT APP KEY TOKEN`; what it is told on standard input it does not look at.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 4, let port = Int(arguments[0]) else { throw Trouble("careless PORT APP KEY TOKEN") }
        guard let link = connected(to: port) else { throw Trouble("no server: \(text())") }
        defer { close(link) }
        var clock = timespec()
        clock_gettime(CLOCK_MONOTONIC, &clock)
        let body = "{\"at\":\(clock.tv_sec * 1_000_000_000 + clock.tv_nsec),\"by\":\(getpid())}"
        let request = """
            POST /api/apps/\(arguments[1])/buckets/settings/objects/heating HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Authorization: Bearer \(arguments[3])\r
            X-Kii-AppID: \(arguments[1])\r
            X-Kii-AppKey: \(arguments[2])\r
            X-HTTP-Method-Override: PATCH\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        var answer = [UInt8](repeating: 0, count: 4096)
        guard sendAll(Array(request.utf8), link), recv(link, &answer, answer.count, 0) > 12,
            String(decoding: answer.prefix(12), as: UTF8.self) == "HTTP/1.1 200"
        else { throw Trouble("the write failed") }
    }
}
