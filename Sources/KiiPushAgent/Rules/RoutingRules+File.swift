import KiiPush
public import KiiPushRules
import KiiPushSystem

extension RoutingRules {
    /// Reads a rules file from disk.
    ///
    /// - Parameter path: the file's path; errors begin with it.
    /// - Throws: `ReadError` if the file cannot be read or exceeds 16 MiB; `RulesError` with every problem of it.
    public init(contentsOf path: String) throws {
        let bytes = try ByteReader(path: path).readAll(limit: RoutingRules.mostBytes)
        try self.init(bytes, file: EscapedText(path).description)
    }
}
