/// Uses what lies below it, as it may.
struct Upper {
    var lower: [Lower]
}
