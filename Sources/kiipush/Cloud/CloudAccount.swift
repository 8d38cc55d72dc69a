import KiiCloud
import KiiPush
import KiiPushAgent
import KiiPushSystem

/// The credentials and the app for calls of Kii's cloud: a file that only its owner can read.
struct CloudAccount: Sendable {
    let app: KiiApp
    let token: Secret
    /// Whether the server is on this machine and unencrypted, as in a test.
    let isPlain: Bool

    static let limit = 65_536

    private static let keys = ["site", "app", "key", "token"]
    private static let sites: [String: KiiSite] = ["us": .us, "jp": .jp, "sg": .sg, "eu": .eu]

    /// Reads a file, or standard input for `-`; errors contain nothing of the contents.
    init(_ path: String) throws {
        let bytes =
            path == "-" ? try ByteReader.standardInput().readAll(limit: Self.limit) : try Self.file(path)
        let name = path == "-" ? "standard input" : escaped(path)
        guard case .object(let members)? = DataValue(json: String(decoding: bytes, as: UTF8.self)) else {
            throw AgentError("\(name): not an account; it takes one JSON object with site, app, key and token")
        }
        var texts: [String: String] = [:]
        for (key, value) in members {
            // An invalid key may be a misplaced secret.
            guard Self.keys.contains(key) else {
                throw AgentError("\(name): a key is not one of \(Self.keys.joined(separator: ", "))")
            }
            guard case .string(let text) = value, !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw AgentError("\(name): \(key): expected a string of printable ASCII characters without spaces")
            }
            texts[key] = text
        }
        guard let site = texts["site"], let id = texts["app"], let key = texts["key"], let token = texts["token"] else {
            let missing = Self.keys.filter { texts[$0] == nil }
            throw AgentError("\(name): missing: \(missing.joined(separator: ", "))")
        }
        let place = try Self.place(site, name)
        app = KiiApp(place.site, id: id, key: Secret(key))
        self.token = Secret(token)
        isPlain = place.isPlain
    }

    private static func place(_ text: String, _ name: String) throws(AgentError) -> (site: KiiSite, isPlain: Bool) {
        if let site = sites[text] { return (site, false) }
        let plain = "http://"
        if text.hasPrefix(plain) {
            let host = String(text.dropFirst(plain.count))
            let machine = host.prefix { $0 != ":" }
            guard machine == "127.0.0.1" || machine == "localhost" else {
                throw AgentError("\(name): site: http:// is for 127.0.0.1 only; other servers are called over HTTPS")
            }
            return (KiiSite(host: host), true)
        }
        guard !text.contains("/") else {
            throw AgentError("\(name): site: expected us, jp, sg, eu, or a host's name without a scheme")
        }
        return (KiiSite(host: text), false)
    }

    private static func file(_ path: String) throws -> [UInt8] {
        let file = try SecretFile(path, limit: limit)
        if let exposure = file.exposure { throw exposure }
        return file.bytes
    }
}
