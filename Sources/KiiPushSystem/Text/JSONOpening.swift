extension [UInt8] {
    /// Whether it is only the beginning of a JSON text, as the first line of one that is printed over several lines.
    package var isOpeningOfJSON: Bool {
        let text = self.filter { $0 > 0x20 }
        return text == [UInt8(ascii: "{")] || text == [UInt8(ascii: "[")]
    }
}
