/// A push that the simulated cloud sends, without its time.
///
/// The time makes each push a different one, for the deduplication and for the books: it is the push's `when`, or for a
/// command a part of its id.
enum Push: Sendable {
    enum Scope: Sendable {
        case app
        case user(String)
        case group(String)
    }

    /// A change of an object.
    case object(String, bucket: String, scope: Scope, sender: String)
    /// A message of a topic.
    case topic(String, scope: Scope, sender: String?)
    /// A Thing-IF command.
    case command(issuer: String?)
    /// A Direct Push of APNs that names its sender.
    case direct(sender: String)

    private static let app = "7c1e90ab"

    /// The payload, sent at a time in milliseconds.
    func payload(at time: Int64) -> [UInt8] {
        let text: String
        switch self {
        case .object(let id, let bucket, let scope, let sender):
            text = """
                {"origin":"EVENT","appID":"\(Self.app)",\(scope.members),"bucketID":"\(bucket)","bucketType":"rw",\
                "objectID":"\(id)","type":"DATA_OBJECT_UPDATED","sender":"\(sender)","when":\(time),"modifiedAt":\(time)}

                """
        case .topic(let name, let scope, let sender):
            let member = sender.map { "\"sender\":\"\($0)\"," } ?? ""
            text = "{\"topic\":\"\(name)\",\(scope.members),\(member)\"when\":\(time),\"text\":\"news \(time)\"}\n"
        case .command(let issuer):
            let member = issuer.map { ",\"issuer\":\"user:\($0)\"" } ?? ""
            text = """
                {"commandID":"command-\(time)","actions":[{"lamp":[{"setBrightness":\(time % 100)}]}]\(member)}

                """
        case .direct(let sender):
            text = "{\"aps\":{\"alert\":\"direct \(time)\"},\"s\":\"\(sender)\",\"w\":\(time),\"note\":\"\(time)\"}\n"
        }
        return Array(text.utf8)
    }
}

extension Push.Scope {
    fileprivate var members: String {
        let kind: String
        switch self {
        case .app: kind = "\"objectScopeType\":\"APP\""
        case .user(let id): kind = "\"objectScopeType\":\"APP_AND_USER\",\"objectScopeUserID\":\"\(id)\""
        case .group(let id): kind = "\"objectScopeType\":\"APP_AND_GROUP\",\"objectScopeGroupID\":\"\(id)\""
        }
        return "\(kind),\"objectScopeAppID\":\"7c1e90ab\""
    }
}

extension Push {
    /// The time of the push in a line that the agent printed.
    static func time(in line: some Collection<UInt8>) -> Int64? {
        number(in: line, after: Array("\"sentAt\":".utf8))
            ?? number(in: line, after: Array("\"command\":{\"id\":\"command-".utf8))
    }

    private static func number(in line: some Collection<UInt8>, after key: [UInt8]) -> Int64? {
        line.withContiguousStorageIfAvailable { line in
            let last = line.count - key.count
            guard last >= 0, let start = (0...last).first(where: { starts(line, key, at: $0) }) else { return nil }
            let digits = line[(start + key.count)...].prefix { $0 >= 0x30 && $0 <= 0x39 }
            guard !digits.isEmpty else { return nil }
            return digits.reduce(0) { $0 &* 10 &+ Int64($1 - 0x30) }
        } ?? nil
    }

    private static func starts(_ line: UnsafeBufferPointer<UInt8>, _ key: [UInt8], at start: Int) -> Bool {
        for index in key.indices where line[start + index] != key[index] { return false }
        return true
    }
}
