import Foundation

/// What kiipush-bench prints, which times KiiPush's stages from within.
struct StageTimes: Decodable {
    struct Stage: Decodable {
        let stage: String
        let medianNanoseconds: Double
        let allocations: Double?
    }

    struct SeenKeys: Decodable {
        let keys: Int
        let megabytes: Double
        let beginNanoseconds: Double
        let commitNanoseconds: Double
        let longestPauseMicroseconds: Double
    }

    let stages: [Stage]
    let seenKeys: [SeenKeys]

    /// Runs it once: on one core, but for the part that asks for two.
    static func measure(_ workbench: Workbench) throws -> [StageTimes] {
        let command = [workbench.bench, "--format", "json", "--rounds", "15"]
        let parts = ["decode", "chain", "route", "whole", "store"].map { command + ["--only", $0] }
        return try (parts + [workbench.onAllCores(command + ["--only", "cores"])]).map { part in
            try JSONDecoder().decode(StageTimes.self, from: Data(Child.run(part).output))
        }
    }
}

extension Results {
    mutating func add(_ times: StageTimes) {
        for time in times.stages {
            let index = stages.firstIndex { $0.name == time.stage } ?? stages.endIndex
            if index == stages.endIndex { stages.append(Stage(name: time.stage, allocations: time.allocations)) }
            stages[index].nanoseconds.add(time.medianNanoseconds)
        }
        for time in times.seenKeys {
            let index = seenKeys.firstIndex { $0.keys == time.keys } ?? seenKeys.endIndex
            if index == seenKeys.endIndex { seenKeys.append(SeenKeys(keys: time.keys)) }
            seenKeys[index].megabytes.add(time.megabytes)
            seenKeys[index].beginNanoseconds.add(time.beginNanoseconds)
            seenKeys[index].commitNanoseconds.add(time.commitNanoseconds)
            seenKeys[index].longestPauseMicroseconds.add(time.longestPauseMicroseconds)
        }
    }
}
