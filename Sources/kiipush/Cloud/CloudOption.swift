import KiiCloud
import KiiPush
import KiiPushAgent

extension CommandOption {
    /// The account with which a command calls Kii's cloud, with the same help text everywhere.
    static func account(_ set: @escaping @Sendable (inout Target, String) -> Void) -> Self {
        value(
            "--account", "FILE",
            "the app and the token to call it with: a JSON object with site (us, jp, sg, eu or a host name), app, key "
                + "and token, readable by its owner only; - reads standard input",
            completes: .file, set)
    }
}

enum CloudOption {
    static func check(account: String) throws(Arguments.Mistake) {
        guard !account.isEmpty else {
            throw Arguments.Mistake(text: "--account is missing: name the file with the app's key and your token")
        }
    }

    static func uri(_ operands: [String], _ what: String) throws(Arguments.Mistake) -> KiiURI {
        guard let text = operands.first else { throw Arguments.Mistake(text: "name \(what)") }
        guard operands.count == 1 else { throw Arguments.Mistake(text: "it takes one URI, not \(operands.count)") }
        guard let uri = KiiURI(text) else {
            throw Arguments.Mistake(text: "'\(escaped(text))' is not a kiicloud:// URI; name \(what)")
        }
        return uri
    }

    static func subscriber(_ text: String) -> PushSubscriber? {
        let parts = text.split(separator: ":", maxSplits: 1).map { String($0) }
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "user": return .user(KiiUser(id: parts[1]))
        case "thing": return .thing(KiiThing(id: parts[1]))
        default: return nil
        }
    }
}
