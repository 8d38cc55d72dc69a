import KiiCloud
import KiiPush
import KiiPushAgent

/// Ends subscriptions, several at once, and counts the results.
struct UnsubscribeRun {
    /// The result for one subscriber.
    private enum Outcome {
        case unsubscribed
        case none
        case failed(String, isFinal: Bool)

        var word: String {
            switch self {
            case .unsubscribed: "unsubscribed"
            case .none: "none"
            case .failed: "failed"
            }
        }
    }

    /// How many calls are in progress at once.
    private static let mostAtOnce = 8

    private let source: PushSource
    private let names: [String]
    private let client: KiiClient
    private let format: ReportFormat
    private let console: Console

    private var ended = 0
    private var missing = 0
    private var failed = 0
    /// The first subscriber that was not tried, because further calls would fail too.
    private var stoppedAt: Int?

    init(
        _ source: PushSource, _ names: [String], _ client: KiiClient, _ format: ReportFormat, _ console: Console
    ) {
        self.source = source
        self.names = names
        self.client = client
        self.format = format
        self.console = console
    }

    /// Ends the subscriptions; the name is the subject of the progress display.
    mutating func run(_ name: String) async {
        var progress = Progress(name, names.count, console, of: "subscribers")
        var next = 0
        await withTaskGroup(of: (Int, Outcome).self) { group in
            while next < names.count || !group.isEmpty {
                if next < names.count, stoppedAt == nil, next < ended + missing + failed + Self.mostAtOnce {
                    let number = next
                    group.addTask { [client, source, names] in
                        (number, await Self.unsubscribe(names[number], from: source, client))
                    }
                    next += 1
                    continue
                }
                guard let (number, outcome) = await group.next() else { break }
                take(outcome, of: number, &progress)
                if case .failed(_, isFinal: true) = outcome, stoppedAt == nil { stoppedAt = next }
            }
        }
        progress.clear()
    }

    private static func unsubscribe(
        _ name: String, from source: PushSource, _ client: KiiClient
    ) async -> Outcome {
        guard let subscriber = CloudOption.subscriber(name) else { return .failed("no subscriber", isFinal: false) }
        do {
            return try await client.perform(.unsubscribe(subscriber, from: source)) ? .unsubscribed : .none
        } catch let error as CloudError {
            let isFinal = error.code == .tooManyRequests || error.status == 401 || error.status == 403
            return .failed("\(error)", isFinal: isFinal)
        } catch { return .failed("\(error)", isFinal: false) }
    }

    private mutating func take(_ outcome: Outcome, of number: Int, _ progress: inout Progress) {
        progress.step()
        switch outcome {
        case .unsubscribed: ended += 1
        case .none: missing += 1
        case .failed(let why, _):
            failed += 1
            progress.clear()
            console.error("kiipush unsubscribe: \(escaped(names[number])): \(escaped(why))")
        }
        if format == .json { console.print(Self.line(names[number], outcome.word)) }
    }

    private static func line(_ name: String, _ result: String) -> String {
        JSONWriter.object { writer in
            writer.member("subscriber", name)
            writer.member("result", result)
        }
    }

    /// Reports the results.
    func tell() -> ExitCode {
        let left = stoppedAt.map { names[$0...] } ?? []
        for name in left where format == .json { console.print(Self.line(name, "notTried")) }
        if format == .text {
            var parts = ["unsubscribed \(ended) of \(names.count)"]
            if missing > 0 { parts.append("\(missing) had no subscription") }
            if failed > 0 { parts.append("\(failed) failed") }
            if !left.isEmpty { parts.append("\(left.count) not tried") }
            console.print(parts.joined(separator: ", "))
        }
        if let first = left.first {
            console.error(
                "kiipush unsubscribe: stopped before \(escaped(first)); run it again later, with the same list")
        }
        return failed == 0 && left.isEmpty ? .fine : .failed
    }
}
