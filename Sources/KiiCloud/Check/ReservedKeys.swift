import KiiPush

/// The keys that data may not use if FCM is enabled, from the lists for FCM and GCM in Kii's REST reference.
enum ReservedKeys {
    private static let names: Set<String> = [
        "from", "registration_ids", "collapse_key", "data", "delay_while_idle", "time_to_live",
        "restricted_package_name", "dry_run", "message_type", "priority", "ttl", "notification", "fcm_options",
        "direct_boot_ok",
    ]

    private static let longest = 24

    /// Whether FCM reserves a key.
    static func isReserved(_ key: String) -> Bool {
        // No reserved key is longer: hashing a long key from untrusted input may be slow.
        key.utf8.count <= longest && names.contains(key) || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }
}
