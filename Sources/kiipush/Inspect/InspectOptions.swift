import KiiPush

/// What `kiipush inspect` was asked for.
struct InspectOptions {
    enum Format {
        case text
        case json
    }

    var transport: Transport?
    var app: String?
    var byLines = false
    var isStrict = false
    var format = Format.text
    var wantsHelp = false
    var files: [String] = []

    init(_ arguments: [String]) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        while let option = try arguments.nextOption() {
            switch option {
            case "--transport": transport = try arguments.value(of: option, among: Self.transports)
            case "--app": app = try arguments.value(of: option)
            case "--lines": byLines = true
            case "--strict": isStrict = true
            case "--format": format = try arguments.value(of: option, among: [("text", .text), ("json", .json)])
            case "--help", "-h": wantsHelp = true
            default:
                throw Arguments.Mistake(
                    unknown: option, known: ["--transport", "--app", "--lines", "--strict", "--format"])
            }
        }
        files = arguments.operands
    }

    private static let transports: [(name: String, choice: Transport)] =
        [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map { ($0.name, $0) }

    static let help = """
        kiipush inspect: says what kind of push a payload is, why, and what it is about

        usage: kiipush inspect [OPTION…] [FILE…]

        Reads one payload a file, or standard input when no file (or -) is named.

          --transport NAME   the network it came over: apns, fcm, jpush, mqtt or quickblox;
                             without it the payload itself decides how it is read
          --app ID           the app that it should be of; another one's has the conflict appID
          --lines            one payload a line; empty lines are passed over
          --strict           exit with 2 when a payload is ambiguous
          --format FORMAT    text for people (the default), or json: one object a line
          --help             shows this

        What cannot be read is reported on standard error as FILE:LINE:COLUMN: CODE: WHAT, and
        the next payload is read as usual. Exit codes: 0 fine; 1 an input failed; 2 ambiguous
        under --strict; 64 wrong usage.

        Try it:

          echo '{"bucketID":"settings","objectScopeType":"APP"}' | kiipush inspect
        """
}
