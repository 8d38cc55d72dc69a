import Glibc

/// What the command line asks for.
struct Options {
    var isJSON = false
    var plan = Plan(isQuick: false, devices: nil)

    enum Problem: Error {
        case help
        case wrong(String)
    }

    static let usage = """
        usage: kiipush-simulation [--quick] [--devices N] [--format text|json] [--help]

        Runs loops through fleets of devices, once with each layer of the loop guard, and honest traffic; exit 1 when a
        bound did not hold.

          --quick      the smaller half of it, for each check
          --devices N  only fleets of so many devices, and no honest traffic
          --format     text: a table; json: one object a line for each run
        """

    static func read(_ arguments: [String]) -> Result<Options, Problem> {
        var options = Options()
        var isQuick = false
        var devices: Int?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .failure(.help)
            case "--quick": isQuick = true
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
        options.plan = Plan(isQuick: isQuick, devices: devices.map { [$0] })
        return .success(options)
    }
}

/// Writes to standard error by its number: glibc's `stderr` is a variable, which Swift 6 takes for unsafe.
func complain(_ text: String) {
    let line = Array("kiipush-simulation: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
