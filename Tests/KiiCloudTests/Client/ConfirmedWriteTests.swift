import KiiCloud
import KiiCloudTesting
import KiiPush
import Synchronization
import Testing

@Suite("a write whose answer is lost")
struct ConfirmedWriteTests {
    private let cloud = TestCloud()
    private let clock = NotedClock()
    private let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")

    private func client(attempts: Int = 3) -> KiiClient {
        let tokens = FixedToken(cloud.logIn(.user(id: "u-1")))
        let retries = RetrySettings(attempts: attempts)
        return KiiClient(cloud.app, transport: cloud, tokens: tokens, retries: retries, clock: clock)
    }

    @Test(
        "it is made again where it cannot happen twice, and reported as it happened",
        arguments: [.close(.work), .close(.answer), .rubbish, .status(500), .status(502)] as [TestFault])
    func again(fault: TestFault) async throws {
        let client = client()
        cloud.fail(fault)
        let created = try await client.write(object, .create(["n": 1]))
        #expect(created.isNew && created.version == "1" && created.modifiedAt != nil)
        cloud.fail(fault)
        #expect(try await client.write(object, .patch(["n": 2], ifMatch: "1")).version == "2")
        cloud.fail(fault)
        #expect(try await client.write(object, .replace(["n": 3], ifMatch: "2")).version == "3")
        #expect(cloud.version(of: object) == 3 && cloud.fields(of: object) == ["n": 3])
        #expect(clock.pauses.count == 3)
    }

    @Test("a write that could happen twice is sent once", arguments: [ObjectWrite.patch(["n": 2]), .replace(["n": 2])])
    func once(write: ObjectWrite) async throws {
        let client = client()
        try await client.write(object, .create(["n": 1]))
        cloud.fail(.close(.answer))
        await #expect(throws: TestCloud.NoAnswer.self) { try await client.write(object, write) }
        #expect(cloud.version(of: object) == 2 && clock.pauses == [])
    }

    @Test(
        "a write that was done is reported as done, though its answer says something else", arguments: [503, 202, 204])
    func workBehind(status: Int) async throws {
        let transport = WrongStatus(cloud, status)
        let tokens = FixedToken(cloud.logIn(.user(id: "u-1")))
        let client = KiiClient(cloud.app, transport: transport, tokens: tokens, clock: clock)
        #expect(try await client.write(object, .create(["n": 1])).version == "1")
        #expect(cloud.version(of: object) == 1)
    }

    @Test("another's change is a conflict; after a lost answer the write is uncertain")
    func conflict() async throws {
        let client = client()
        try await client.write(object, .create(["n": 1]))
        try await client.write(object, .patch(["n": 5]))
        let stale = await #expect(throws: CloudError.self) {
            try await client.write(object, .patch(["n": 2], ifMatch: "1"))
        }
        #expect(stale?.code == .objectVersionIsStale)
        cloud.fail(.close(.work))
        await #expect(throws: UncertainWrite.self) { try await client.write(object, .patch(["n": 2], ifMatch: "1")) }
        let there = await #expect(throws: CloudError.self) { try await client.write(object, .create(["n": 2])) }
        #expect(there?.code == .objectAlreadyExists)
        #expect(try await client.write(object, .create(["n": 5])).version == "2", "it has these fields already")
    }

    @Test("if no answer comes the object is read; if that fails too the write is uncertain")
    func noAnswer() async throws {
        let client = client()
        cloud.fail(.close(.answer), .close(.work), .close(.work))
        #expect(try await client.write(object, .create(["n": 1])).version == "1", "the first one had happened")
        cloud.fail(.close(.work), .close(.work), .close(.work))
        await #expect(throws: UncertainWrite.self) { try await client.write(object, .patch(["n": 2], ifMatch: "1")) }
        cloud.fail(.close(.answer), .close(.work), .close(.work), .close(.work), .close(.work), .close(.work))
        await #expect(throws: UncertainWrite.self) { try await client.write(object, .patch(["n": 2], ifMatch: "1")) }
        #expect(cloud.version(of: object) == 2)
        #expect("\(UncertainWrite())".contains("read the object again"))
    }
}

/// Does the first write, and answers another status: as a gateway before the server may.
private final class WrongStatus: HTTPTransport {
    private let cloud: TestCloud
    private let status: Int
    private let isFirst = Mutex(true)

    init(_ cloud: TestCloud, _ status: Int) { (self.cloud, self.status) = (cloud, status) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let answer = try await cloud.send(request)
        let isFirst = isFirst.withLock { first in
            defer { first = false }
            return first
        }
        return isFirst ? HTTPResponse(status: status) : answer
    }
}
