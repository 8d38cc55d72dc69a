import Glibc

/// What a process costs, as the kernel counts it.
struct ProcessFigures {
    /// Time on a core, its threads' in all, in seconds.
    let time: Double
    /// Kibibytes resident.
    let resident: Int
    /// Kibibytes of these that are the process's own: heap, stacks, and what it has changed of what it maps.
    let anonymous: Int

    /// Takes them: to read what is mapped costs a millisecond, in which the process cannot grow its memory.
    init(of process: pid_t) {
        time = Self.time(of: process)
        let lines = words(of: "/proc/\(process)/smaps_rollup").split(separator: "\n")
        func kibibytes(_ name: String) -> Int {
            let line = lines.first { $0.hasPrefix(name) }
            return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        }
        (resident, anonymous) = (kibibytes("Rss:"), kibibytes("Anonymous:"))
    }

    /// The time of a process on a core alone, in seconds, which costs next to nothing.
    static func time(of process: pid_t) -> Double {
        let status = words(of: "/proc/\(process)/stat")
        // The name, in parentheses, may hold spaces; times are the 14th and 15th field.
        let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
