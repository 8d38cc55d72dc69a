/// The most that a guard holds, for one breaker and in all.
///
/// Beyond it, the newest change of an object replaces an older one; a message that replaces none is dead-lettered. The
/// bytes are bounded because the payload of a held message stays in memory, even if a durable inbox has it.
struct HeldBudget {
    var messagesPerKey = 16_384
    var messages = 32_768
    var bytesPerKey = 8 << 20
    var bytes = 16 << 20
}
