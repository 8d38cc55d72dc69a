import CLibrary
import KiiPush
import KiiPushSystem
import Synchronization

/// A listening Unix socket at a path; removed when it is released.
struct SocketListener: ~Copyable {
    let descriptor: Int32
    private let path: String
    /// The file that it created, so that it removes no other.
    private let stamp: FileStamp

    /// Listens, with this mode from the start; at a path of any length if its clients can connect to that.
    ///
    /// Replaces the socket of an earlier process if it belongs to this user and nobody listens there. The new socket
    /// gets the path only when it listens, so that a client finds one of the two at any time.
    init(_ path: String, mode: mode_t, ofAnyLength: Bool = false) throws(SocketError) {
        guard ofAnyLength || UnixAddress(path: path) != nil else { throw .badPath(path) }
        let directory = try Self.openDirectory(of: path)
        // Locked until the check of an old socket and its removal are done, so that no other process interferes.
        defer { close(directory) }
        let beside = Self.besideName(of: path)
        guard let address = UnixAddress(ofAnyLength: path), let besideAddress = UnixAddress(ofAnyLength: beside) else {
            throw .badPath(path)
        }
        try Self.lock(directory, path)
        let socket = try Self.makeSocket(path)
        do throws(SocketError) {
            // Set before it has a path, so that it is never open to more users; the process's mask applies too.
            guard fchmod(socket, mode) == 0 else { throw .failed(path: path, .current) }
            try Self.checkStale(path, address)
            try Self.checkStale(beside, besideAddress)
            unsafe unlink(beside)
            guard unsafe besideAddress.withPointer({ unsafe bind(socket, $0, $1) }) == 0 else {
                throw .failed(path: path, .current)
            }
            var status = stat()
            // Only if the mask has restricted it, since older kernels need `/proc` for that. A link that the owner of
            // the directory may have put there is not followed.
            guard unsafe lstat(beside, &status) == 0,
                unsafe status.st_mode & 0o777 == mode || fchmodat(AT_FDCWD, beside, mode, AT_SYMLINK_NOFOLLOW) == 0,
                listen(socket, SOMAXCONN) == 0, unsafe rename(beside, path) == 0
            else {
                let error = ErrorNumber.current
                unsafe unlink(beside)
                throw .failed(path: path, error)
            }
        } catch {
            close(socket)
            throw error
        }
        descriptor = socket
        self.path = path
        stamp = FileStamp(path)
    }

    deinit {
        close(descriptor)
        guard let directory = try? Self.openDirectory(of: path) else { return }
        defer { close(directory) }
        guard (try? Self.lock(directory, path)) != nil, FileStamp(path).isSameFile(as: stamp) else { return }
        unsafe unlink(path)
    }

    /// Whether the path still names its socket, so that clients can connect.
    var isInPlace: Bool { FileStamp(path).isSameFile(as: stamp) }

    /// The next waiting client, non-blocking; nil if there is none; an error, as `EMFILE`, if none can be accepted.
    borrowing func acceptClient() throws(ErrorNumber) -> Int32? {
        try DescriptorLimit.checkReserve(descriptor)
        return try startingPrograms.withLock { _ throws(ErrorNumber) -> Int32? in
            let client = retrying { accept(descriptor, nil, nil) }
            guard client >= 0 else {
                let error = ErrorNumber.current
                // The client has already disconnected.
                if [EAGAIN, ECONNABORTED, EPROTO].contains(error.rawValue) { return nil }
                throw error
            }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            _ = fcntl(client, F_SETFL, O_NONBLOCK)
            return client
        }
    }

    // MARK: The path

    /// Makes a socket on which nothing blocks.
    static func makeSocket(_ path: String) throws(SocketError) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let made = socket(AF_UNIX, kind, 0)
        guard made >= 0 else { throw .failed(path: path, .current) }
        return made
    }

    /// Opens a socket's directory, if only its owner, who is this user or root, may write to it.
    ///
    /// Root may use any owner's, as the state directory of a service's user.
    private static func openDirectory(of path: String) throws(SocketError) -> Int32 {
        let directory = retrying { unsafe open(directoryName(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard directory >= 0 else { throw .failed(path: path, .current) }
        var status = stat()
        guard unsafe fstat(directory, &status) == 0, [status.st_uid, 0].contains(geteuid()) || status.st_uid == 0,
            status.st_mode & 0o022 == 0
        else {
            close(directory)
            throw .unsafeDirectory(path)
        }
        return directory
    }

    private static func lock(_ directory: Int32, _ path: String) throws(SocketError) {
        do throws(ErrorNumber) { try FileLock.lock(directory, limit: .seconds(5)) } catch {
            throw .failed(path: path, error)
        }
    }

    /// The path of a new socket before it listens: as long as the other, since the length of both is limited.
    private static func besideName(of path: String) -> String {
        guard let name = path.split(separator: "/").last, path.hasSuffix(name), let first = name.unicodeScalars.first
        else { return path }
        let replacement = String(repeating: first == "~" ? "=" : "~", count: String(first).utf8.count)
        return path.dropLast(name.count) + replacement + String(name.unicodeScalars.dropFirst())
    }

    /// Checks that a path is free, or that of a socket of this user, for root of any, on which nobody listens.
    private static func checkStale(_ path: String, _ address: UnixAddress) throws(SocketError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .failed(path: path, .current)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK, [status.st_uid, 0].contains(geteuid()) else { throw .occupied(path) }
        let probe = try makeSocket(path)
        defer { close(probe) }
        // A socket without a listener refuses; one with a full queue returns EAGAIN.
        guard unsafe address.withPointer({ unsafe connect(probe, $0, $1) }) != 0, errno == ECONNREFUSED else {
            throw .inUse(path)
        }
    }
}

/// The user at the other end of a Unix socket.
func peerUser(_ socket: Int32) -> uid_t? {
    // Glibc's `struct ucred`, which Swift does not import: process, user, group.
    var peer: (pid_t, uid_t, gid_t) = (0, 0, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: peer))
    guard unsafe getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0, size == 12 else { return nil }
    return peer.1
}
