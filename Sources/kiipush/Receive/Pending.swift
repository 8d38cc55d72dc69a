import KiiPush
import KiiPushLinux
struct ServiceManager: Sendable {
    func ready() {}; func stopping() {}; func alive() {}; var watchdogInterval: Duration? { nil }
}
struct ProgramActions: RuleActions {
    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {}
    func print(_ message: PushMessage, _ context: HandlerContext) async throws { try writeAll("{}\n", to: 1) }
}
struct MetricsFile { init(path: String) {}; func write(_ m: Metrics, _ s: ServiceStatus) throws {} }
struct CaptureFile { init(path: String) {}; func add(_ p: RawPayload, _ f: (any Error) -> Void) {} }
