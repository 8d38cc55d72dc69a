import KiiCloud
import KiiPush
import KiiPushAgent

struct RefreshCommand: CommandWithOptions {
    private var format = ReportFormat.text
    private var account = ""
    private var uri = KiiURI(owner: .app)
    private var read: Reading = { _ in nil }

    private typealias Reading = @Sendable (KiiClient) async throws -> Found?

    private struct Found {
        var fields: KeyedData
        var version: String?
        var createdAt: Int64?
        var modifiedAt: Int64?
    }

    static let table = OptionTable<RefreshCommand>([
        .account { $0.account = $1 },
        .format("text for people (the default), or json: one object on one line") { $0.format = $1 },
    ])

    func run(_ console: Console) async -> ExitCode {
        await CloudConnection.run("refresh", account: account, console, names: uri.appID) { client in
            let found = try await read(client)
            for line in lines(found) { console.print(line) }
            if found == nil, format == .text { console.error("kiipush refresh: there is none") }
            return found == nil ? .failed : .fine
        }
    }

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        let what = "the URI of an object, a user, a group or a thing, such as kiicloud://users/ID"
        uri = try CloudOption.uri(operands, what)
        guard let read = Self.reading(uri) else { throw Arguments.Mistake(text: "name \(what)") }
        self.read = read
        try CloudOption.check(account: account)
    }

    /// The call that reads what a URI names; nil for something that has no record.
    private static func reading(_ uri: KiiURI) -> Reading? {
        if let object = uri.object {
            return { client in
                try await client.refresh(object).map {
                    Found(fields: $0.fields, version: $0.version, createdAt: $0.createdAt, modifiedAt: $0.modifiedAt)
                }
            }
        }
        switch (uri.resource, uri.owner) {
        case (.none, .user(let id)): return { try await $0.refresh(KiiUser(id: id)).map { Found(fields: $0.fields) } }
        case (.none, .group(let id)): return { try await $0.refresh(KiiGroup(id: id)).map { Found(fields: $0.fields) } }
        case (.none, .thing(let id)): return { try await $0.refresh(KiiThing(id: id)).map { Found(fields: $0.fields) } }
        default: return nil
        }
    }

    private func lines(_ found: Found?) -> [String] {
        switch format {
        case .json: [json(found)]
        case .text:
            found.map { found in
                var lines = found.fields.members.map { "\(escaped($0.key)): \(escaped($0.value.jsonText))" }
                if let version = found.version { lines.append("version \(escaped(version))") }
                return lines
            } ?? []
        }
    }

    private func json(_ found: Found?) -> String {
        JSONWriter.object { writer in
            writer.member("uri", uri.description)
            writer.member("exists", found != nil)
            if let found {
                if let version = found.version { writer.member("version", version) }
                if let time = found.createdAt { writer.member("createdAt", time) }
                if let time = found.modifiedAt { writer.member("modifiedAt", time) }
                writer.member("fields", value: .object(found.fields.members))
            }
        }
    }

    static let description = Command(
        name: "refresh", summary: "reads what a handle names from Kii's cloud", usage: ["URI --account FILE [OPTION…]"],
        about: [
            "URI is one that inspect prints: kiicloud://users/ID, likewise for groups and things, or an object, "
                + "such as kiicloud://users/ID/buckets/B/objects/O."
        ],
        exits: [(.fine, "it is there"), (.failed, "there is none, or the call failed")],
        examples: [
            #"kiipush refresh kiicloud://buckets/settings/objects/o-1 \"#, "    --account account.json",
        ])
}
