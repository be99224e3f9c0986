// Functions left on disk: another process has them at once, and whatever happens to the files, results are right.
// TFVM_DISK_MUTATIONS=N changes how many damaged entries are tried.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/cache/body_file.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = R"(
param @w: f32[4] = [1, -2, 0.5, 3]
func @wave(%x: f32[n]) {
  %a = sin %x
  %y = mul %a, %x
  ret %y
}
func @loss(%x: f32[n,4], %t: f32[n]) -> f32 {
  %p = dot %x, @w
  %l = mse_loss %p, %t
  ret %l
}
func @settle(%x: f64[n]) {
  %y, %k = while (%v = %x, %i = 0) {
    %c = lt %i, 9
    yield %c
  } do {
    %s = cos %v
    %j = add %i, 1
    yield %s, %j
  }
  %z = cumsum %y {axis=0}
  %q = sort %z
  ret %q
}
func @total(%x: f32[n]) {
  %y, %all = scan (%c = 0.0; %v = %x) {
    %d = mul %v, 0.5
    %e = add %c, %d
    yield %e; %d
  }
  ret %y, %all
}
func @pick(%x: f32[n], %i: i64) -> f32 {
  %z = take %x, %i
  ret %z
}
)";

std::int64_t mutations() {
  const char* n = std::getenv("TFVM_DISK_MUTATIONS");
  return n ? std::atoll(n) : 2000;
}

struct Folder {
  std::string path = (fs::temp_directory_path() / fmt::format("tfvm-disk-{}-{}", getpid(), rand())).string();
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> out;
    for (const auto& e : fs::directory_iterator(path)) out.push_back(e.path());
    std::ranges::sort(out);
    return out;
  }
};

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct Made {
  std::unique_ptr<VM> vm;
  Context context;

  explicit Made(const std::string& folder, std::string_view program = kProgram) {
    VmOptions o;
    o.cache.folder = folder;
    vm = *VM::create(o);
    EXPECT_TRUE(vm->load_text(program, "disk.tfa"));
  }
  std::string bits(std::string_view callee, const char* types) {
    Result<std::vector<ArgType>> args = vm->parse_args(types);
    EXPECT_TRUE(args);
    std::vector<Tensor> in;
    for (const ArgType& a : *args) {
      in.push_back(*Tensor::make(vm->budget(), a.dtype, a.dims));
      for (std::int64_t k = 0; k < in.back().elements(); ++k)
        store_element(a.dtype, static_cast<double>(k % 5) / 2, in.back().data() + k * size_of(a.dtype));
    }
    const Result<Function> f = vm->entry_for(callee, *args);
    EXPECT_TRUE(f) << (f ? "" : f.error().message);
    if (!f) return "";
    const auto out = vm->call(context, *f, std::span<const Tensor>(in));
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    std::string all;
    for (std::size_t k = 0; out && k < out->size(); ++k)
      all.append(reinterpret_cast<const char*>((*out)[k].data()), static_cast<std::size_t>((*out)[k].bytes()));
    return all;
  }
  std::string all() {
    return bits("@wave", "f32[5]") + bits("grad(@loss)", "f32[3,4], f32[3]") + bits("@settle", "f64[6]") +
           bits("@total", "f32[7]") + bits("vmap(grad(@loss, argnums=[1]), in_dims=[0, 0])", "f32[2,3,4], f32[2,3]");
  }
  CacheStats stats() { return vm->cache_stats(); }
};
constexpr std::int64_t kFunctions = 5;

TEST(DiskCache, AnotherProcessHasItAtOnce) {
  const Folder folder;
  Made first(folder.path), second(folder.path);
  const std::string bits = first.all();
  EXPECT_EQ(first.stats().disk_stores, kFunctions);
  EXPECT_EQ(first.stats().disk_misses, kFunctions);
  EXPECT_EQ(second.all(), bits);
  EXPECT_EQ(second.stats().disk_hits, kFunctions);
  EXPECT_EQ(second.stats().disk_stores, 0);
  // Not even for the params: the standard library stays where it is.
  const auto has_library = [](const Made& m) {
    return m.vm->tables().strings.find("stdlib/random.tfa") != kNone<StrId>;
  };
  EXPECT_TRUE(has_library(first));
  EXPECT_FALSE(has_library(second));
  EXPECT_EQ(second.vm->module().globals.size(), 1u);
  EXPECT_FALSE(has_library(second));
  EXPECT_EQ(Made("").all(), bits);
  struct stat st;
  ASSERT_EQ(stat(folder.path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  for (const fs::path& p : folder.entries()) {
    ASSERT_EQ(stat(p.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0600u);
  }
  EXPECT_EQ(DiskCache(folder.path).stats().entries, kFunctions);
  EXPECT_EQ(DiskCache(folder.path).clear(), kFunctions);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(DiskCache, AnotherProgramIsAMiss) {
  const Folder folder;
  Made first(folder.path);
  first.bits("@wave", "f32[5]");
  Made moved(folder.path, "\n" + std::string(kProgram)),
      other(folder.path, std::string(kProgram) + "\nfunc @f(%x: f32) { ret %x }");
  moved.bits("@wave", "f32[5]");
  other.bits("@wave", "f32[5]");
  EXPECT_EQ(moved.stats().disk_hits + other.stats().disk_hits, 0);
  Made same(folder.path);
  same.bits("@wave", "f32[6]");
  same.bits("wave", "f32[5]");
  EXPECT_EQ(same.stats().disk_hits, 0);
}

TEST(DiskCache, AnotherIsaIsAMiss) {
  const Folder folder;
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    VmOptions o;
    o.cache.folder = folder.path;
    o.tier = {.tier = Tier::Interp, .isa = isa};
    const auto vm = *VM::create(o);
    ASSERT_TRUE(vm->load_text(kProgram, "disk.tfa"));
    ASSERT_TRUE(vm->entry_for("@wave", {{DType::F32, {3}}}));
    EXPECT_EQ(vm->cache_stats().disk_hits, 0);
  }
}

void errors(const char* callee, std::vector<std::int64_t> indices, const char* note) {
  const Folder folder;
  for (int k = 0; k < 2; ++k) {
    Made m(folder.path);
    const Result<Function> f = m.vm->entry_for(callee, {{DType::F32, {3}}, {DType::I64, indices}});
    ASSERT_TRUE(f);
    EXPECT_EQ(m.stats().disk_hits, k);
    const std::vector<Tensor> in{*Tensor::make(nullptr, DType::F32, std::vector<std::int64_t>{3}),
                                 *Tensor::make(nullptr, DType::I64, indices)};
    std::fill_n(in[0].data(), in[0].bytes(), std::byte{0});
    std::fill_n(in[1].as<std::int64_t>(), in[1].elements(), 8);
    const auto out = m.vm->call(m.context, *f, std::span<const Tensor>(in));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().loc.line, 35u);
    EXPECT_EQ(out.error().notes, (std::vector<std::string>{note}));
  }
}
TEST(DiskCache, ErrorsHaveTheirLines) {
  errors("@pick", {}, "in @pick");
  errors("vmap(@pick, in_dims=[none, 0])", {2}, "in vmap(@pick)");
}

// Bits flipped, ends cut off, entries swapped: a miss each time.
TEST(DiskCache, DamageIsAMiss) {
  const Folder folder;
  const std::string bits = Made(folder.path).all();
  const std::vector<fs::path> files = folder.entries();
  ASSERT_EQ(std::ssize(files), kFunctions);
  std::vector<std::string> good;
  for (const fs::path& f : files) good.push_back(read(f));
  const DiskCache disk(folder.path);
  std::mt19937_64 random(7);
  const std::int64_t n = mutations();
  for (std::int64_t m = 0; m < n; ++m) {
    const std::size_t k = random() % files.size();
    std::string bytes = good[k];
    const std::uint64_t how = random() % 4;
    if (how == 0) {
      bytes.resize(random() % bytes.size());
    } else if (how == 1) {
      bytes = good[(k + 1 + random() % (files.size() - 1)) % files.size()];
    } else {
      for (std::uint64_t flips = 1 + (how == 3 ? random() % 8 : 0); flips > 0; --flips)
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
    if (bytes == good[k]) continue;
    std::vector<std::byte> key(8);  // the whole way with a VM now and then; of each, that it is seen as damaged
    std::uint64_t key_bytes;
    std::memcpy(&key_bytes, good[k].data() + 24, 8);
    key.resize(key_bytes);
    std::memcpy(key.data(), good[k].data() + 40, key_bytes);
    ASSERT_FALSE(DiskCache::unpack(std::as_bytes(std::span(bytes)), key)) << m;
    ASSERT_TRUE(DiskCache::unpack(std::as_bytes(std::span(good[k])), key));
    if (m % 100 != 0) continue;
    write(files[k], bytes);
    Made again(folder.path);
    ASSERT_EQ(again.all(), bits) << m;
    ASSERT_EQ(again.stats().disk_misses, 1) << m;
    ASSERT_EQ(read(files[k]), good[k]);  // it is written anew
  }
}

// Files that are whole, and hold any code at all: what is read is well-typed, and nothing faults.
TEST(DiskCache, HostileCodeIsReadSafely) {
  const Folder folder;
  Made(folder.path).all();
  std::vector<std::vector<std::byte>> values;
  for (const fs::path& f : folder.entries()) {
    const std::string bytes = read(f);
    std::uint64_t key_bytes;
    std::memcpy(&key_bytes, bytes.data() + 24, 8);
    const auto value = std::as_bytes(std::span(bytes)).subspan(40 + key_bytes);
    values.emplace_back(value.begin(), value.end());
  }
  std::mt19937_64 random(11);
  std::int64_t well_typed = 0;
  const std::int64_t n = mutations();
  std::unique_ptr<Tables> t;
  for (std::int64_t m = 0; m < n; ++m) {
    if (m % 500 == 0) t = std::make_unique<Tables>();
    std::vector<std::byte> bytes = values[random() % values.size()];
    for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      std::byte& b = bytes[random() % bytes.size()];
      b = random() % 2 ? static_cast<std::byte>(random()) : b ^ static_cast<std::byte>(1 << random() % 8);
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const Result<StoredFunction> f = read_function(*t, bytes);
    if (!f) continue;
    ++well_typed;
    PlanCache plans;
    const Result<PlanRef> plan = plans.get(*t, f->f);
    if (!plan || (*plan)->frame_bytes > (1 << 20)) continue;
    Context context;
    context.limits.steps = 1000;
    std::vector<Tensor> in;
    for (const ValueType& p : (*plan)->params) {
      if (p.bytes > 1 << 20 || p.is_tape) break;
      in.push_back(*Tensor::make(nullptr, p.dtype, p.dims));
      std::fill_n(in.back().data(), in.back().bytes(), std::byte{0});
    }
    for (const ValueType& r : (*plan)->results)
      if (r.bytes > 1 << 20) in.clear();
    if (in.size() == (*plan)->params.size()) (void)context.call(**plan, in);
  }
  EXPECT_GT(well_typed, n / 100);
}

int run_in_child(const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(DiskCache, TwoProcessesWriteAtOnce) {
  const Folder folder;
  const std::string bits = Made("").all();
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c) {
    const pid_t pid = fork();
    if (pid != 0) {
      children.push_back(pid);
      continue;
    }
    bool good = true;
    for (int k = 0; k < 20; ++k) {
      Made m(folder.path);
      good = good && m.all() == bits;
      if (k % 5 == 4) DiskCache(folder.path).clear();
    }
    _exit(good ? 0 : 1);
  }
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(Made(folder.path).all(), bits);
  for (const fs::path& p : folder.entries()) EXPECT_EQ(p.extension(), ".tfvm");
}

TEST(DiskCache, AFullDiskIsNoError) {
  const Folder folder;
  const std::string bits = Made("").all();
  EXPECT_EQ(run_in_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{100, 100};
              setrlimit(RLIMIT_FSIZE, &limit);
              Made m(folder.path);
              return m.all() == bits && m.stats().disk_stores == 0;
            }),
            0);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(DiskCache, FoldersThatAreNoneAreOff) {
  const std::string bits = Made("").all();
  const Folder folder;
  write(folder.path, "a file");
  EXPECT_EQ(Made(folder.path).all(), bits);
  fs::remove(folder.path);
  EXPECT_EQ(Made(folder.path + "/a/b").all(), bits);
  fs::create_directory(folder.path);
  fs::permissions(folder.path, fs::perms(0755));
  EXPECT_FALSE(DiskCache(folder.path).is_on());
  EXPECT_EQ(Made(folder.path).all(), bits);
  EXPECT_TRUE(folder.entries().empty());
  fs::permissions(folder.path, fs::perms(0500));
  EXPECT_EQ(Made(folder.path).all(), bits);
  fs::permissions(folder.path, fs::perms(0700));
  fs::create_directory_symlink(folder.path, folder.path + "-link");
  EXPECT_FALSE(DiskCache(folder.path + "-link").is_on());
  fs::remove(folder.path + "-link");
}

TEST(DiskCache, TheOldestGo) {
  const Folder folder;
  DiskCache disk(folder.path);
  ASSERT_TRUE(disk.is_on());
  for (std::uint32_t k = 0; k < DiskCache::kMost + 200; ++k)
    ASSERT_TRUE(disk.store(std::as_bytes(std::span(&k, 1)), std::as_bytes(std::span(&k, 1))));
  EXPECT_LE(disk.stats().entries, static_cast<std::int64_t>(DiskCache::kMost));
  EXPECT_GT(disk.stats().entries, static_cast<std::int64_t>(DiskCache::kMost / 2));
}

}  // namespace
}  // namespace tfvm
