import Glibc

/// What the command line asks for.
struct Options {
    private enum Task {
        case faults
        case kills
        case rate
        case idle
        case fleet
    }

    private var task = Task.faults
    private var isLong = false
    private var kills: Int?
    private var messages: Int?
    private var isInMemory = false
    private var hasHardships = false
    private var concurrency = 8
    private var window = 20
    private var tool: Program?
    private var only: String?
    private var devices = 4

    static let usage = """
        usage: kiipush-faults [--long] [--tool PATH] [--only WORDS]
               kiipush-faults --kills N [--messages M] [--tool PATH | --in-memory]
               kiipush-faults --kills N --hardships --tool PATH [--messages M]
               kiipush-faults --rate [--messages M] [--concurrency N] [--window N] [--tool PATH]
               kiipush-faults --idle [--tool PATH]
               kiipush-faults --fleet --tool PATH [--devices N] [--only WORDS]

        Runs agents on a mosquitto of its own, makes faults, and checks that nothing acknowledged is lost and nothing is
        handled twice but what was in flight at a kill. Exit 1 when something did not hold.

          --long     all of it: 1,000 kills over 100,000 messages, every point of every fault
          --tool     a kiipush that was built with all traits, to be run where the fault needs no agent of this program
          --only     the faults whose names have these words in them
          --kills    only kills at random moments, so many; --messages: how many messages they are among
          --in-memory  with an inbox in memory, which loses messages: to see that the books show it
          --hardships  over TLS, and between the kills certificates and passwords are exchanged, the disk filled,
                     descriptors taken and the log blocked
          --rate     messages a second from the broker through the inbox on disk to the handler
          --idle     what an agent costs that has nothing to do
          --fleet    several real agents at a cloud of this program, over a real broker, whose handlers write to what they
                     listen to; the tool needs all traits. --devices: how many, 4 if not given
        """

    /// Reads the arguments; nil when help is wanted.
    init?(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--help", "-h": return nil
            case "--long": isLong = true
            case "--in-memory": isInMemory = true
            case "--hardships": hasHardships = true
            case "--rate": task = .rate
            case "--idle": task = .idle
            case "--kills": (task, kills) = (.kills, try Self.number(option, &rest))
            case "--messages": messages = try Self.number(option, &rest)
            case "--concurrency": concurrency = try Self.number(option, &rest)
            case "--window": window = try Self.number(option, &rest)
            case "--tool": tool = .tool(try Self.text(option, &rest))
            case "--fleet": task = .fleet
            case "--devices": devices = try Self.number(option, &rest)
            case "--only": only = try Self.text(option, &rest)
            default: throw Trouble("unknown option '\(option)'\n\(Self.usage)")
            }
        }
    }

    private static func text(_ option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let text = rest.popFirst() else { throw Trouble("\(option) needs a value\n\(usage)") }
        return text
    }

    private static func number(_ option: String, _ rest: inout ArraySlice<String>) throws -> Int {
        let text = try text(option, &rest)
        guard let number = Int(text), (1...100_000_000).contains(number) else {
            throw Trouble("\(option) takes a number from 1 to 100000000")
        }
        return number
    }

    /// Does what was asked for, and says what did not hold.
    func run() async throws -> [String] {
        let program = tool ?? .own
        switch task {
        case .rate:
            let rate = Rate(
                program: program, messages: messages ?? 200_000, concurrency: concurrency, window: window)
            print(try rate.line())
            return []
        case .idle:
            print(try Idle(program: program).text())
            return []
        case .kills where hasHardships:
            guard case .tool? = tool else { throw Trouble("--hardships needs --tool PATH") }
            let run = Hardships(program: program, kills: kills ?? 24, messages: messages ?? 2400)
            return try await Plan(rows: [("hardships", { try run.row() })]).run()
        case .kills:
            let run = RandomKills(
                kills: kills ?? 40, messages: messages ?? 5000, program: program,
                options: isInMemory ? ["--memory"] : [])
            return try await Plan(rows: [("random kills", { try run.row() })]).run()
        case .fleet:
            guard case .tool(let path)? = tool else { throw Trouble("--fleet needs --tool PATH") }
            return try await FleetPlan(tool: path, devices: devices, only: only).run()
        case .faults: return try await Plan(isLong: isLong, tool: tool, only: only).run()
        }
    }
}
