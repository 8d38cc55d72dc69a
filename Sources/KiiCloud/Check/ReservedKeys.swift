import KiiPush

/// The keys that a sender's data may not have where FCM is on, as Kii's REST reference lists them for FCM and for GCM.
enum ReservedKeys {
    private static let names: Set<String> = [
        "from", "registration_ids", "collapse_key", "data", "delay_while_idle", "time_to_live",
        "restricted_package_name", "dry_run", "message_type", "priority", "ttl", "notification", "fcm_options",
        "direct_boot_ok",
    ]

    private static let longest = 24

    /// Whether FCM keeps a key for itself.
    static func isReserved(_ key: String) -> Bool {
        // No longer one is: to hash what a stranger wrote may take long.
        key.utf8.count <= longest && names.contains(key) || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }
}
