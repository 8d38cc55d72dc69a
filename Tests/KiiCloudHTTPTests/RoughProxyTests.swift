#if HTTP
import Glibc
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import KiiPush
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// Whether the environment asks for long runs.
private let isLong = unsafe getenv("KIIPUSH_LONG") != nil

@Suite("writes over a connection that is cut, delayed and doubled", .timeLimit(.minutes(isLong ? 10 : 1)))
struct RoughProxyTests {
    /// What writers were told, and about which writes.
    private struct Told {
        var done: Set<String> = []
        var refused: Set<String> = []
        var uncertain = 0
    }

    private static let writes = isLong ? 10_000 : 400
    private static let writesOfOne = 50
    private static let writers = 8

    @Test("each write happens once, and none is reported wrongly", arguments: [1, 2, 3] as [UInt64])
    func writes(seed: UInt64) async throws {
        let bench = try Bench { settings in settings.requestLimit = .seconds(1) }
        let proxy = RoughProxy(to: bench.server.port, seed: seed)
        let listener = try Listener { proxy.carry($0) }
        defer { withExtendedLifetime(listener) {} }
        let host = "127.0.0.1:\(listener.port)"
        bench.server.answer(alsoTo: host)
        let client = KiiClient(
            KiiApp(KiiSite(host: host), id: bench.cloud.app.id, key: bench.cloud.app.key), transport: bench.transport,
            tokens: FixedToken(bench.token), retries: RetrySettings(attempts: 6, pause: .milliseconds(2)))
        let told = try await withThrowingTaskGroup(of: Told.self) { group in
            for writer in 0..<Self.writers {
                let objects = stride(from: writer, to: Self.objects, by: Self.writers).map { object(bench, $0) }
                group.addTask {
                    var told = Told()
                    for object in objects { try await Self.write(Self.writesOfOne, to: object, client, &told) }
                    return told
                }
            }
            var all: [Told] = []
            for try await told in group { all.append(told) }
            return all
        }
        // What was late has come by then.
        try await eventually("all connections but the client's are closed") { bench.server.openConnections <= 8 }
        var (done, refused) = (Set<String>(), Set<String>())
        for one in told { (done, refused) = (done.union(one.done), refused.union(one.refused)) }
        var happened: Set<String> = []
        for number in 0..<Self.objects {
            let object = object(bench, number)
            let keys = (bench.cloud.fields(of: object)?.members ?? []).map(\.key)
            #expect(bench.cloud.version(of: object) == keys.count, "each write that happened, happened once")
            happened.formUnion(keys)
        }
        #expect(done.isSubset(of: happened), "reported as done and is not: \(done.subtracting(happened).sorted())")
        #expect(refused.isDisjoint(with: happened), "reported as not done: \(refused.intersection(happened).sorted())")
        let uncertain = told.reduce(0) { $0 + $1.uncertain }
        #expect(done.count > Self.writes * 9 / 10, "\(done.count) done, \(refused.count) not, \(uncertain) uncertain")
        #expect(Set(proxy.counts.keys).count == 5, "\(proxy.counts)")
        if Self.writes >= 10_000 { print("seed \(seed): \(done.count) done, \(uncertain) uncertain, \(proxy.counts)") }
    }

    private static var objects: Int { writes / writesOfOne }

    private func object(_ bench: Bench, _ number: Int) -> KiiObject {
        KiiObject(bucket: bench.bucket, id: "o-\(number)")
    }

    /// Adds a field to an object with each write, each to the version that it knows.
    private static func write(
        _ count: Int, to object: KiiObject, _ client: KiiClient, _ told: inout Told
    ) async throws {
        var version: String?
        for number in 0..<count {
            let key = "\(object.id)-\(number)"
            do {
                let write: ObjectWrite =
                    if let version { .patch([key: true], ifMatch: version) } else { .create([key: true]) }
                version = try await client.write(object, write).version
                told.done.insert(key)
            } catch is UncertainWrite {
                told.uncertain += 1
                version = try await known(object, client)
            } catch {
                told.refused.insert(key)
                version = try await known(object, client)
            }
        }
    }

    private static func known(_ object: KiiObject, _ client: KiiClient) async throws -> String? {
        for _ in 0..<100 {
            if let record = try? await client.refresh(object) { return record.version }
        }
        return nil
    }
}

/// A way to a port of this machine that cuts, delays and repeats what goes over it, as a seed says.
final class RoughProxy: Sendable {
    /// What happens to one connection.
    private struct Plan {
        /// How many bytes pass to the server before the connection is cut; nil for any.
        var requestBytes: Int?
        /// How many bytes pass to the client before the connection is cut; nil for any.
        var answerBytes: Int?
        /// How long a part of a request is kept back.
        var delay: Duration?
        /// Whether the server gets everything a second time, over another connection whose answers nobody reads.
        var isDoubled = false
        /// Whether the server still gets a request whose client was cut off, a moment later.
        var isLate = false

        init(_ generator: inout SeededGenerator) {
            func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }
            // No connection lasts, so that there are many.
            if chance(50) {
                requestBytes = Int.random(in: 0..<5000, using: &generator)
            } else {
                answerBytes = Int.random(in: 0..<1500, using: &generator)
            }
            if chance(20) { delay = .milliseconds(Int.random(in: 1...20, using: &generator)) }
            isDoubled = chance(25)
            isLate = chance(30)
        }
    }

    private struct State {
        var generator: SeededGenerator
        var counts: [String: Int] = [:]
    }

    private let target: Int
    private let state: Mutex<State>

    init(to target: Int, seed: UInt64) {
        self.target = target
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    /// Carries what goes over a client's connection until its end, on a thread of its own.
    func carry(_ client: Int32) {
        let plan = state.withLock { Plan(&$0.generator) }
        startThread { [self] in relay(client, plan) }
    }

    /// How often it did what.
    var counts: [String: Int] { state.withLock { $0.counts } }

    private func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }

    // MARK: One connection

    private func relay(_ client: Int32, _ plan: Plan) {
        let server = Self.connected(to: target)
        let double = plan.isDoubled ? Self.connected(to: target) : -1
        if plan.isDoubled { count("doubled") }
        if plan.delay != nil { count("delayed") }
        defer { for descriptor in [client, server, double] where descriptor >= 0 { close(descriptor) } }
        var (sent, answered) = (0, 0)
        while true {
            var polls = [client, server, double].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            pollAll(&polls, for: .seconds(5))
            if polls.allSatisfy({ $0.revents == 0 }) { return }
            if polls[2].revents != 0, Self.read(double) == nil { _ = shutdown(double, Int32(SHUT_RDWR)) }
            if polls[1].revents != 0 {
                guard let bytes = Self.read(server) else { return }
                let part = plan.answerBytes.map { Array(bytes.prefix(max($0 - answered, 0))) } ?? bytes
                answered += bytes.count
                guard Self.write(part, client), part.count == bytes.count else { return count("answer cut") }
            }
            if polls[0].revents != 0 {
                guard let bytes = Self.read(client) else { return }
                if let delay = plan.delay { Self.pause(delay) }
                let part = plan.requestBytes.map { Array(bytes.prefix(max($0 - sent, 0))) } ?? bytes
                sent += bytes.count
                if part.count < bytes.count {
                    guard plan.isLate else {
                        _ = Self.write(part, server)
                        return count("request cut")
                    }
                    shutdown(client, Int32(SHUT_RDWR))
                    Self.pause(.milliseconds(15))
                    count("request late")
                    if Self.write(bytes, server) { _ = Self.read(server) }
                    return
                }
                if double >= 0 { _ = Self.write(bytes, double) }
                guard Self.write(bytes, server) else { return }
            }
        }
    }

    // MARK: System calls

    private static func pause(_ duration: Duration) {
        var none: [pollfd] = []
        pollAll(&none, for: duration)
    }

    /// What there is; nil at the end.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = retrying { unsafe recv(descriptor, &bytes, bytes.count, 0) }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func write(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
        bytes.isEmpty || retrying { unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) } == bytes.count
    }

    private static func connected(to port: Int) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if Loopback.connect(descriptor, to: port) { return descriptor }
        close(descriptor)
        return -1
    }
}
#endif
