import Foundation
import KiiPush
import KiiPushDelivery
import Synchronization

/// Brings the files of a folder, by name, and removes each one when its payload is safe.
///
/// A name may be used again when its file is gone.
struct FolderTransport: PushTransport {
    let name = "folder"
    let abilities: TransportAbilities = [.acknowledges, .redelivers]
    let folder: String

    func run(_ intake: PushIntake) async throws {
        intake.report(.connected(folder))
        // The files whose payloads are only in memory, and have not ended.
        let open = Mutex<Set<String>>([])
        while !Task.isCancelled {
            // Before the folder is read: a file in it that ends meanwhile is removed, and must not be read again.
            let known = open.withLock { $0 }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            where !known.contains(name) {
                let file = URL(filePath: "\(folder)/\(name)")
                let bytes = [UInt8](try Data(contentsOf: file))
                let receipt = try await intake.submitWaiting(RawPayload(bytes, transport: "folder"))
                if receipt.isStored {
                    try FileManager.default.removeItem(at: file)
                    continue
                }
                open.withLock { _ = $0.insert(name) }
                // Waiting for the end here would keep the next files from being handled at the same time.
                receipt.onEnd { outcome in
                    // If it is to be tried later, or the service stopped first, the file stays, and comes again.
                    if let outcome, outcome.disposition != .retryLater {
                        try? FileManager.default.removeItem(at: file)
                    }
                    open.withLock { _ = $0.remove(name) }
                }
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
