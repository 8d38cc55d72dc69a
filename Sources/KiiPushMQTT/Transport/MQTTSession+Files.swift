#if MQTT
import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem

extension MQTTSession {
    /// Ends a connection whose files have changed, with a disconnect packet, so that the next one uses them.
    ///
    /// Waits while acknowledgements wait for messages to end, since the broker would send those again. The current
    /// connection works until then.
    func renewIfChanged(_ link: borrowing MosquittoClient) throws(End) {
        switch fileLook.look() {
        case .failure(let error): intake.report(.ignored("\(error); the link stays as it is"))
        case .success(let isToRenew):
            guard isToRenew, subscribedAt != nil, maySend else { return }
            leave(link)
            throw .renewed
        }
    }

    /// The file that is there from a connection without its session until that was reported.
    var lossFile: String? { settings.retainedFile.map { "\($0).lost" } }

    /// Remembers, over a restart too, whether a lost session is yet to be reported: the next connection finds the
    /// session that this one has made.
    func remember(isSessionLost isLost: Bool) {
        isSessionLost = isLost
        // The others report each connection.
        guard let lossFile, !settings.cleanSession, settings.version != .v31 else { return }
        guard isLost else {
            unsafe unlink(lossFile)
            return
        }
        do throws(ErrorNumber) { try replaceFile(lossFile, with: "") } catch {
            intake.report(.ignored("\(lossFile) cannot be written: \(error); a restart would forget a lost session"))
        }
    }
}
#endif
