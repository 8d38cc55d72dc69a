/// How much a guard holds at most, for one breaker and in all.
///
/// Beyond it the newest change of an object takes the place of an older one; what finds no place even so goes to the
/// dead letters. Of a message in a durable inbox too, the payload stays in memory while it is held: so the bytes are
/// the bound.
struct HeldBudget {
    var messagesPerKey = 16_384
    var messages = 32_768
    var bytesPerKey = 8 << 20
    var bytes = 16 << 20
}
