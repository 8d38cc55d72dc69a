/// An app at one of Kii's sites: what every request needs besides a token.
public struct KiiApp: Sendable, Hashable {
    /// The server's name.
    public let host: String
    /// The app's id.
    public let id: String
    /// The app's key.
    public let key: Secret

    /// Names an app.
    public init(_ site: KiiSite, id: String, key: Secret) {
        host = site.host
        self.id = id
        self.key = key
    }
}

/// A site of Kii's cloud.
public struct KiiSite: Sendable, Hashable {
    /// The server's name.
    public let host: String

    /// A server by name, without a scheme, such as a private cloud.
    public init(host: String) { self.host = host }

    /// The United States.
    public static let us = KiiSite(host: "api.kii.com")
    /// Japan.
    public static let jp = KiiSite(host: "api-jp.kii.com")
    /// Singapore.
    public static let sg = KiiSite(host: "api-sg.kii.com")
    /// Europe.
    public static let eu = KiiSite(host: "api-eu.kii.com")
}
