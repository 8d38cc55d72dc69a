import CLibrary
import KiiCloud
import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem

/// `kiipush send`: sends a push to a topic, or shows the payload for each network's devices.
struct SendCommand {
    private let options: SendOptions
    private let console: Console

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: SendOptions.table, into: SendOptions(), console) {
            options, operands throws(Arguments.Mistake) in try options.check(operands)
        }
        guard case .options(let options) = reading else { return reading.code }
        let command = SendCommand(options: options, console: console)
        return options.isDryRun ? command.show() : await command.send()
    }

    /// Sends the push, unless there is a problem.
    private func send() async -> ExitCode {
        guard let bytes = read() else { return .failed }
        let message: OutgoingMessage
        do throws(MessageBodyError) { message = try OutgoingMessage(body: bytes) } catch {
            complain(at: SourcePosition(error.offset, in: bytes), error)
            return .failed
        }
        return await CloudConnection.run("send", account: options.account, console, names: options.namedApp) { client in
            let address = options.address(in: client.app.id)
            let report = SendReport(message, address)
            tell(report)
            guard !report.hasProblem else { return .failed }
            let id = try await client.send(message, to: address.topic, as: address.sender)
            switch options.format {
            case .text: console.print("sent \(escaped(id.text))")
            case .json: console.print(SendReport.jsonLine(id))
            }
            return .fine
        }
    }

    private func show() -> ExitCode {
        guard let bytes = read() else { return .failed }
        do throws(MessageBodyError) {
            let report = SendReport(try OutgoingMessage(body: bytes), options.address)
            switch options.format {
            case .json: for line in report.jsonLines { console.print(line) }
            case .text: for line in report.textLines { console.print(line) }
            }
            tell(report)
            return report.hasProblem ? .failed : .fine
        } catch {
            complain(at: SourcePosition(error.offset, in: bytes), error)
            if options.format == .json { console.print(SendReport.jsonLine(error)) }
            return .failed
        }
    }

    /// Reports the problems, by network; the JSON already contains warnings.
    private func tell(_ report: SendReport) {
        let file = escaped(options.message)
        for finding in report.findings where !finding.isWarning || options.format == .text {
            let word = console.errorInk(finding.isWarning ? "warning" : "problem", finding.isWarning ? .warning : .bad)
            let network = finding.network.map { "\($0.rawValue): " } ?? ""
            let place = finding.path.isEmpty ? network : "\(network)\(escaped(finding.path)): "
            console.error("\(file): \(word): \(place)\(finding.code): \(escaped(finding.message))")
        }
    }

    private func complain(at place: SourcePosition, _ error: MessageBodyError) {
        let path = error.path.isEmpty ? "" : "\(escaped(error.path)): "
        console.error(
            console.errorInk.located("\(escaped(options.message)):\(place): \(path)\(escaped(error.detail))"))
    }

    private func read() -> [UInt8]? {
        if options.message == "-", isatty(STDIN_FILENO) == 1 {
            console.error("kiipush send: reading a message from the terminal; end it with Ctrl-D")
        }
        do throws(ReadError) {
            let reader = options.message == "-" ? .standardInput() : try ByteReader(path: options.message)
            return try reader.readAll(limit: OutgoingMessage.mostBodyBytes)
        } catch {
            // A message in the place of a file name is not repeated in the error: its contents are private.
            let isMessage = options.message.utf8.contains(UInt8(ascii: "{"))
            console.error(
                isMessage ? "kiipush send: a message itself goes to standard input, as --message -" : "\(error)")
            return nil
        }
    }

    static let command = Command(
        name: "send", summary: "sends a push to a topic, or shows the payloads that devices would receive",
        usage: [
            "--topic URI --as SENDER --message FILE --account FILE [OPTION…]",
            "--topic URI --as SENDER --message FILE --dry-run [OPTION…]",
        ],
        about: [
            .text(
                "Reads the body of a request to Kii's REST API and checks it; a push with a problem is not sent. For "
                    + "each enabled network, a dry run shows the payload with everything Kii adds, its size and the "
                    + "network's limit, and the bytes that each suppression saves.")
        ],
        options: SendOptions.table.texts,
        notes: [
            .text(
                "A problem is something Kii would refuse: a nested value, a key reserved by FCM, a payload that is too "
                    + "large, no network, a sender without permission. A warning is something receivers may misread, "
                    + "such as a push without its topic, which looks like a Direct Push."),
            .text("kiipush inspect shows how a receiver classifies a payload."),
        ],
        exits: [
            (.fine, "the push was sent, or could be sent"),
            (.failed, "there is a problem, the message cannot be read, or the call failed"),
        ],
        examples: [
            #"kiipush send --dry-run --topic kiicloud://users/U/topics/t \"#,
            "    --as user:U --message message.json",
            #"kiipush send --account account.json --topic kiicloud://users/U/topics/t \"#,
            "    --as user:U --message message.json",
        ],
        action: { arguments, console in await run(arguments, console) })
}
