#if MQTT || HTTP
/// Prevents the cleanup of a loaded OpenSSL at process exit: a thread that nobody waits for may still use it, and would
/// crash.
package func preventOpenSSLCleanup() {
    typealias Call = @convention(c) (UInt64, OpaquePointer?) -> Int32
    // `OPENSSL_INIT_NO_ATEXIT`, which must be set by the first call; without settings.
    guard let symbol = unsafe dlsym(nil, "OPENSSL_init_crypto") else { return }
    _ = unsafe unsafeBitCast(symbol, to: Call.self)(0x0008_0000, nil)
}
#endif
