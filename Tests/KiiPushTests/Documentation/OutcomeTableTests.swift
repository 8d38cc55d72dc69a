import Foundation
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
        let guide = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/KiiPush/KiiPush.docc/Outcomes.md")
        let lines = try String(contentsOf: guide, encoding: .utf8).split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| ``Outcome`` |") })
        rows = try lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { try Self.row($0) }
    }

    private static func row(_ line: Substring) throws -> Row {
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(cells.count == 4, "\(line)")
        // What stands between two backticks.
        let names = cells[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        let reasons: [String?] =
            if cells[0].contains("(the layer)") {
                LoopLayer.allCases.map(\.rawValue)
            } else if cells[0].contains("(the code)") {
                DecodeError.Code.allCases.map(\.rawValue)
            } else {
                names.count == 1 ? [nil] : Array(names.dropFirst())
            }
        return Row(outcome: try #require(names.first), reasons: reasons, seenStore: cells[2], disposition: cells[3])
    }

    @Test("it has each outcome and reason that is counted, once, and no other")
    func complete() {
        func text(_ outcome: String, _ reason: String?) -> String { "\(outcome) (\(reason ?? ""))" }
        let documented = rows.flatMap { row in row.reasons.map { text(row.outcome, $0) } }
        let counted = OutcomeCounters.labels.map { text($0.outcome, $0.reason) }
        #expect(Set(counted).subtracting(documented) == [], "the guide leaves these out")
        #expect(Set(documented).subtracting(counted) == [], "the guide has made these up")
        #expect(documented.count == Set(documented).count)
    }

    @Test("it says what the seen store and the transport are told")
    func told() throws {
        let error = DecodeError(.empty, at: 0, "")
        let failure = Outcome.Failure(place: "p", isStage: false, error: TestError(), handled: MatchedRoutes())
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
                // What never had a place in memory was never asked of the chain.
                let isRemembered = outcome.isRemembered && row.reasons != ["backlogFull"]
                #expect((row.seenStore == "remembered") == isRemembered, "\(outcome)")
            }
        }
        #expect(Set(rows.map(\.outcome)) == Set(outcomes.map(\.name)))
    }
}
