import KiiCloud
import KiiPush

/// A resource that a path of Kii's REST API names, below the app.
enum CloudPlace: Hashable {
    case user(KiiUser)
    case group(KiiGroup)
    case thing(KiiThing)
    /// The collection in which a bucket's objects are created.
    case objects(KiiBucket)
    case object(KiiObject)
    case topic(KiiTopic)
    /// The collection to which a topic's pushes are sent.
    case messages(KiiTopic)
    case subscription(PushSource, PushSubscriber)
    case installations
    case installation(String)
    case endpoint(String)
    /// The results of a thing's command.
    case results(KiiThing, command: String)

    /// Parses a path; nil for an undocumented one.
    init?(_ path: String, app: String) {
        var parts: [String] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard let text = Self.unescaped(part), !text.isEmpty else { return nil }
            parts.append(text)
        }
        guard parts.count >= 4, parts[1] == "apps", parts[2] == app else { return nil }
        let root = parts[0]
        parts.removeFirst(3)
        switch root {
        case "api": self.init(parts[...])
        case "thing-if": self.init(command: parts)
        default: return nil
        }
    }

    private init?(_ parts: ArraySlice<String>) {
        guard let (scope, rest) = Self.scope(parts) else { return nil }
        let words = Array(rest)
        switch (words.first, words.count) {
        case (nil, _): self.init(of: scope)
        case ("buckets", 3) where words[2] == "objects": self = .objects(Self.bucket(scope, words[1]))
        case ("buckets", 4) where words[2] == "objects":
            self = .object(KiiObject(bucket: Self.bucket(scope, words[1]), id: words[3]))
        case ("buckets", 8) where words[2...3] == ["filters", "all"]:
            self.init(.bucket(Self.bucket(scope, words[1])), words[4...])
        case ("topics", 2): self = .topic(KiiTopic(scope: scope, name: words[1]))
        case ("topics", 4) where words[2...] == ["push", "messages"]:
            self = .messages(KiiTopic(scope: scope, name: words[1]))
        case ("topics", 6): self.init(.topic(KiiTopic(scope: scope, name: words[1])), words[2...])
        case ("installations", 1) where scope == .app: self = .installations
        case ("installations", 2) where scope == .app: self = .installation(words[1])
        case ("installations", 3) where scope == .app && words[2] == "mqtt-endpoint": self = .endpoint(words[1])
        default: return nil
        }
    }

    /// The record of a scope's owner.
    private init?(of scope: KiiScope) {
        switch scope {
        case .app: return nil
        case .user(let user): self = .user(user)
        case .group(let group): self = .group(group)
        case .thing(let thing): self = .thing(thing)
        }
    }

    private init?(_ source: PushSource, _ words: ArraySlice<String>) {
        let words = Array(words)
        guard words.count == 4, words[0...1] == ["push", "subscriptions"] else { return nil }
        switch words[2] {
        case "users": self = .subscription(source, .user(KiiUser(id: words[3])))
        case "things": self = .subscription(source, .thing(KiiThing(id: words[3])))
        default: return nil
        }
    }

    private init?(command parts: [String]) {
        guard parts.count == 5, parts[0] == "targets", parts[1].hasPrefix("thing:"), parts[2] == "commands",
            parts[4] == "action-results"
        else { return nil }
        self = .results(KiiThing(id: String(parts[1].dropFirst("thing:".count))), command: parts[3])
    }

    private static func scope(_ parts: ArraySlice<String>) -> (KiiScope, ArraySlice<String>)? {
        guard let kind = parts.first, ["users", "groups", "things"].contains(kind) else { return (.app, parts) }
        guard let id = parts.dropFirst().first else { return nil }
        let rest = parts.dropFirst(2)
        switch kind {
        case "users": return (.user(KiiUser(id: id)), rest)
        case "groups": return (.group(KiiGroup(id: id)), rest)
        default: return (.thing(KiiThing(id: id)), rest)
        }
    }

    private static func bucket(_ scope: KiiScope, _ word: String) -> KiiBucket {
        guard word.hasPrefix("CRYPTO:") else { return KiiBucket(scope: scope, name: word) }
        return KiiBucket(scope: scope, name: String(word.dropFirst("CRYPTO:".count)), type: .crypto)
    }

    private static func unescaped(_ part: Substring) -> String? {
        var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], part.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let text = String(rest.prefix(2)), rest.count >= 2, let value = UInt8(text, radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
