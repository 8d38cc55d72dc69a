extension UInt8 {
    /// The byte as `%` and two hexadecimal digits, as forms and URLs escape it.
    package var percentEncoded: String {
        let digits = String(self, radix: 16, uppercase: true)
        return self < 16 ? "%0\(digits)" : "%\(digits)"
    }
}
