import Glibc
import KiiPushContracts
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSystem
@testable import KiiPushTestSupport

struct ServiceManagerTests {
    private func manager(_ variables: [String: String], process: pid_t = 7) -> ServiceManager {
        ServiceManager(process: process) { variables[$0] }
    }

    @Test("a manager is told what happens, a datagram each, by a path or an abstract name")
    func tells() throws {
        let folder = try Folder()
        let name = "kiipush-tests-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let listeners = [
            (folder["notify"], try DatagramSocket(path: folder["notify"])),
            ("@\(name)", try DatagramSocket(UnixAddress(abstract: name))),
        ]
        for (socket, listener) in listeners {
            let manager = manager(["NOTIFY_SOCKET": socket])
            #expect(manager.isPresent)
            manager.ready()
            manager.status("3 routes\nREADY=0")
            manager.alive()
            manager.stopping()
            let told = ["READY=1", "STATUS=3 routes\\nREADY=0", "WATCHDOG=1", "STOPPING=1"]
            #expect((0..<4).map { _ in listener.next } == told)
            #expect(listener.next == nil)
        }
    }

    @Test(
        "does nothing without a manager",
        arguments: [nil, "", "relative", "vsock:2:1", "/nowhere/at/all", "@", "/" + String(repeating: "x", count: 200)])
    func nobody(socket: String?) {
        var variables: [String: String] = [:]
        variables["NOTIFY_SOCKET"] = socket
        let manager = manager(variables)
        manager.ready()
        manager.stopping()
        #expect(manager.watchdogInterval == nil)
    }

    @Test("never blocks on a manager that does not read", .timeLimit(.minutes(5)))
    func fullQueue() throws {
        let folder = try Folder()
        let listener = try DatagramSocket(path: folder["notify"])
        let manager = manager(["NOTIFY_SOCKET": folder["notify"]])
        // The system queues eleven at the most, unless somebody has told it to take more.
        for number in 1...14 { manager.status("\(number)") }
        var told: [String] = []
        while let next = listener.next { told.append(next) }
        #expect(told.first == "STATUS=1")
        manager.status("again")
        #expect(listener.next == "STATUS=again")
    }

    @Test("the watchdog is due in half its time, if it is set and meant for this process")
    func interval() {
        let cases: [(usec: String?, process: String?, interval: Duration?)] = [
            ("30000000", nil, .seconds(15)), ("30000000", "7", .seconds(15)), ("30000000", "8", nil),
            (nil, "7", nil), ("0", nil, nil), ("-5", nil, nil), ("soon", nil, nil), ("3", nil, .nanoseconds(1500)),
        ]
        for (usec, process, interval) in cases {
            var variables = ["NOTIFY_SOCKET": "/run/systemd/notify"]
            variables["WATCHDOG_USEC"] = usec
            variables["WATCHDOG_PID"] = process
            #expect(manager(variables).watchdogInterval == interval, "\(usec ?? "-") \(process ?? "-")")
            variables["NOTIFY_SOCKET"] = nil
            #expect(manager(variables).watchdogInterval == nil)
        }
    }

    @Test("feeds the watchdog while there is progress")
    func watchdog() async throws {
        let folder = try Folder()
        let listener = try DatagramSocket(path: folder["notify"])
        let manager = manager(["NOTIFY_SOCKET": folder["notify"], "WATCHDOG_USEC": "20000000"])
        let clock = ManualClock()
        let work = Mutex((makesProgress: true, asked: 0))
        let keeping = Task {
            await manager.keepAlive(clock: clock) {
                work.withLock { work in
                    work.asked += 1
                    return work.makesProgress
                }
            }
        }
        var told: [String?] = []
        for turn in 1...4 {
            #expect(await comes { work.withLock(\.asked) == turn && clock.nextWake != nil })
            told.append(listener.next)
            work.withLock { $0.makesProgress = turn != 2 }
            clock.advance(by: .seconds(9))
            #expect(work.withLock(\.asked) == turn)
            clock.advance(by: .seconds(1))
        }
        #expect(told == ["WATCHDOG=1", "WATCHDOG=1", nil, "WATCHDOG=1"])
        keeping.cancel()
        await keeping.value
        await self.manager([:]).keepAlive(clock: clock) { true }
    }
}
