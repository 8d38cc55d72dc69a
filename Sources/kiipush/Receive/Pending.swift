import KiiPush
import KiiPushLinux
struct ServiceManager: Sendable {
    func ready() {}; func stopping() {}; func alive() {}; var watchdogInterval: Duration? { nil }
}
struct MetricsFile { init(path: String) {}; func write(_ m: Metrics, _ s: ServiceStatus) throws {} }
struct CaptureFile { init(path: String) {}; func add(_ p: RawPayload, _ f: (any Error) -> Void) {} }
