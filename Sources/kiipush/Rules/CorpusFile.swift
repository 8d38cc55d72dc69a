import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem

/// Reads a captured corpus for a command, a line at a time, and reports invalid lines.
struct CorpusFile {
    /// The most lines whose errors are reported.
    ///
    /// With this many before the first valid one, the file is not a corpus.
    private static let mostBadLines = 20

    static let mostBytesOfLine = PastedPayload.mostBytes

    /// The file, or `-` for standard input.
    let path: String
    let console: Console

    /// Reads the lines of the file, until `takes` wants no more; returns whether every line could be read.
    ///
    /// `takes` gets each line that is not empty, with its number, and throws its error.
    func eachLine(
        _ takes: (_ bytes: [UInt8], _ number: Int) async throws -> Bool
    ) async throws(ReadError) -> Bool {
        var lines = LineReader(path == "-" ? .standardInput() : try ByteReader(path: path), limit: Self.mostBytesOfLine)
        var (badLines, goodLines) = (0, 0)
        while let line = try lines.next() {
            switch line {
            case .tooLong(let number):
                badLines += 1
                if badLines <= Self.mostBadLines {
                    console.error(
                        "\(escaped(path)):\(number):1: the line has more than \(Self.mostBytesOfLine) bytes")
                }
            case .bytes(let bytes, let number):
                if bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
                do {
                    guard try await takes(bytes, number) else { return badLines == 0 }
                    goodLines += 1
                } catch {
                    badLines += 1
                    if badLines <= Self.mostBadLines { RulesFile.report(error, console) }
                }
            }
            if badLines == Self.mostBadLines, goodLines == 0 {
                console.error(
                    "\(escaped(path)):1:1: stopped after \(badLines) lines that are not steps; a corpus is JSONL: one "
                        + "step per line"
                )
                return false
            }
        }
        tellRest(badLines - Self.mostBadLines)
        return badLines == 0
    }

    private func tellRest(_ untold: Int) {
        guard untold > 0 else { return }
        let what = untold == 1 ? "1 more line that is no step" : "\(untold) more lines that are no steps"
        console.error("\(escaped(path)):1:1: and \(what)")
    }
}
