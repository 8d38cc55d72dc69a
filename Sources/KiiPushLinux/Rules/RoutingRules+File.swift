import KiiPush
public import KiiPushRules

extension RoutingRules {
    /// Reads a rules file from the disk.
    ///
    /// - Parameter path: the file's path; errors begin with it.
    /// - Throws: ``ReadError`` when the file cannot be read or has more than 16 MiB; `RulesError` with everything that
    ///   is wrong in it.
    public init(contentsOf path: String) throws {
        let bytes = try ByteReader(path: path).readAll(limit: RoutingRules.mostBytes)
        try self.init(bytes, file: EscapedText(path).description)
    }
}
