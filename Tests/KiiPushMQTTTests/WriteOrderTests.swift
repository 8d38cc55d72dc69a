#if MQTT && SQLite
import Foundation
import Testing

@testable import KiiPushTestSupport

/// What an agent's process asks of the kernel, and in which order.
@Suite(.timeLimit(.minutes(5)))
struct WriteOrderTests {
    @Test("no acknowledgement leaves before what it acknowledges is on disk")
    func order() async throws {
        let broker = try Broker()
        let folder = try Folder()
        let rules = #"{"version":1,"rules":[{"id":"all","when":{"kind":"directPush"},"then":{"print":true}}]}"#
        let trace = "\(folder.path)/trace"
        // With -D the process that is started is the agent, and the tracer another.
        let strace = [
            "strace", "-D", "-f", "-y", "-s", "48", "-e", "trace=fdatasync,fsync,read,write,sendto", "-o", trace,
        ]
        let agent = try spawn(
            strace + [
                try toolPath(), "receive", "--rules", try folder.write(rules, to: "rules.json"),
                "--state", "\(folder.path)/state", "--client-id", "traced", "--mqtt",
                "mqtt://127.0.0.1:\(broker.port)/push",
            ], output: "\(folder.path)/output")
        var isOver = false
        defer { if !isOver { kill(agent, SIGKILL) } }
        try await eventually("the agent is connected", within: 60) { broker.log.contains("Sending SUBACK to traced") }
        try broker.publish((1...200).map { #"{"n":\#($0),"word":"traced"}"# })
        try await eventually("all is acknowledged", within: 60) {
            broker.log.split(separator: "\n").count { $0.contains("Received PUBACK from traced") } == 200
        }
        kill(agent, SIGTERM)
        try await eventually("the agent has ended", within: 60) { waitpid(agent, nil, WNOHANG) == agent }
        isOver = true
        var calls = ""
        try await eventually("the trace is written") {
            calls = (try? String(contentsOfFile: trace, encoding: .utf8)) ?? ""
            // strace fills up a process id of few digits with spaces.
            return calls.split(separator: "\n").contains { line in
                line.hasPrefix("\(agent) ") && line.hasSuffix(" +++ exited with 0 +++")
            }
        }
        let found = Calls(calls)
        #expect(found.payloads == 200 && found.acknowledgements == 200)
        #expect(found.syncs > 0 && found.early == 0)
    }
}

/// The calls of a trace that bring payloads, store them and acknowledge them; all by the one thread of the transport.
private struct Calls {
    var payloads = 0
    var acknowledgements = 0
    var syncs = 0
    /// Acknowledgements that were written while something was read and not stored.
    var early = 0

    init(_ trace: String) {
        /// What each thread began and another one interrupted in the trace.
        var begun: [Substring: String] = [:]
        var unstored: [Substring: Int] = [:]
        for line in trace.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
            guard parts.count == 2 else { continue }
            let thread = parts[0]
            var call = String(parts[1].drop { $0 == " " })
            if call.hasSuffix(" <unfinished ...>") {
                begun[thread] = String(call.dropLast(" <unfinished ...>".count))
                continue
            }
            if call.hasPrefix("<... "), let start = begun.removeValue(forKey: thread) {
                call = start + (call.split(separator: ">", maxSplits: 1).last ?? "")
            }
            let isSocket = call.contains("<socket:") || call.contains("<TCP:")
            if call.hasPrefix("fdatasync(") || call.hasPrefix("fsync(") {
                guard call.hasSuffix("= 0") else { continue }
                syncs += 1
                unstored[thread] = 0
            } else if isSocket, call.hasPrefix("read("), call.contains("traced") {
                payloads += 1
                unstored[thread, default: 0] += 1
            } else if isSocket, call.contains(#""@\2\"#) {
                acknowledgements += 1
                if unstored[thread, default: 0] > 0 { early += 1 }
            }
        }
    }
}
#endif
