import Glibc

/// What a process costs, as the kernel counts it.
struct ProcessFigures {
    /// Time on a core, its threads' in all, in seconds.
    let time: Double
    /// Kibibytes resident, by what they are mapped from.
    let resident: [(name: String, kibibytes: Int)]

    /// Kibibytes that are the process's own: heap, stacks, and what it has changed of what it maps.
    let anonymous: Int

    /// All that is resident, in kibibytes.
    var total: Int { resident.reduce(0) { $0 + $1.kibibytes } }

    /// Takes both: to read what is mapped costs a millisecond, in which the process cannot grow its memory.
    init(of process: pid_t) {
        time = Self.time(of: process)
        var sums: [String: Int] = [:]
        var anonymous = 0
        var name = ""
        for line in words(of: "/proc/\(process)/smaps").split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            if words[0].hasSuffix(":") {
                let kibibytes = words.count > 1 ? Int(words[1]) ?? 0 : 0
                if words[0] == "Rss:" { sums[name, default: 0] += kibibytes }
                if words[0] == "Anonymous:" { anonymous += kibibytes }
            } else {
                name =
                    words.count > 5 ? String(words[5].split(separator: "/").last ?? "") : "heap and stacks of threads"
            }
        }
        self.anonymous = anonymous
        resident = sums.sorted { $0.value > $1.value }.map { ($0.key, $0.value) }
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
