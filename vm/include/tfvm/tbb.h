#pragma once
/* An executor on oneTBB's threads, in a library of its own: link libtfvm_tbb and libtbb beside libtfvm. */

#include <tfvm/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls in contexts with it run on up to `width` threads of TBB, the caller's among them; 0: as many as it has. It
   holds nothing and needs no release. In a build without oneTBB (TFVM_TBB=OFF) its `run` is NULL. */
tfvm_executor tfvm_tbb_executor(size_t width) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
