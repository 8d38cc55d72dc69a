import CLibrary

/// A directory that the system watches.
package struct DirectoryWatch {
    package let number: Int32
    package let path: String
    package let stamp: FileStamp
    /// Whether it is the file's own directory, not one above.
    package let isOwn: Bool

    private static let itself = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR

    /// The events of a file's own directory; a created file counts when it has been written.
    package static let fileEvents = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ATTRIB | itself)

    /// The events of a directory above, in which the next one may appear.
    package static let directoryEvents = UInt32(IN_CREATE | IN_MOVED_TO | itself)
}

package struct DirectoryEvent {
    private let watch: Int32
    private let mask: UInt32
    private let name: ArraySlice<UInt8>

    /// The events of one `read` call, which returns only whole ones.
    package static func all(in bytes: ArraySlice<UInt8>) -> [DirectoryEvent] {
        var events: [DirectoryEvent] = []
        var rest = bytes
        while rest.count >= 16 {
            let length = Int(number(rest, 12))
            let name = rest.dropFirst(16).prefix(length)
            events.append(
                DirectoryEvent(
                    watch: Int32(bitPattern: number(rest, 0)), mask: number(rest, 4), name: name.prefix { $0 != 0 }))
            rest = rest.dropFirst(16 + length)
        }
        return events
    }

    /// The number of four bytes, in the machine's own order.
    private static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        let four = bytes.dropFirst(offset).prefix(4)
        return UInt32(littleEndian: four.reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// Whether it may concern a file of this name in the file's own directory; after lost events, it may.
    package func tells(of fileName: [UInt8], in watched: DirectoryWatch?) -> Bool {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        return watch == watched?.number && watched?.isOwn == true && name.elementsEqual(fileName)
    }

    /// Whether the watch is lost, or its directory has been moved.
    package func ends(_ watched: DirectoryWatch?) -> Bool {
        watch == watched?.number && mask & UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT) != 0
    }
}
