import Glibc

/// An authority, a broker's certificate, and what a device proves itself with: a certificate and a password, each of
/// which can be exchanged while all run.
final class Security {
    static let user = "device"

    let folder: Folder
    private var certificates = 0
    private var passwords = 0

    /// Where the files lie, by what they are.
    func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    init() throws {
        folder = try Folder()
        try openssl(
            ["req", "-x509"] + Self.newKey + ["-keyout", path("ca.key"), "-out", path("ca.crt"), "-subj", "/CN=ca"])
        try sign("broker", names: "subjectAltName=DNS:localhost,IP:127.0.0.1")
        try rotateCertificate()
        try rotatePassword()
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private func openssl(_ arguments: [String]) throws {
        guard try run(["openssl"] + arguments, errors: path("openssl.log")) == .exited(0) else {
            throw Trouble("openssl: \(words(of: path("openssl.log")))")
        }
    }

    private func sign(_ name: String, names: String) throws {
        try write("\(names)\n".utf8, to: path("extensions"))
        try openssl(
            ["req"] + Self.newKey + ["-keyout", path("new.key"), "-out", path("request"), "-subj", "/CN=\(name)"])
        try openssl([
            "x509", "-req", "-in", path("request"), "-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-CAcreateserial",
            "-days", "2", "-extfile", path("extensions"), "-out", path("new.crt"),
        ])
        for end in ["key", "crt"] {
            chmod(path("new.\(end)"), 0o600)
            guard rename(path("new.\(end)"), path("\(name).\(end)")) == 0 else { throw Trouble("rename: \(text())") }
        }
    }

    /// Gives the device another certificate and key; the broker takes both.
    func rotateCertificate() throws {
        certificates += 1
        try sign("device", names: "nsComment=\(certificates)")
    }

    /// Gives the device another password, which the broker knows when it has read its files again.
    func rotatePassword() throws {
        passwords += 1
        let password = "password-\(passwords)"
        try write("\(Self.user):\(password)\n".utf8, to: path("new"))
        guard try run(["mosquitto_passwd", "-U", path("new")]) == .exited(0), rename(path("new"), path("users")) == 0
        else { throw Trouble("mosquitto_passwd: \(text())") }
        try write("\(password)\n".utf8, to: path("new"))
        guard rename(path("new"), path("password")) == 0 else { throw Trouble("rename: \(text())") }
    }

    /// The listener's lines in the broker's configuration.
    func listener(_ port: Int) -> String {
        """
        listener \(port) 127.0.0.1
        cafile \(path("ca.crt"))
        certfile \(path("broker.crt"))
        keyfile \(path("broker.key"))
        require_certificate true
        allow_anonymous false
        password_file \(path("users"))

        """
    }

    /// What the tool is told of the files.
    var options: [String] {
        [
            "--ca-file", path("ca.crt"), "--cert-file", path("device.crt"), "--key-file", path("device.key"),
            "--password-file", path("password"),
        ]
    }
}
