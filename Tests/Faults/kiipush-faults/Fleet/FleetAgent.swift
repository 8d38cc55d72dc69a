import Glibc
import KiiCloud
import KiiCloudTesting
import KiiPush

/// A `kiipush receive` of a fleet: a device with a state folder and a topic of its own.
final class FleetAgent {
    private let folder: Folder
    private let child: Child

    /// Starts it, and waits until it receives.
    init(tool: String, device: Int, _ fleet: FleetCloud, _ broker: Broker, _ handler: FleetHandler) throws {
        folder = try Folder()
        let path = folder.path
        let app = fleet.server.app
        let token = fleet.cloud.logIn(.thing(FleetCloud.thing(device))).revealed
        let account =
            #"{"site":"http://\#(app.host)","app":"\#(app.id)","key":"\#(app.key.revealed)","token":"\#(token)"}"#
        try write(account.utf8, to: "\(path)/account.json")
        let careless = [ownPath, "careless", "\(fleet.server.port)", app.id, app.key.revealed, token]
        try write(handler.rules(device: device, careless: careless).utf8, to: "\(path)/rules.json")
        let topic = FleetCloud.topic(of: device)
        child = try Child(
            [
                tool, "receive", "--rules", "\(path)/rules.json", "--state", "\(path)/state", "--metrics",
                "\(path)/metrics", "--account", "\(path)/account.json", "--client-id", topic, "--mqtt",
                "mqtt://127.0.0.1:\(broker.port)/\(topic)",
            ], output: "\(path)/output", errors: "\(path)/log")
        try wait(for: "device \(device) receives", within: .seconds(20)) {
            guard child.isRunning else { throw Trouble("the agent ended: \(words(of: "\(path)/log").suffix(400))") }
            return words(of: "\(path)/log").contains("QoS 1 granted")
        }
    }

    deinit { try? child.end() }

    /// Stops it; how often its rule was handled, and whether it ended well.
    func stop() throws -> (handled: Int, end: Child.End) {
        child.send(SIGTERM)
        let end = try child.wait(within: .seconds(40))
        let lines = words(of: "\(folder.path)/metrics").split(separator: "\n")
        let handled = lines.first { $0.hasPrefix("kiipush_route_handled_total{route=\"r\"}") }
        return (handled.flatMap { $0.split(separator: " ").last.flatMap { Int($0) } } ?? 0, end)
    }
}

/// What the devices of a fleet do when the object changes that they all listen to.
enum FleetHandler: String, CaseIterable {
    /// A program that writes to the object and tells nobody; no limit.
    case unguarded = "careless program, guard off"
    /// The same with the loop guard's standard settings.
    case careless = "careless program, guard on"
    /// A rule that writes another value than the others: each change is one for all.
    case different = "rule writes, values differ"
    /// The same with a rate that nothing exceeds: the stamps alone end it.
    case stamped = "rule writes, values differ, no limit"
    /// A rule that writes what the others write: the first change is the last.
    case same = "rule writes, values agree"

    /// For how long it is watched, in seconds.
    var seconds: Double {
        switch self {
        case .unguarded: 30
        case .careless: 40
        case .different, .stamped, .same: 12
        }
    }

    /// The rules file of a device.
    func rules(device: Int, careless: [String]) -> String {
        let program = careless.map { "\"\($0)\"" }.joined(separator: ",")
        let fields = self == .same ? #"{"seen":true}"# : #"{"by":"th.\#(device)"}"#
        let uri = FleetCloud.object.uri.description
        let then: String =
            switch self {
            case .unguarded, .careless: #"{"run":[\#(program)]}"#
            case .different, .stamped, .same: #"{"write":{"object":"\#(uri)","fields":\#(fields)}}"#
            }
        let loop =
            switch self {
            case .unguarded: #","pace":"unlimited""#
            // A pace that nothing exceeds; the reader refuses an unlimited one for a rule that feeds itself.
            case .stamped: #","pace":"1ms""#
            case .careless, .different, .same: ""
            }
        let me = self == .unguarded || self == .careless ? "" : #""me":["thing:th.\#(device)"],"#
        return #"""
            {"version":1,"app":"0123abcd",\#(me)"rules":[{"id":"r","when":{"bucket":"settings","object":"*"},
             "then":\#(then)\#(loop)}]}
            """#
    }
}
