import Foundation

/// The results as a section of README.md: what was wanted and what was measured, and the programs beside
/// each other.
struct MarkdownReport {
    struct NoPlace: Error, CustomStringConvertible {
        let description: String
    }

    /// Between these lines the guide is written by this program.
    static let begin = "<!-- written by: bash Tests/Benchmarks/run.sh --guide -->"
    static let end = "<!-- end of what run.sh writes -->"

    private let results: Results

    init(_ results: Results) { self.results = results }

    var text: String { [measured, sample, picture, goals].joined(separator: "\n\n") }

    private var measured: String {
        let left = results.leftOut.map { " Left out: \($0.peer), since \($0.reason)." }.joined()
        let used = results.core == nil ? "not bound to one of them" : "one of them used"
        return "\(results.machine.processor), \(results.machine.cores) cores, \(used); medians of "
            + "\(results.rounds) rounds, the programs in turn; \(results.versions.joined(separator: ", ")).\(busy)\(left)"
    }

    private var busy: String {
        guard results.wasBusy else { return "" }
        return " The machine had other work meanwhile, so these times are too long: a load of \(figure(results.load))."
    }

    private var picture: String {
        "![What a message costs by size of the payload and by number of routes]"
            + "(cost-of-a-message)"
    }

    private var sample: String {
        let receivers = rows(.receiver).map { row in
            "| \(row.title) | \(figure(row.nanoseconds.median)) | \(spread(row)) "
                + "| \(ratio(row.nanoseconds.median, to: results.ours)) |"
        }
        let parsers = rows(.parser).map { row in
            "| \(row.title) | \(figure(row.nanoseconds.median)) | \(spread(row)) "
                + "| \(ratio(row.nanoseconds.median, to: results.ours)) |"
        }
        let heading = ["ns a message | fastest to slowest | to KiiPush's whole |", "|---|--:|--:|--:|"]
        return
            (["| whole receiver, 100 routes | \(heading[0])", heading[1]] + receivers
            + ["", "| parser alone | \(heading[0])", heading[1]] + parsers).joined(separator: "\n")
    }

    private func rows(_ role: Program.Role) -> [Results.Row] {
        results.sample.filter { $0.role == role }.sorted { $0.nanoseconds.median < $1.nanoseconds.median }
    }

    private func spread(_ row: Results.Row) -> String {
        "\(figure(row.nanoseconds.least)) … \(figure(row.nanoseconds.most))"
    }

    private var goals: String {
        let rows = Goal.all(results).map { "| \($0.what) | \($0.wanted) | \($0.measured) | \($0.verdict) |" }
        return (["| goal | wanted | measured | |", "|---|--:|--:|---|"] + rows).joined(separator: "\n")
    }

    /// Puts the text in its place in a file.
    func write(to file: String) throws {
        let old = try String(contentsOfFile: file, encoding: .utf8)
        guard let begin = old.range(of: Self.begin), let end = old.range(of: Self.end),
            begin.upperBound <= end.lowerBound
        else {
            throw NoPlace(description: "\(file) has no lines '\(Self.begin)' and '\(Self.end)' to write between")
        }
        let new = old[..<begin.upperBound] + "\n\n" + text + "\n\n" + old[end.lowerBound...]
        try new.write(toFile: file, atomically: true, encoding: .utf8)
    }
}
