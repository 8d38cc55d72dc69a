import KiiPush
import KiiPushSystem

extension TapBoard {
    /// Serves a watcher, in the agent, until it has enough or has gone, or the agent ends.
    func serve(
        _ arguments: [String], app: String?, routes: [String], _ reply: ControlReply
    ) async -> ExitCode {
        let reader: TapReader
        do throws(Arguments.Mistake) {
            let options = try TapOptions.read(arguments) ?? TapOptions()
            do throws(ErrorNumber) {
                guard let added = try add(options) else {
                    let isOver = isOver
                    let why = isOver ? "the agent is stopping" : "\(Self.mostReaders) clients are watching already"
                    reply.error("kiipush tap: \(why)")
                    return isOver ? .nobody : .failed
                }
                reader = added
            } catch {
                reply.error("kiipush tap: the agent cannot be watched: \(error)")
                return .failed
            }
        } catch {
            reply.error("kiipush tap: \(error.text)")
            return .usage
        }
        defer { remove(reader) }
        if let route = reader.options.route, !routes.containsExactly(route) {
            let unknown = Suggestion.unknown("route", route, known: routes)
            reply.error("kiipush tap: \(escaped(unknown)); waiting until the rules have one of that name")
        }
        let format = reader.options.format
        let isWhole = await reply.stream(reader.signal) {
            let (messages, leftOut, isOver) = reader.take()
            var lines = messages.map { $0.line(format, app: app) }
            if leftOut > 0 { lines.append(Self.note(leftOut, format)) }
            if !lines.isEmpty { return .lines(lines) }
            return isOver ? .end : .later
        }
        if isWhole, reader.hasAgentEnded { reply.error("kiipush tap: the agent has ended") }
        return .fine
    }

    /// The line about messages that a slow reader has missed.
    private static func note(_ count: Int, _ format: ReportFormat) -> String {
        switch format {
        case .json: #"{"leftOut":\#(count)}"#
        case .text: "-- \(count) skipped: they arrived faster than they were read"
        }
    }
}
