#pragma once
// A process that gets no executable memory but that of its libraries' files: what is asked for by mmap (shared or
// anonymous) or mprotect fails with EPERM.

#include <cerrno>
#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace tfvm::testing {

// The low half of a system call's argument.
constexpr unsigned low_half(unsigned k) {
  return static_cast<unsigned>(offsetof(seccomp_data, args)) + k * static_cast<unsigned>(sizeof(unsigned long long));
}

// For the rest of this process and those that it starts. False: no filter can be set.
inline bool deny_executable_memory() {
  constexpr unsigned kDenied = SECCOMP_RET_ERRNO | EPERM;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pkey_mprotect, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_half(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_half(3)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED | MAP_ANONYMOUS, 2, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_half(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kDenied),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(sizeof code / sizeof *code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace tfvm::testing
