import Foundation

/// One program, one file and one number of routes: what is timed once a round.
struct Cell {
    /// To which part of the results the time belongs.
    enum Place {
        case sample
        case size(Int)
        case routes
    }

    let place: Place
    let program: Program
    let file: PayloadFile
    let routes: Int
    /// So many that a run takes as long as it should.
    var messages = 200
}

/// Runs all cells in turn, A B C A B C, so that what the machine does meanwhile falls on all of them.
struct Rounds {
    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    private let workbench: Workbench
    private let milliseconds: Double
    private(set) var cells: [Cell]
    private(set) var results = Results()
    /// The lengths of bucket, object and scope id of a payload, by the file's path.
    private var readLengths: [String: Int] = [:]

    init(_ workbench: Workbench, _ options: Options) throws {
        self.workbench = workbench
        milliseconds = options.milliseconds
        cells = Self.cells(workbench)
        guard let ours = workbench.program(Program.ours) else { throw Wrong(description: "KiiPush is not there") }
        for (path, file) in workbench.files.beginnings {
            // The same for every payload of a file.
            readLengths[path] = try workbench.check(ours, file, routes: 100).first.map(Self.length)
        }
        results.rounds = options.rounds
        results.core = workbench.core
        results.versions = workbench.versions
        results.leftOut = workbench.leftOut
        results.binaries = try workbench.tools.map { title, path in
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return Results.Binary(title: title, bytes: size ?? 0)
        }
        for cell in cells { prepare(cell) }
    }

    private static func cells(_ workbench: Workbench) -> [Cell] {
        let files = workbench.files
        let sample = workbench.programs.map { Cell(place: .sample, program: $0, file: files.sample, routes: 100) }
        let bySize = ["kiipush", "rust", "foundation", "node", "python", "simdjson-dom"].compactMap(workbench.program)
        let sizes = files.sizes.flatMap { bytes, file in
            bySize.map { Cell(place: .size(bytes), program: $0, file: file, routes: 100) }
        }
        let byRoutes = ["kiipush", "rust", "aiogram"].compactMap(workbench.program)
        let routes = [10, 100, 1000, 10_000].flatMap { routes in
            byRoutes.map { Cell(place: .routes, program: $0, file: files.sample, routes: routes) }
        }
        return sample + sizes + routes
    }

    /// Makes the cell's place in the results.
    private mutating func prepare(_ cell: Cell) {
        let (id, title) = (cell.program.id, cell.program.title)
        switch cell.place {
        case .sample: results.sample.append(Results.Row(id: id, title: title, role: cell.program.role))
        case .size(let bytes): results.sizes.append(Results.Point(id: id, title: title, at: bytes))
        case .routes: results.routes.append(Results.Point(id: id, title: title, at: cell.routes))
        }
    }

    private mutating func add(_ nanoseconds: Double, _ cell: Cell) {
        let id = cell.program.id
        switch cell.place {
        case .sample:
            for index in results.sample.indices where results.sample[index].id == id {
                results.sample[index].nanoseconds.add(nanoseconds)
            }
        case .size(let bytes): Self.add(nanoseconds, id, bytes, &results.sizes)
        case .routes: Self.add(nanoseconds, id, cell.routes, &results.routes)
        }
    }

    private static func add(_ nanoseconds: Double, _ id: String, _ place: Int, _ points: inout [Results.Point]) {
        for index in points.indices where points[index].id == id && points[index].at == place {
            points[index].nanoseconds.add(nanoseconds)
        }
    }

    // MARK: Running

    /// Finds out, in two steps, how many messages take as long as a run should; what compiles at run time is slow
    /// first.
    mutating func calibrate() throws {
        for index in cells.indices {
            for _ in 1...2 {
                let nanoseconds = try time(cells[index])
                cells[index].messages = min(max(Int(milliseconds * 1e6 / nanoseconds), 10), 1_000_000)
            }
        }
    }

    mutating func run() throws {
        for cell in cells { add(try time(cell), cell) }
        for times in try StageTimes.measure(workbench) { results.add(times) }
        try ColdStart(workbench).measure(&results)
        results.load = max(results.load, Machine.load)
    }

    private struct Answer: Decodable {
        let messages: Int
        let nanoseconds: Double
        let handled: Int
        let read: Int
    }

    /// Nanoseconds a message; an error when the program has not handled and read what it should.
    private func time(_ cell: Cell) throws -> Double {
        let arguments = ["time", cell.file.path, "\(cell.routes)", "\(cell.messages)"]
        let output = try Child.run(cell.program.command + arguments).output
        let answer = try JSONDecoder().decode(Answer.self, from: Data(output))
        guard answer.messages == cell.messages, answer.handled == cell.messages else {
            throw Wrong(
                description: "\(cell.program.title), \(cell.file.path): of \(cell.messages) messages "
                    + "\(answer.handled) handled")
        }
        let wanted = cell.program.role == .parser ? 0 : cell.messages * (readLengths[cell.file.path] ?? 0)
        guard answer.read == wanted else {
            throw Wrong(
                description: "\(cell.program.title), \(cell.file.path): \(answer.read) bytes read of \(wanted)")
        }
        return answer.nanoseconds / Double(answer.messages)
    }

    private static func length(_ row: [Substring]) -> Int {
        let scopeID = row[4].drop { $0 != ":" }.dropFirst()
        return row[1].utf8.count + row[2].utf8.count + scopeID.utf8.count
    }
}
