#if MQTT
import KiiPush
import KiiPushSystem

/// The files of a connection, which are its certificates, its key and its password, and when to check them again.
struct LinkFiles {
    typealias Instant = ContinuousClock.Instant
    /// What a connection uses of them: the password, and the path of the key.
    typealias Contents = (password: String?, keyFile: String?)

    private let settings: MQTTSettings
    private let interval: Duration
    /// The files of the current connection.
    private(set) var used: [FileStamp] = []
    /// Changed files that were seen once: files that belong together are not replaced at the same moment.
    private var seen: [FileStamp]?
    /// Files that were found invalid.
    private var useless: [FileStamp]?
    private var next: Instant

    init(_ settings: MQTTSettings) {
        self.settings = settings
        interval = max(settings.fileInterval, .milliseconds(10))
        next = .now + interval
        used = stamps
    }

    /// Identifies the state of the files; empty if there are none.
    private var stamps: [FileStamp] {
        let secrets = [settings.keyFile, settings.passwordFile].compactMap(\.self).map { SecretFile.location(of: $0) }
        return (certificates + secrets).map { FileStamp($0) }
    }

    private var certificates: [String] { [settings.caFile, settings.certificateFile].compactMap(\.self) }

    /// Reads the current contents; an error names the invalid file, where libmosquitto reports an invalid argument.
    func read() throws(MQTTSettingsError) -> Contents {
        for path in certificates { try check(path) }
        let password = try password()
        guard let key = settings.keyFile else { return (password, nil) }
        return (password, try secret(key, limit: 65_536).location)
    }

    private func check(_ path: String) throws(MQTTSettingsError) {
        let bytes: [UInt8]
        do throws(ReadError) { bytes = try ByteReader(regularFile: path).readAll(limit: 16 << 20) } catch {
            throw MQTTSettingsError(error.description)
        }
        // Also the end of the older forms' labels.
        guard String(decoding: bytes, as: UTF8.self).contains(exactly: "CERTIFICATE-----") else {
            throw MQTTSettingsError(
                "\(EscapedText(path)): expected a certificate in PEM, '-----BEGIN CERTIFICATE-----', found none")
        }
    }

    private func secret(_ path: String, limit: Int) throws(MQTTSettingsError) -> SecretFile {
        let file: SecretFile
        do throws(ReadError) { file = try SecretFile(path, limit: limit) } catch {
            throw MQTTSettingsError(error.description)
        }
        if let exposure = file.exposure { throw MQTTSettingsError(exposure.description) }
        return file
    }

    private func password() throws(MQTTSettingsError) -> String? {
        if case .text(let text)? = settings.password { return text }
        guard let path = settings.passwordFile else { return nil }
        var bytes = try secret(path, limit: 4096).bytes[...]
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw MQTTSettingsError("\(EscapedText(path)): expected a password in UTF-8")
        }
        if let wrong = MQTTSettings.wrong(password: text) { throw MQTTSettingsError("\(EscapedText(path)): \(wrong)") }
        return text
    }

    /// When to check again; nil if there are no files.
    var due: Instant? { used.isEmpty ? nil : next }

    /// Whether it is time to check; if so, the next time is an interval later.
    private mutating func isDue() -> Bool {
        guard let due, due <= .now else { return false }
        next = .now + interval
        return true
    }

    /// Reads the current files for a new connection.
    mutating func use() throws(MQTTSettingsError) -> Contents {
        (used, seen, useless) = (stamps, nil, nil)
        next = .now + interval
        return try read()
    }

    /// Whether the files differ from the last connection's; checks when it is time.
    mutating func areOthers() -> Bool { isDue() && stamps != used }

    /// Whether to reconnect with other files; checks when it is time, and throws once why they are invalid.
    mutating func haveChanged() throws(MQTTSettingsError) -> Bool {
        guard isDue() else { return false }
        let now = stamps
        guard now != used, now != useless else {
            seen = nil
            return false
        }
        next = .now + min(interval, .seconds(1))
        guard now == seen else {
            seen = now
            return false
        }
        do throws(MQTTSettingsError) { _ = try read() } catch {
            useless = now
            throw error
        }
        return true
    }
}

extension MQTTSettings {
    fileprivate var passwordFile: String? { if case .file(let path)? = password { path } else { nil } }
}
#endif
