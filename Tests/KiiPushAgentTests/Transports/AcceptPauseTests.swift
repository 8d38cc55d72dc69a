import Glibc
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem

@Suite("clients for whom there is no descriptor")
struct AcceptPauseTests {
    @Test(
        "they are a shortage until there is one again",
        arguments: [(EMFILE, Shortage.Kind.descriptors), (ENFILE, .descriptors), (ENOMEM, .memory), (ENOBUFS, .memory)])
    func shortage(number: Int32, kind: Shortage.Kind) {
        let changes = Mutex<[String]>([])
        let shortages = Shortages { change in changes.withLock { $0.append("\(change)") } }
        var pause = AcceptPause(shortages, what: "clients of /run/s")
        let isTold = pause.failed(ErrorNumber(rawValue: number))
        #expect(isTold && shortages.isShort(of: kind))
        #expect(pause.left != nil && !pause.isDue)
        _ = pause.failed(ErrorNumber(rawValue: number))
        pause.succeeded()
        pause.succeeded()
        #expect(shortages.current.isEmpty && pause.left == nil)
        let told = changes.withLock { $0 }
        #expect(told.count == 2 && told[0].contains("clients of /run/s cannot be accepted"))
    }

    @Test("ends with the shortage of another resource, or another failure", arguments: [ENOMEM, EPERM])
    func otherShortage(then number: Int32) {
        let shortages = Shortages()
        var pause = AcceptPause(shortages, what: "clients")
        _ = pause.failed(ErrorNumber(rawValue: EMFILE))
        _ = pause.failed(ErrorNumber(rawValue: number))
        #expect(!shortages.isShort(of: .descriptors) && shortages.isShort(of: .memory) == (number == ENOMEM))
        pause.succeeded()
        #expect(shortages.current.isEmpty)
    }

    @Test("another failure, and one that nobody is told of, is no shortage; both have a pause")
    func other() {
        let shortages = Shortages()
        var pause = AcceptPause(shortages, what: "clients")
        let isTold = pause.failed(ErrorNumber(rawValue: EPERM))
        #expect(!isTold && shortages.current.isEmpty && pause.left != nil)
        var alone = AcceptPause(nil, what: "clients")
        let isToldAlone = alone.failed(ErrorNumber(rawValue: EMFILE))
        #expect(!isToldAlone && alone.left != nil)
    }
}
