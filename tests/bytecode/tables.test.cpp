// Hash-consing: equal content has one id, content is compared, spans stay valid.
#include "bytecode/tables.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tfvm {
namespace {

TEST(Types, EqualTypesAreOneId) {
  Tables t;
  const TypeId a = t.types.tensor(DType::F32, {2, 3});
  EXPECT_EQ(a, t.types.tensor(DType::F32, {2, 3}));
  EXPECT_NE(a, t.types.tensor(DType::F64, {2, 3}));
  EXPECT_NE(a, t.types.tensor(DType::F32, {3, 2}));
  EXPECT_NE(t.types.scalar(DType::F32), t.types.tensor(DType::F32, {1}));
  EXPECT_EQ(t.types.text(a), "f32[2,3]");
  EXPECT_EQ(t.types.text(t.types.scalar(DType::Bool)), "bool");
}

TEST(Types, SpansStayValidWhileTheTableGrows) {
  Tables t;
  const Dims dims = t.types.dims(t.types.tensor(DType::F32, {7, 8}));
  for (std::int64_t k = 0; k < 10000; ++k) t.types.tensor(DType::F32, {k});
  EXPECT_EQ(dims[0], 7);
  EXPECT_EQ(dims[1], 8);
}

TEST(Types, ElementCountsThatOverflowAreRefused) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_FALSE(checked_elements(std::vector<std::int64_t>{big, big}));
  EXPECT_FALSE(checked_elements(std::vector<std::int64_t>{-1}));
  EXPECT_EQ(checked_elements(std::vector<std::int64_t>{0, 5}), 0);
}

TEST(Attrs, ListsOfIntegersAreInts) {
  Tables t;
  const AttrId one = t.attrs.of(std::int64_t{1}), two = t.attrs.of(std::int64_t{2});
  const AttrId both[] = {one, two};
  const std::int64_t plain[] = {1, 2};
  EXPECT_EQ(t.attrs.list(both), t.attrs.ints(plain));
  EXPECT_NE(t.attrs.of(1.0), one);
  EXPECT_NE(t.attrs.of(true), one);
  EXPECT_NE(t.attrs.of(0.0), t.attrs.of(-0.0));
}

TEST(Attrs, WithSetsOneEntry) {
  Tables t;
  const AttrId d = t.attrs.dict({{Key::axis, 1}, {Key::mode, "clip"}});
  const AttrId e = t.attrs.with(d, Key::axis, t.attrs.of(std::int64_t{2}));
  EXPECT_EQ(t.attrs.get_int(e, Key::axis), 2);
  EXPECT_EQ(t.attrs.get_str(e, Key::mode), "clip");
  EXPECT_EQ(t.attrs.with(e, Key::axis, t.attrs.of(std::int64_t{1})), d);
  EXPECT_FALSE(t.attrs.has(d, Key::axes));
}

TEST(Consts, AreToldApartByBits) {
  Tables t;
  EXPECT_EQ(t.consts.scalar(DType::F32, 0.1), t.consts.scalar(DType::F32, 0.1));
  EXPECT_NE(t.consts.scalar(DType::F32, 0.0), t.consts.scalar(DType::F32, -0.0));
  EXPECT_NE(t.consts.scalar(DType::F32, 1), t.consts.scalar_int(DType::I32, 1));
}

TEST(Consts, StoresSaturateAndRoundOnce) {
  Tables t;
  EXPECT_EQ(t.consts.as_int(t.consts.scalar(DType::I8, 300.0)), 127);
  EXPECT_EQ(t.consts.as_int(t.consts.scalar(DType::U8, -5.0)), 0);
  EXPECT_EQ(t.consts.as_int(t.consts.scalar(DType::I64, 1e30)), INT64_MAX);
  EXPECT_EQ(t.consts.as_int(t.consts.scalar(DType::I32, NAN)), 0);
  EXPECT_EQ(t.consts.as_int(t.consts.scalar_int(DType::U8, 257)), 1);
  EXPECT_EQ(t.consts.as_double(t.consts.scalar(DType::F16, 65520.0)), INFINITY);
}

TEST(Consts, SplatsAreSeen) {
  Tables t;
  const std::byte same[4] = {}, other[4] = {std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
  EXPECT_TRUE(t.consts.is_splat(t.consts.intern(t.types.tensor(DType::U8, {4}), same)));
  EXPECT_FALSE(t.consts.is_splat(t.consts.intern(t.types.tensor(DType::U8, {4}), other)));
  EXPECT_FALSE(t.consts.is_splat(t.consts.intern(t.types.tensor(DType::U8, {0}), {})));
}

TEST(Strings, KeysComeFirst) {
  StringTable s;
  EXPECT_EQ(s.key("axes"), Key::axes);
  EXPECT_EQ(s[Key::else_], "else");
  EXPECT_EQ(s.find("never interned"), kNone<StrId>);
  const StrId mine = s.intern("mine");
  EXPECT_EQ(s.find("mine"), mine);
}

}  // namespace
}  // namespace tfvm
