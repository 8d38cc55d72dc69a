import Foundation
import Testing

@Suite("the rules that the target is built by")
struct HouseTests {
    @Test("no file imports Foundation or has unsafe code")
    func sources() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/KiiCloud")
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        let files = names.filter { $0.hasSuffix(".swift") }
        #expect(files.count > 10)
        for name in files {
            let text = try String(contentsOf: root.appending(path: name), encoding: .utf8)
            for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                #expect(!line.contains("import Foundation") && !line.contains("unsafe"), "\(name): \(line)")
                #expect(!line.contains("@unchecked"), "\(name): \(line)")
            }
        }
    }
}
