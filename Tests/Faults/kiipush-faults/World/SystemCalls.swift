/// The calls that strace wrote down, with `-f -y -xx`.
struct SystemCall {
    let thread: Int
    let name: String
    /// What the descriptor is that it was called with: a path, or `socket:[…]`.
    let file: String
    let bytes: [UInt8]
    let result: Int
    /// The lines on which it began and ended; others may have happened meanwhile.
    let began: Int
    let ended: Int

    /// Puts a call together; nil for what is none, or has no descriptor.
    private init?(_ thread: Int, _ text: String, _ began: Int, _ ended: Int) {
        // The results of short calls stand in a column, behind spaces.
        guard let parenthesis = text.firstIndex(of: "("), let equals = text.range(of: " = ", isLast: true),
            let close = text[..<equals.lowerBound].lastIndex(where: { $0 != " " }), text[close] == ")",
            parenthesis < close
        else { return nil }
        name = String(text[..<parenthesis])
        let arguments = text[text.index(after: parenthesis)..<close]
        guard let start = arguments.firstIndex(of: "<"), let end = arguments.firstIndex(of: ">"), start < end else {
            return nil
        }
        file = String(decoding: Self.decoded(arguments[arguments.index(after: start)..<end]), as: UTF8.self)
        // Every second piece stands between quotation marks.
        let pieces = arguments[end...].split(separator: "\"", omittingEmptySubsequences: false)
        bytes = pieces.enumerated().filter { $0.offset % 2 == 1 }.flatMap { Self.decoded($0.element) }
        result = Int(text[equals.upperBound...].prefix { $0 == "-" || $0.isNumber }) ?? -1
        (self.thread, self.began, self.ended) = (thread, began, ended)
    }

    /// Reads what strace wrote, in the order in which the calls ended.
    static func read(_ path: String) -> [SystemCall] {
        var open: [Int: (text: Substring, line: Int)] = [:]
        var calls: [SystemCall] = []
        let lines = words(of: path).split(separator: "\n")
        for (number, line) in lines.enumerated() {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let thread = Int(parts[0]) else { continue }
            let text = parts[1].drop { $0 == " " }
            if let mark = text.range(of: " <unfinished ...>", isLast: true) {
                open[thread] = (text[..<mark.lowerBound], number)
            } else if text.hasPrefix("<... "), let resumed = text.range(of: " resumed>", isLast: false) {
                guard let begun = open.removeValue(forKey: thread) else { continue }
                let whole = String(begun.text) + text[resumed.upperBound...]
                if let call = SystemCall(thread, whole, begun.line, number) { calls.append(call) }
            } else if let call = SystemCall(thread, String(text), number, number) {
                calls.append(call)
            }
        }
        return calls
    }

    /// The bytes of `\x2f\x74`; plain characters count as themselves.
    private static func decoded(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x") else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(3)
        }
        return bytes
    }
}

extension StringProtocol {
    /// Where a text is in it, the first or the last time; the standard library's own search needs Foundation.
    fileprivate func range(of text: String, isLast: Bool) -> Range<Index>? {
        isLast ? ranges(of: text).last : ranges(of: text).first
    }
}
