/// How long programs take from their start to a first message, and what is resident then.
struct ColdStart {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    /// Five starts of each version of the tool, one of each receiver.
    func measure(_ results: inout Results) throws {
        for _ in 1...5 {
            for (title, path) in workbench.tools {
                let (milliseconds, megabytes) = try startTool(path)
                results.add(title, milliseconds, megabytes)
            }
        }
        let file = workbench.files.first
        for program in workbench.programs where program.role == .receiver {
            let time = try Child.run(program.command + ["check", file.path, "100"]).time
            results.add(program.title, time / .milliseconds(1), nil)
        }
    }

    /// To the first line of `inspect`, which waits for the next payload then.
    private func startTool(_ path: String) throws -> (milliseconds: Double, megabytes: Double?) {
        let payload = workbench.files.first.payloads[0] + "\n"
        let command = [path, "inspect", "--lines", "--transport", "apns", "--format", "json"]
        let child = try Child(command, input: payload)
        let time = try child.firstLine()
        let resident = child.residentPeak
        _ = try child.end()
        return (time / .milliseconds(1), resident.map { Double($0) * 1024 / 1e6 })
    }
}

extension Results {
    fileprivate mutating func add(_ title: String, _ milliseconds: Double, _ megabytes: Double?) {
        let index = starts.firstIndex { $0.title == title } ?? starts.endIndex
        if index == starts.endIndex { starts.append(Start(title: title)) }
        starts[index].milliseconds.add(milliseconds)
        if let megabytes { starts[index].residentMegabytes.add(megabytes) }
    }
}
