import KiiCloud
import KiiPush
import KiiPushAgent

/// The report of `kiipush send --dry-run` about a message.
struct SendReport {
    struct Finding: Equatable {
        let network: PushNetwork?
        let code: String
        let path: String
        let message: String
        let isWarning: Bool
    }

    private let message: OutgoingMessage
    private let address: PushAddress
    /// The findings, those of all networks first.
    let findings: [Finding]

    init(_ message: OutgoingMessage, _ address: PushAddress) {
        (self.message, self.address) = (message, address)
        var findings = message.problems(sentTo: address).map { problem in
            Finding(
                network: problem.network, code: problem.code.rawValue, path: problem.path, message: problem.message,
                isWarning: problem.isWarning)
        }
        if address.app == SendCommand.unknownApp, !message.sends.isDisjoint(with: [.objectScope, .appID]) {
            findings.append(
                Finding(
                    network: nil, code: "appUnknown", path: "app",
                    message: "the payload contains the app's id; a placeholder of the same length is shown: set it "
                        + "with --app",
                    isWarning: true))
        }
        self.findings = findings
    }

    var hasProblem: Bool { findings.contains { !$0.isWarning } }

    /// One line for each enabled network; one with nulls if there is none.
    var jsonLines: [String] {
        guard !message.networks.isEmpty else {
            return [
                JSONWriter.object { writer in
                    for key in ["network", "payload", "bytes", "limit", "saved"] {
                        writer.key(key)
                        writer.null()
                    }
                    write(findings, &writer)
                }
            ]
        }
        return message.networks.map { network in
            let preview = message.preview(network, sentTo: address)
            let budget = message.budget(network, sentTo: address)
            return JSONWriter.object { writer in
                writer.member("network", network.rawValue)
                writer.member("payload", value: preview.object)
                writer.member("bytes", budget.used)
                writer.member("limit", budget.limit.map { Int64($0) })
                writer.member("saved") { writer in
                    for key in SendSwitch.allCases { writer.member(key.rawValue, budget.saved[key, default: 0]) }
                }
                write(findings.filter { $0.network == nil || $0.network == network }, &writer)
            }
        }
    }

    static func jsonLine(_ error: MessageBodyError) -> String {
        JSONWriter.object { writer in
            writer.member("error") { writer in
                writer.member("path", error.path)
                writer.member("offset", error.offset)
                writer.member("message", error.detail)
            }
        }
    }

    static func jsonLine(_ id: PushMessageID) -> String { JSONWriter.object { $0.member("pushMessageID", id.text) } }

    private func write(_ findings: [Finding], _ writer: inout JSONWriter) {
        for (key, areWarnings) in [("problems", false), ("warnings", true)] {
            writer.objects(key, findings.filter { $0.isWarning == areWarnings }) { writer, finding in
                writer.member("code", finding.code)
                writer.member("path", finding.path)
                writer.member("message", finding.message)
            }
        }
    }

    /// A table with a column for each network, and the payloads below.
    var textLines: [String] {
        let networks = message.networks
        guard !networks.isEmpty else { return ["goes to no network"] }
        let budgets = networks.map { message.budget($0, sentTo: address) }
        var lines = [Self.row("", networks.map(\.rawValue))]
        lines.append(Self.row("bytes", budgets.map { Figures.count(Int64($0.used)) }))
        lines.append(Self.row("limit", budgets.map { Self.count($0.limit) }))
        lines.append(Self.row("left", budgets.map { Self.count($0.left) }))
        for key in SendSwitch.allCases where message.sends.contains(key) {
            let saved = budgets.map { Figures.count(Int64($0.saved[key, default: 0])) }
            lines.append(Self.row("saved without \(key.rawValue)", saved))
        }
        for network in networks {
            lines += ["", "\(network.rawValue):", escaped(message.preview(network, sentTo: address).text)]
        }
        return lines
    }

    private static func count(_ number: Int?) -> String { number.map { Figures.count(Int64($0)) } ?? "-" }

    private static func row(_ head: String, _ cells: [String]) -> String {
        head.padded(to: 30) + cells.map { Figures.column($0, 9, isRight: true) }.joined()
    }
}
