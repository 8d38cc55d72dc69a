#if MQTT
import CMosquitto
import CLibrary

/// Functions of the OpenSSL that libmosquitto has loaded; needs no headers.
enum OpenSSL {
    static var systemCertificates: String {
        typealias Call = @convention(c) () -> UnsafePointer<CChar>?
        // The text is a constant of OpenSSL.
        guard let symbol = unsafe dlsym(nil, "X509_get_default_cert_dir"),
            let name = unsafe unsafeBitCast(symbol, to: Call.self)()
        else { return "/etc/ssl/certs" }
        return unsafe String(cString: name)
    }

    typealias Write = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer, Int32) -> Int32

    static var write: Write? { unsafe dlsym(nil, "SSL_write").map { unsafe unsafeBitCast($0, to: Write.self) } }

    /// Calls a function of one pointer that returns a number; nil if there is none of this name.
    fileprivate static func number(_ name: String, _ object: UnsafeMutableRawPointer) -> Int32? {
        typealias Call = @convention(c) (UnsafeMutableRawPointer) -> Int32
        return unsafe dlsym(nil, name).map { unsafe unsafeBitCast($0, to: Call.self)(object) }
    }

    static func isHandshaking(_ session: UnsafeMutableRawPointer) -> Bool {
        unsafe number("SSL_is_init_finished", session) == 0
    }

    /// Whether a session waits until the socket accepts more bytes.
    static func wantsWrite(_ session: UnsafeMutableRawPointer) -> Bool {
        // 2 is `SSL_WRITING`.
        unsafe number("SSL_want", session) == 2
    }

    /// The settings of a session, with all loaded certificates; for further sessions.
    ///
    /// To load the system's takes some 20 ms of CPU, too much for each connection while a broker is down.
    @safe
    final class Context {
        let pointer: UnsafeMutableRawPointer

        /// Retains the settings of a session; nil if OpenSSL has no such functions.
        init?(of session: UnsafeMutableRawPointer) {
            typealias Call = @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?
            guard let symbol = unsafe dlsym(nil, "SSL_get_SSL_CTX"),
                let context = unsafe unsafeBitCast(symbol, to: Call.self)(session),
                unsafe OpenSSL.number("SSL_CTX_up_ref", context) == 1
            else { return nil }
            unsafe pointer = context
        }

        deinit {
            typealias Call = @convention(c) (UnsafeMutableRawPointer) -> Void
            if let free = unsafe dlsym(nil, "SSL_CTX_free") { unsafe unsafeBitCast(free, to: Call.self)(pointer) }
        }
    }
}
#endif
