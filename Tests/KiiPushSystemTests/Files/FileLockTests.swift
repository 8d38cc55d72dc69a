import Glibc
import Testing

@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("a lock by a file")
struct FileLockTests {
    @Test("a lock whose file was replaced while waiting locks the new file", .timeLimit(.minutes(5)))
    func removed() async throws {
        let directory = try Folder()
        let path = directory["lock"]
        let first = try FileLock(path, limit: .zero)
        async let waiting = withThread { Result { () throws(ErrorNumber) in try FileLock(path, limit: .seconds(20)) } }
        // Until the second one has opened the file that is about to go.
        while OpenDescriptor.all.count(where: { $0.target == path }) < 2, !Task.isCancelled { await Task.yield() }
        #expect(unsafe unlink(path) == 0)
        first.unlock()
        let second = try await waiting.get()
        #expect(throws: ErrorNumber(rawValue: EWOULDBLOCK)) { try FileLock(path, limit: .zero) }
        second.unlock()
        try FileLock(path, limit: .zero).unlock()
    }
}
