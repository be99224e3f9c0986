#include "tools/tfasm/threads.h"

#include <tfvm/tbb.h>

namespace tfvm::tool {

void add_threads(const Command& cmd, std::size_t& threads) {
  cmd.option("--threads", threads, "Threads that share large loop nests, which changes no bits; default 1")
      .between(1, 1024);
}

Status use_threads(Context& context, std::size_t threads) {
  if (threads <= 1) return ok();
  const tfvm_executor e = tfvm_tbb_executor(threads);
  if (!e.run)
    return Error(Code::Unsupported, "this build has no threads: install libtbb-dev, and build with TFVM_TBB=ON");
  context.jobs = {e.run, e.user, e.width};
  return ok();
}

}  // namespace tfvm::tool
