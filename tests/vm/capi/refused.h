#pragma once
// Operator new of this test program: it refuses when it is told to, and counts what is live. The allocator is for VMs,
// and refuses in the same count.

#include <tfvm.h>

namespace tfvm::testing {

// The next `count` allocations of this thread succeed, and no more; -1: all do. Gives whether one was refused since the
// last call.
bool refuse_after(long count);
long live_allocations();  // of all threads
tfvm_allocator refusing_allocator();

}  // namespace tfvm::testing
