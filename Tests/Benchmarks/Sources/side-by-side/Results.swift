import Foundation

/// Times of one thing, a round each.
struct Samples: Codable {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) { values.append(value) }

    var median: Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
    var least: Double { values.min() ?? .nan }
    var most: Double { values.max() ?? .nan }
}

/// All that was measured in one run.
struct Results: Codable {
    struct LeftOut: Codable {
        let peer: String
        let reason: String
    }

    /// One program on the sample, 100 routes: nanoseconds a message.
    struct Row: Codable {
        let id: String
        let title: String
        let role: Program.Role
        var nanoseconds = Samples()
    }

    /// One program at one place of a scale: nanoseconds a message.
    struct Point: Codable {
        let id: String
        let title: String
        /// Bytes a payload, or routes.
        let at: Int
        var nanoseconds = Samples()
    }

    /// A stage of KiiPush's: nanoseconds and allocations a message.
    struct Stage: Codable {
        let name: String
        /// Nil where they were not counted.
        let allocations: Double?
        var nanoseconds = Samples()
    }

    struct SeenKeys: Codable {
        let keys: Int
        var megabytes = Samples()
        var beginNanoseconds = Samples()
        var commitNanoseconds = Samples()
        var longestPauseMicroseconds = Samples()
    }

    /// From a program's start to its first message, or to its end after it.
    struct Start: Codable {
        let title: String
        var milliseconds = Samples()
        var residentMegabytes = Samples()
    }

    struct Binary: Codable {
        let title: String
        let bytes: Int
    }

    var machine = Machine()
    var rounds = 0
    var core: Int?
    /// The most that the kernel's load average was, a look each round; about 1 is the run's own.
    var load = 0.0
    var versions: [String] = []
    var leftOut: [LeftOut] = []
    var sample: [Row] = []
    var sizes: [Point] = []
    var routes: [Point] = []
    var stages: [Stage] = []
    var seenKeys: [SeenKeys] = []
    var starts: [Start] = []
    var binaries: [Binary] = []

    init() {}

    init(file: String) throws {
        self = try JSONDecoder().decode(Results.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}

/// Where it was measured.
struct Machine: Codable {
    let processor: String
    let cores: Int

    init() {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        processor = line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        // Not how many this process may use: it may be bound to one.
        cores = max(1, text.split(separator: "\n").count { $0.hasPrefix("processor") })
    }
}

extension Machine {
    /// How many programs have wanted to run at once lately, as the kernel says.
    static var load: Double {
        let text = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? ""
        return text.split(separator: " ").first.flatMap { Double($0) } ?? 0
    }
}

// MARK: - What is compared

extension Results {
    /// The median on the sample, in nanoseconds.
    func onSample(_ id: String) -> Double? { sample.first { $0.id == id }?.nanoseconds.median }

    /// Whether something else ran beside the run, so that its times are to be doubted.
    var wasBusy: Bool { load > 2 }

    /// Our whole on the sample.
    var ours: Double { onSample(Program.ours) ?? .nan }

    func stage(_ name: String) -> Stage? { stages.first { $0.name == name } }

    func seenKeys(_ keys: Int) -> SeenKeys? { seenKeys.first { $0.keys == keys } }

    func start(_ title: String) -> Start? { starts.first { $0.title == title } }

    func point(_ points: [Point], _ id: String, _ place: Int) -> Double? {
        points.first { $0.id == id && $0.at == place }?.nanoseconds.median
    }
}
