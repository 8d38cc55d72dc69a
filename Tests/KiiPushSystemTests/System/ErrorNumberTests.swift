import Glibc
import Testing

@testable import KiiPushSystem

struct ErrorNumberTests {
    @Test("repeats a call while signals interrupt it")
    func retries() {
        var results = [-1, -1, 5, 6]
        let result = retrying {
            errno = EINTR
            return results.removeFirst()
        }
        #expect(result == 5)
        #expect(results == [6])
    }

    @Test("does not repeat a call that fails otherwise")
    func failure() {
        var calls = 0
        let result = retrying {
            calls += 1
            errno = EIO
            return -1
        }
        #expect(result == -1)
        #expect(ErrorNumber.current.rawValue == EIO)
        #expect(calls == 1)
    }

    @Test(
        "a number has Linux's own words",
        arguments: [(ENOENT, "No such file or directory"), (EIO, "Input/output error")])
    func words(number: Int32, text: String) {
        #expect(ErrorNumber(rawValue: number).description == text)
    }
}
