import Glibc
import KiiPushTesting

/// The options of the command line.
struct Options {
    var isJSON = false
    var adversary: AdversaryOptions?
    var service: ServiceSeeds?
    var mixed: MixedLoops?
    var plan = Plan(isQuick: false, devices: nil)

    /// What runs instead of the plan.
    var other: (any OtherRun)? { service ?? mixed ?? adversary as (any OtherRun)? }

    enum Problem: Error {
        case help
        case wrong(String)
    }

    static let usage = """
        usage: kiipush-simulation [--quick | --storm] [--devices N] [--format text|json] [--help]
               kiipush-simulation --adversary [--seeds N] [--rounds N] [--cost N] [--seed PATH] [--allow N]
               kiipush-simulation --honest [--seeds N] [--seed N] [--only TEXT]
               kiipush-simulation --mixed [--seeds N]
               kiipush-simulation --service [--seeds N] [--first N]

        Runs loops through fleets of devices, once with each layer of the loop guard, and honest traffic; exit 1 when a
        bound did not hold.

          --quick      the smaller half of it, for each check
          --storm      only one loop of a thousand devices that do nothing for it, up to its end: tens of millions of
                       messages, some minutes and gigabytes
          --devices N  only fleets of so many devices, and no honest traffic
          --format     text: a table; json: one object a line for each run
          --adversary  looks for loops that are handled more often than the bounds say: so many random ones (--seeds),
                       then so many rounds of changes to the worst; --seed runs one, such as 93.2, and prints its minutes
          --cost N     about how many deliveries a loop may take; a seed means the same only with the same cost
          --allow N    exit 0 where no more than N loops are handled more often than the bounds say
          --mixed      loops on an object that honest messages come for, too, so many seeds of each; exit 1 when an
                       honest message is lost
          --service    the delivery service from one seed each: faults, crashes and stops, then peace; from seed --first
                       on so many; prints each seed that breaks a guarantee, and exits with 1
          --honest     honest streams, bursts, imports and wake-ups, so many seeds of each; exit 1 when a message is lost,
                       or one of a pattern for which that is promised is later than a minute; --only tries the
                       patterns whose name has this text
        """

    static func read(_ arguments: [String]) -> Result<Options, Problem> {
        var options = Options()
        var isQuick = false
        var isStorm = false
        var devices: Int?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .failure(.help)
            case "--quick": isQuick = true
            case "--adversary": options.adversary = AdversaryOptions()
            case "--honest": options.adversary = AdversaryOptions(isHonest: true)
            case "--mixed": options.mixed = MixedLoops()
            case "--seeds" where options.mixed != nil:
                guard let seeds = rest.popFirst().flatMap({ Int($0) }), seeds > 0 else {
                    return .failure(.wrong("\(argument) takes a number from 1"))
                }
                options.mixed?.seeds = seeds
            case "--service": options.service = ServiceSeeds()
            case "--seeds" where options.service != nil, "--first" where options.service != nil:
                guard options.service?.read(argument, rest.popFirst() ?? "") == true else {
                    return .failure(.wrong("\(argument) takes a number from 1"))
                }
            case "--seed", "--seeds", "--rounds", "--cost", "--allow", "--only":
                guard options.adversary?.read(argument, rest.popFirst() ?? "") == true else {
                    let kind =
                        argument == "--only" ? "a text, and comes behind" : "a number, and comes behind --adversary or"
                    return .failure(.wrong("\(argument) takes \(kind) --honest"))
                }
            case "--storm": isStorm = true
            case "--devices":
                guard let count = rest.popFirst().flatMap({ Int($0) }), (1...10_000).contains(count) else {
                    return .failure(.wrong("--devices takes a number from 1 to 10000"))
                }
                devices = count
            case "--format":
                guard let format = rest.popFirst(), ["text", "json"].contains(format) else {
                    return .failure(.wrong("--format takes text or json"))
                }
                options.isJSON = format == "json"
            default: return .failure(.wrong("unknown option '\(argument)'"))
            }
        }
        options.plan = isStorm ? .storm(devices ?? 1000) : Plan(isQuick: isQuick, devices: devices.map { [$0] })
        return .success(options)
    }
}

/// What an option asks for instead of the plan.
protocol OtherRun {
    /// Runs it, prints what came of it, and returns whether all of it held.
    func run() async -> Bool
}

/// Writes to standard error by its number: glibc's `stderr` is a variable, which is unsafe in Swift 6.
func complain(_ text: String) {
    let line = Array("kiipush-simulation: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
