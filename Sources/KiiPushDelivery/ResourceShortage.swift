import KiiPush

/// An error of a handler that has done nothing, since the machine lacks what it needs: open files, memory, threads.
///
/// A ``PushService`` does not count the attempt. It runs the handler again after a pause, which grows from 100 ms to 10
/// s, for as long as nothing else fails, and tells no ``ServiceEvent/retry(messageID:route:attempt:pause:cause:)``:
/// whoever throws it says that there is a shortage, and when it is over. For a receiver without a service it is a
/// failure as any other.
public protocol ResourceShortage: Error {}
