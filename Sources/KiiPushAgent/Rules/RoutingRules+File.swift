import KiiPush
public import KiiPushRules
import KiiPushSystem

extension RoutingRules {
    /// Reads a rules file from disk.
    ///
    /// - Parameters:
    ///   - path: the file's path; errors begin with it.
    ///   - params: the values of this device for the parameters that the file declares.
    /// - Throws: `ReadError` if the file cannot be read or exceeds 16 MiB; `RulesError` with every problem of it.
    public init(contentsOf path: String, params: ParameterValues = [:]) throws {
        let bytes = try ByteReader(path: path).readAll(limit: RoutingRules.mostBytes)
        try self.init(bytes, file: EscapedText(path).description, params: params)
    }
}

extension ParameterValues {
    /// Reads a file of values from disk: one JSON object, such as `{"thing": "th.7", "limit": 21}`.
    ///
    /// - Parameter path: the file's path; errors begin with it.
    /// - Throws: `ReadError` if the file cannot be read or exceeds 1 MiB; `RulesError` with every problem of it.
    public init(contentsOf path: String) throws {
        let bytes = try ByteReader(path: path).readAll(limit: ParameterValues.mostBytes)
        try self.init(bytes, file: EscapedText(path).description)
    }
}
