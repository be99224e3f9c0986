// no_exec COMMAND…: runs a command that gets no executable memory but that of its libraries' files. What is asked for
// by mmap (shared or anonymous) or mprotect fails with EPERM.
#include <cerrno>
#include <cstddef>
#include <cstdio>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

// The low half of a system call's argument.
constexpr unsigned arg(unsigned k) {
  return static_cast<unsigned>(offsetof(seccomp_data, args)) + k * static_cast<unsigned>(sizeof(unsigned long long));
}

bool deny_executable_memory() {
  constexpr unsigned kDenied = SECCOMP_RET_ERRNO | EPERM;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pkey_mprotect, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg(3)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED | MAP_ANONYMOUS, 2, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kDenied),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(sizeof code / sizeof *code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: no_exec COMMAND…\n", stderr);
    return 2;
  }
  if (!deny_executable_memory()) {
    std::perror("no_exec: no filter can be set");
    return 77;  // skipped
  }
  // The filter holds: else nothing is tested.
  if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
    std::fputs("no_exec: the filter lets executable memory pass\n", stderr);
    return 1;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 1;
}
