import Testing

@testable import KiiPushAgent
@testable import kiipush

/// What a stranger's input cannot make the tool do: take its memory, repeat a secret, move a terminal's cursor.
@Suite(.timeLimit(.minutes(5)))
struct HostileInputTests {
    /// More than the tool needs for a small payload; far less than what it is given here.
    private static let allowance = 8 << 20

    /// Runs in a process of its own: a child's peak begins with that of the process that started it, so beside other
    /// tests it would be theirs.
    @Test("100 MB cost no more memory than a small payload, in a file or on standard input")
    func memory() async {
        await #expect(processExitsWith: .success) {
            for options in [[], ["--lines"], ["--format", "json"], ["--transport", "quickblox"]] {
                let ordinary = try TemporaryFile(#"{"a":"b"}"#)
                let small = try ChildRun(["inspect"] + options, input: ordinary.path)
                #expect(small.code == 0 && small.errors.isEmpty && !small.output.isEmpty)
                // By lines the rest is read to its end, which takes a debug build long.
                let size = options == ["--lines"] ? 10_000_000 : 100_000_000
                let file = try TemporaryFile(Array(#"{"a":""#.utf8), size: size)
                for run in [
                    try ChildRun(["inspect"] + options + [file.path]),
                    try ChildRun(["inspect"] + options, input: file.path),
                ] {
                    #expect(run.code == 1 && run.errors.contains("limitExceeded: larger than 65536 bytes"))
                    let growth = run.peakMemory - small.peakMemory
                    #expect(growth < Self.allowance, "\(growth) bytes, with \(options)")
                }
            }
        }
    }

    // MARK: What it says

    private static let marker = "s3cr3tVALUE"

    @Test(
        "standard error has no value of a payload",
        arguments: [
            "\"\(marker)\"", "[\"\(marker)\"]", marker, #"{"a":"\#(marker)","a":"\#(marker)"}"#, "{\"a\":\(marker)}",
            "{\"a\":\"\(marker)", "{\"a\":\"\(marker)\" 1}", "{\"a\":\"\(marker)\\ud800\"}",
            "{\"a\":\"\(marker)\u{1}\"}",
            #"{"bucketID":"\#(marker)","topic":"\#(marker)","when":"\#(marker)","origin":["\#(marker)"]}"#,
            "{ aps = \(marker); aps = \(marker); }", "{ a = \(marker) \(marker); }", "{ a = \"\(marker)",
            "HTTP/1.1 200 \(marker)\r\nX-Kii: \(marker)\r\n\r\n", "event.message=\(marker)&\(marker)", "a=\(marker)!",
        ])
    func silence(_ text: String) async throws {
        let file = try TemporaryFile(text)
        for options in [
            [], ["--lines"], ["--format", "json"], ["--transport", "quickblox"], ["--transport", "apns"],
        ] {
            let run = await ToolRun(["inspect", "--strict", "--app", "0123abcd"] + options + [file.path])
            #expect(!run.output.isEmpty || !run.errors.isEmpty)
            for line in run.errors { #expect(!line.contains(Self.marker), "\(line)") }
            if run.code == .failed { for line in run.output { #expect(!line.contains(Self.marker), "\(line)") } }
        }
    }

    @Test("no name, key or value of a payload moves the cursor or forges a line")
    func controlCharacters() async throws {
        let nasty = #"a\u001b[2J\u0000\r\nkiipush: all is well\u202e\u2028"#
        let fields = ["bucketID", "objectID", "objectScopeType", "type", "sender", "appID", "topic", nasty]
        let text =
            "{" + fields.map { #""\#($0)":"\#(nasty)""# }.joined(separator: ",") + #","aps":{"alert":"\#(nasty)"}}"#
        let name = "x\u{1B}[2J\n\u{202E}.json"
        for bytes in [text, text.replacing("\"objectID\"", with: "\"bucketID\""), "{ \"\(nasty)\" = 1; }", "["] {
            let file = try TemporaryFile(Array(bytes.utf8), name: name)
            for options in [["--lines"], ["--format", "json"], []] {
                let run = await ToolRun(["inspect", "--strict"] + options + [file.path])
                #expect(!run.output.isEmpty || !run.errors.isEmpty)
                for line in run.output + run.errors {
                    let isClean = line.unicodeScalars.allSatisfy {
                        $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
                    }
                    #expect(isClean, "\(line.debugDescription)")
                }
            }
        }
    }
}
