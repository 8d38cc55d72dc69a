import Foundation
import KiiCloud
import KiiPushAgent
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The guide to the architecture, against the folders and files that there are.
@Suite("The guide's architecture")
struct ArchitectureTests {
    /// The names in a part of the guide.
    private func names(after start: String, before end: String) throws -> [String] {
        let guide = try Project.text("Sources/KiiPush/KiiPush.docc/Architecture.md")
        let from = try #require(guide.range(of: start)?.upperBound)
        let to = try #require(guide.range(of: end, range: from..<guide.endIndex)?.lowerBound)
        return guide[from..<to].code
    }

    /// What lies in a folder of the sources.
    private func contents(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Project.root.appending(path: "Sources/\(folder)").path)
    }

    @Test(
        "each file that the guide names is there",
        arguments: [
            ("## The way of a message", "## In a service", "KiiPush"),
            ("## In a service", "## Rules of the code", "KiiPushDelivery"),
        ])
    func files(start: String, end: String, library: String) throws {
        let files = try names(after: start, before: end).filter { $0.hasSuffix(".swift") }
        #expect(files.count >= 4)
        for file in files {
            let path = Project.root.appending(path: "Sources/\(library)/\(file)").path
            #expect(FileManager.default.fileExists(atPath: path), "\(file)")
        }
    }

    @Test("the table of folders has each folder of the core, and no other")
    func folders() throws {
        let named = try names(after: "| folder |", before: "## The way of a message")
        let there = try contents("KiiPush").filter { !$0.contains(".") }
        #expect(Set(named).symmetricDifference(there) == [])
        #expect(named.count == there.count)
    }

    @Test("the table of libraries has each library and the tool, and no other")
    func libraries() throws {
        let named = try names(after: "| library |", before: "The folders of")
        let there = try contents("").filter { $0.hasPrefix("Kii") || $0 == "kiipush" }
        #expect(Set(named) == Set(there))
    }

    @Test("no task of the service starts but on the executor that was handed in")
    func tasks() throws {
        var starts: [String] = []
        for file in try contents("KiiPushDelivery") where file.hasSuffix(".swift") {
            let lines = try Project.text("Sources/KiiPushDelivery/\(file)").split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            for line in lines where line.contains(/(^|[^.\w])Task(\.detached)?(<.*>)?\s*[({]/) {
                if line.hasPrefix("//") || line.contains("-> Task<") { continue }
                starts.append("\(file): \(line)")
            }
        }
        #expect(starts == ["PushService.swift: Task(executorPreference: executor, operation: body)"])
    }
}

/// Holds the guide for readers who know Kii's SDK: each old name has a successor there, and each successor exists.
///
/// DocC checks the links, which lead to KiiPush; the names of other libraries are plain code, and are checked here.
@Suite("The migration guide")
struct MigrationTests {
    @Test("each old name has a successor, and each new name exists")
    func exists() throws {
        let rows = try Project.text("Sources/KiiPush/KiiPush.docc/FromKiiReceivedMessage.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|") }
        #expect(rows.count > 50, "the tables were not found")
        for row in rows {
            #expect(row[1].contains("`"), "\(row[0]) has no successor")
            for name in row[1].replacing(/``[^`]+``/, with: "").code {
                #expect(Self.names.contains(name), "\(name) is not shown to exist")
            }
        }
    }

    // The code beside each name compiles only if the name exists.

    private static func named(_ names: (String, Any)...) -> [String] { names.map(\.0) }

    private static let names = named(
        ("AlertPresenter", AlertPresenter.self), ("KiiClient.me", \KiiClient.me),
        (
            "KiiClient.refresh(_:)",
            { (client: KiiClient, group: KiiGroup) async throws in try await client.refresh(group) }
        ),
        ("OutgoingMessage", OutgoingMessage.self), ("OutgoingMessage.init(data:)", OutgoingMessage.init(data:)),
        ("KeyedData", KeyedData.self), ("DataValue.integer(_:)", DataValue.integer(1 as Int)),
        ("DataValue.double(_:)", DataValue.double), ("DataValue.bool(_:)", DataValue.bool(true)),
        ("OutgoingMessage.apns", \OutgoingMessage.apns), ("OutgoingMessage.fcm", \OutgoingMessage.fcm),
        ("OutgoingMessage.mqtt", \OutgoingMessage.mqtt), ("OutgoingMessage.jpush", \OutgoingMessage.jpush),
        ("OutgoingMessage.type", \OutgoingMessage.type), ("APNSFields.isEnabled", \APNSFields.isEnabled),
        ("FCMFields.isEnabled", \FCMFields.isEnabled), ("MQTTFields.isEnabled", \MQTTFields.isEnabled),
        ("APNSFields.data", \APNSFields.data), ("APNSFields.Alert.title", \APNSFields.Alert.title),
        ("APNSFields.Alert.subtitle", \APNSFields.Alert.subtitle), ("APNSFields.Alert.body", \APNSFields.Alert.body),
        ("APNSFields.contentAvailable", \APNSFields.contentAvailable),
        ("APNSFields.mutableContent", \APNSFields.mutableContent), ("APNSFields.category", \APNSFields.category),
        ("SendSwitch.sender", SendSwitch.sender), ("SendSwitch.objectScope", SendSwitch.objectScope),
        ("SendSwitch.topicID", SendSwitch.topicID), ("SendSwitch.when", SendSwitch.when),
        ("SendSwitch.appID", SendSwitch.appID), ("SendSwitch.origin", SendSwitch.origin),
        ("KiiClient.send(_:to:as:)", KiiClient.send(_:to:as:)), ("CloudError", CloudError.self),
        ("RefusedMessage", RefusedMessage.self))
}

/// The table of the guide to outcomes, against the outcomes and reasons that there are.
@Suite("The guide's table of outcomes")
struct OutcomeTableTests {
    private struct Row {
        let outcome: String
        let reasons: [String?]
        let seenStore: String
        let disposition: String
    }

    private let rows: [Row]

    init() throws {
        let lines = try Project.text("Sources/KiiPush/KiiPush.docc/Outcomes.md").split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| ``Outcome`` |") })
        rows = try lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { try Self.row($0) }
    }

    private static func row(_ line: Substring) throws -> Row {
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(cells.count == 4, "\(line)")
        let names = cells[0].code
        let reasons: [String?] =
            if cells[0].contains("(the layer)") {
                LoopLayer.ofOutcomes.map(\.rawValue)
            } else if cells[0].contains("(the code)") {
                DecodeError.Code.allCases.map(\.rawValue)
            } else {
                names.count == 1 ? [nil] : Array(names.dropFirst())
            }
        return Row(outcome: try #require(names.first), reasons: reasons, seenStore: cells[2], disposition: cells[3])
    }

    @Test("lists each counted outcome and reason once, and no other")
    func complete() {
        func text(_ outcome: String, _ reason: String?) -> String { "\(outcome) (\(reason ?? ""))" }
        let documented = rows.flatMap { row in row.reasons.map { text(row.outcome, $0) } }
        let counted = OutcomeCounters.labels.map { text($0.outcome, $0.reason) }
        #expect(Set(counted).subtracting(documented) == [], "the guide leaves these out")
        #expect(Set(documented).subtracting(counted) == [], "the guide has made these up")
        #expect(documented.count == Set(documented).count)
    }

    @Test("says what the seen store and the transport learn")
    func told() throws {
        let error = DecodeError(.empty, at: 0, "")
        let failure = Outcome.Failure(place: "p", isMiddleware: false, error: TestError(), handled: MatchedRoutes())
        let outcomes: [Outcome] = [
            .handled(MatchedRoutes()), .duplicate(.done), .looped(.echo), .paced(until: .seconds(1)),
            .deadLettered(.failed), .quarantined,
            .superseded, .expired, .refused(.app), .unrouted(.noRoute), .failed(failure), .undecodable(error),
        ]
        for outcome in outcomes {
            let own = rows.filter { $0.outcome == outcome.name }
            #expect(!own.isEmpty, "\(outcome)")
            // The second of two copies is told what the first one was.
            for row in own where row.reasons != ["inFlight"] {
                #expect(row.disposition == "`\(outcome.disposition.rawValue)`", "\(outcome)")
                #expect((row.seenStore == "remembered") == outcome.isRemembered, "\(outcome)")
            }
        }
        #expect(Set(rows.map(\.outcome)) == Set(outcomes.map(\.name)))
    }
}
