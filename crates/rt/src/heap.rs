//! What a server asks of the allocator before it begins. Not an allocator.

/// Lets the heap keep a few megabytes between messages.
///
/// glibc gives memory back to the system whenever 128 KiB are free at the top of its heap, so that every message of 64 KiB would
/// fault its pages in anew: measured as half of the cost of such a call. Freeing one block that came straight from the system
/// raises that bound to twice its size. The block is never touched; other allocators only see an allocation.
pub fn keep_warm() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(8 << 20)));
}
