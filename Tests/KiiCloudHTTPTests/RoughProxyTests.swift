#if HTTP
import Glibc
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import KiiPush
import Synchronization
import Testing

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
        let proxy = try RoughProxy(to: bench.server.port, seed: seed)
        defer { proxy.stop() }
        let host = "127.0.0.1:\(proxy.port)"
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
        await bench.transport.close()
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
#endif
