import KiiPushAgent
import KiiPush
import KiiPushRules

/// What is wrong with the messages of a corpus: each finding once, with its first line and the number of lines.
final class CorpusFindings {
    struct Finding {
        let file: String
        let line: Int
        let code: String
        let what: String
        var count = 1

        private var message: String { count == 1 ? what : "\(what) (and \(counted(count - 1, "more line")))" }

        var text: String { "\(file):\(line):1: warning: \(message) [\(code)]" }

        var json: String {
            JSONWriter.object { writer in
                writer.member("file", file)
                writer.member("line", line)
                writer.member("column", 1)
                writer.member("severity", "warning")
                writer.member("code", code)
                writer.member("rule", nil as String?)
                writer.member("message", message)
                writer.objects("related", []) { (_, _: Int) in }
            }
        }
    }

    /// The findings, in the order of their first lines; bounded, because few texts differ.
    private(set) var all: [Finding] = []
    private var reader: RuleCorpus
    private let corpus: String

    private static let most = 100

    init(corpus: String) {
        self.corpus = corpus
        reader = RuleCorpus(file: escaped(corpus))
    }

    /// Takes a line of the corpus; returns true, for more.
    func take(_ bytes: [UInt8], _ number: Int) throws -> Bool {
        let step = try reader.step(bytes, number: number)
        guard case .receive(let incoming) = step.action else { return true }
        do throws(DecodeError) {
            let message = try PushMessage(incoming.payload)
            for hint in message.hints { add("messageHint", hint, number) }
        } catch {
            add("undecodable", "the payload cannot be decoded: \(error.code.rawValue)", number)
        }
        return true
    }

    private func add(_ code: String, _ what: String, _ line: Int) {
        if let index = all.firstIndex(where: { $0.code == code && $0.what == what }) {
            all[index].count += 1
        } else if all.count < Self.most {
            all.append(Finding(file: corpus, line: line, code: code, what: what))
        }
    }
}
