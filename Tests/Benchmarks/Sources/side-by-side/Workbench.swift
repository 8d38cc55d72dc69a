import Foundation

/// A program that is measured: what its peer's build.sh has said of it.
struct Program {
    enum Role: String, Codable {
        case parser
        case receiver
    }

    let role: Role
    let id: String
    let title: String
    let command: [String]

    /// The receiver that all others are compared with.
    static let ours = "kiipush"
}

/// What run.sh has built: the programs, what they read, and what had to be left out.
struct Workbench {
    struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    let programs: [Program]
    let versions: [String]
    let leftOut: [Results.LeftOut]
    let files: PayloadFiles
    /// The tool, stripped: linked statically, and not.
    let tools: [(title: String, path: String)]
    let bench: String
    /// The core to which this program is bound, if it is.
    let core: Int?

    init(_ options: Options) throws {
        let folder = options.folder
        let lines = try String(contentsOfFile: folder + "/programs.tsv", encoding: .utf8).split(separator: "\n")
        let rows = lines.map { $0.split(separator: "\t").map(String.init) }
        versions = rows.filter { $0[0] == "version" }.map { $0[1] }
        programs = try rows.filter { $0[0] != "version" }.map { row in
            guard row.count >= 4, let role = Program.Role(rawValue: row[0]) else {
                throw Unusable(description: "this is no line for a program: \(row.joined(separator: " "))")
            }
            return Program(role: role, id: row[1], title: row[2], command: Array(row[3...]))
        }
        let left = try String(contentsOfFile: folder + "/left-out.tsv", encoding: .utf8).split(separator: "\n")
        leftOut = left.map { line in
            let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
            return Results.LeftOut(peer: parts[0], reason: parts.count > 1 ? parts[1] : "")
        }
        tools = [
            ("kiipush, static", folder + "/kiipush-static"), ("kiipush, dynamic", folder + "/kiipush-dynamic"),
        ]
        bench = folder + "/kiipush-bench"
        core = options.core
        files = try PayloadFiles(folder: folder + "/payloads")
        guard programs.contains(where: { $0.id == Program.ours }) else {
            throw Unusable(description: "KiiPush is not among the programs")
        }
    }

    /// A command that leaves the one core to which run.sh has bound this program, and so all that it starts.
    func onAllCores(_ command: [String]) -> [String] {
        core == nil ? command : ["taskset", "-c", "0-\(Machine().cores - 1)"] + command
    }

    func program(_ id: String) -> Program? { programs.first { $0.id == id } }

    /// A program's answer to `check`: a line a payload, each in its parts.
    func check(_ program: Program, _ file: PayloadFile, routes: Int) throws -> [[Substring]] {
        let output = try Child.run(program.command + ["check", file.path, "\(routes)"]).output
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        return lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    }
}
