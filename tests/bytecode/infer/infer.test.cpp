// A table: an op, the types of its operands and its attributes as given -> the result types and what the attributes are
// normalised to, or a part of the error.
#include "bytecode/infer/infer.h"

#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "tests/bytecode/harness.h"

namespace tfvm {
namespace {

struct Case {
  std::string_view op, operands, attrs;
  std::string_view results;      // or "! part of the message"
  std::string_view normal = {};  // attributes that must come out so
};

constexpr Case kElementwise[] = {
    {"add", "f32[2,3] f32[3]", "", "f32[2,3]"},
    {"add", "f32[2,1] f32[1,3]", "", "f32[2,3]"},
    {"add", "f32[0,3] f32[1]", "", "f32[0,3]"},
    {"add", "f32[2] f32[3]", "", "! [add] got f32[2], f32[3]"},
    {"add", "f32[2] f64[2]", "", "! use cast"},
    {"lt", "i32[2] i32", "", "bool[2]"},
    {"lt", "c64 c64", "", "! [lt] expected a dtype with an order, got c64, c64"},
    {"eq", "c64[2] c64", "", "bool[2]"},
    {"isnan", "f16[3]", "", "bool[3]"},
    {"abs", "c128[2]", "", "f64[2]"},
    {"select", "bool[3] f32[2,1] f32", "", "f32[2,3]"},
    {"cast", "f32[3]", "dtype=i8", "i8[3]"},
    {"cast", "c64[3]", "dtype=f32", "! use real or imag"},
    {"bitcast", "f32[3]", "dtype=u32", "u32[3]"},
    {"bitcast", "f32[3]", "dtype=f64", "! [bitcast] expected a dtype of equal size (and not bool), got f64 for f32[3]"},
};

constexpr Case kShape[] = {
    {"reshape", "f32[2,3]", "shape=[-1,2]", "f32[3,2]", "shape=[3,2]"},
    {"reshape", "f32[2,3]", "shape=[4]", "! [reshape] expected a shape of 6 elements, got shape=[4] for f32[2,3]"},
    {"reshape", "f32[0,3]", "shape=[-1,0]", "! expected a shape of 0 elements"},
    {"reshape", "f32", "shape=[]", "f32"},
    {"broadcast_to", "f32[3]", "shape=[2,3]", "f32[2,3]"},
    {"broadcast_to", "f32[3]", "shape=[3,2]", "! [broadcast_to] expected a shape that f32[3] broadcasts to"},
    {"broadcast_to", "f32[3]", "shape=[-1]", "! broadcasts to"},
    {"broadcast_to", "f32", "shape=[4611686018427387904,4]", "! fits into memory"},
    {"transpose", "f32[2,3,4]", "", "f32[4,3,2]", "perm=[2,1,0]"},
    {"transpose", "f32[2,3,4]", "perm=[-1,0,1]", "f32[4,2,3]", "perm=[2,0,1]"},
    {"transpose", "f32[2,3]", "perm=[0,0]", "! distinct perm"},
    {"transpose", "f32[2,3]", "perm=[0]", "! expected perm with 2 entries, got [0] for f32[2,3]"},
    {"slice", "f32[5]", "start=[1] limit=[4]", "f32[3]", "stride=[1]"},
    {"slice", "f32[5]", "start=[0] limit=[5] stride=[2]", "f32[3]"},
    {"slice", "f32[5]", "start=[3] limit=[2]", "! expected 0 <= start <= limit <= size"},
    {"slice", "f32[5]", "start=[0] limit=[6]", "! got start=[0], limit=[6] for f32[5]"},
    {"slice", "f32[5]", "start=[0] limit=[5] stride=[0]", "! expected stride of at least 1"},
    {"pad", "f32[3] f32", "low=[1] high=[-1] interior=[2]", "f32[7]"},
    {"pad", "f32[0] f32", "low=[1] high=[0] interior=[5]", "f32[1]"},
    {"pad", "f32[3] f32", "low=[-4] high=[0]", "! expected a padded size of at least 0"},
    {"pad", "f32[3] f32", "low=[9223372036854775807] high=[1]", "! padded size"},
    {"pad", "f32[3] f32", "low=[0] high=[0] interior=[9223372036854775807]", "! padded size"},
    {"pad", "f32[3] f32[1]", "low=[0] high=[0]", "! a scalar value"},
    {"concat", "f32[2,3] f32[2,1]", "axis=-1", "f32[2,4]", "axis=1"},
    {"concat", "f32[2,3] f32[3]", "axis=0", "! [concat] expected shapes equal in all dims but axis 0"},
    {"concat", "f32[2,3]", "axis=2", "! expected axis within rank 2, got 2 for f32[2,3]"},
    {"reverse", "f32[2,3]", "axes=[-1]", "f32[2,3]", "axes=[1]"},
    {"iota", "", "shape=[2,3] axis=1 dtype=f32", "f32[2,3]"},
    {"iota", "", "shape=[]", "! expected axis within rank 0"},
    {"full", "f64", "shape=[2]", "f64[2]"},
};

constexpr Case kReduce[] = {
    {"reduce_sum", "f32[2,3,4]", "axes=[-1,0]", "f32[3]", "axes=[0,2]"},
    {"reduce_sum", "f32[2,3]", "", "f32", "axes=[0,1]"},
    {"reduce_sum", "f32[2,3]", "axes=1 keepdims=true", "f32[2,1]"},
    {"reduce_sum", "f32[2,3]", "axes=[0,-2]",
     "! [reduce_sum] expected distinct axes within rank 2, got [0,-2] for f32[2,3]"},
    {"reduce_and", "f32[2]", "", "! bool or an integer dtype"},
    {"argmax", "f32[2,3]", "", "i64[2]", "axis=1"},
    {"argmax", "f32[2,0]", "", "! [argmax] expected at least one element along axis 1, got f32[2,0]"},
    {"cumsum", "f32[2,3]", "axis=-2", "f32[2,3]", "axis=0"},
    {"cumsum", "f32", "", "! within rank 0"},
    {"reduce_window", "f32[4,6]", "window=[2,3] strides=[2,1]", "f32[2,4]",
     "padding=[[0,0],[0,0]] base_dilation=[1,1]"},
    {"reduce_window", "f32[5]", "op=\"max\" window=[2] strides=[2] padding=[[1,0]] window_dilation=[2]", "f32[2]"},
    {"reduce_window", "f32[5]", "op=\"avg\" window=[2]", "! \"add\" or \"mul\" or \"max\" or \"min\", got \"avg\""},
    {"select_and_scatter_add", "f32[4] f32[2]", "window=[2] strides=[2]", "f32[4]"},
    {"select_and_scatter_add", "f32[4] f32[3]", "window=[2] strides=[2]", "! a source of the windows' shape [2]"},
};

constexpr Case kIndex[] = {
    {"dynamic_slice", "f32[4,5] i64 i64", "sizes=[2,5]", "f32[2,5]"},
    {"dynamic_slice", "f32[4,5] i64", "sizes=[2,5]", "! one scalar start for each dim"},
    {"dynamic_slice", "f32[4] i64", "sizes=[5]", "! expected sizes of at most the shape, got [5] for f32[4]"},
    {"dynamic_update_slice", "f32[4] f32[2] i32", "", "f32[4]"},
    {"dynamic_update_slice", "f32[4] f32[5] i32", "", "! an update that fits"},
    {"take", "f32[4,5] i64[2,3]", "axis=-1", "f32[4,2,3]", "axis=1"},
    {"take", "f32[4,5] i64", "axis=0", "f32[5]"},
    {"take", "f32[4] i64", "mode=\"wrap\"", "! \"error\" or \"clip\" or \"fill\", got \"wrap\""},
    {"take_along", "f32[4,5] i64[4,2]", "axis=1", "f32[4,2]"},
    {"take_along", "f32[4,5] i64[2]", "axis=1", "! indices of the first operand's shape in all dims but axis 1"},
    {"scatter_along", "f32[4] i64[6] f32[6]", "axis=0 combine=\"add\"", "f32[4]"},
    {"scatter_along", "f32[4] i64[6] f32[5]", "axis=0", "! updates of the indices' shape"},
    {"gather", "f32[5,3] i64[4,1]",
     "offset_dims=[1] collapsed_slice_dims=[0] start_index_map=[0] index_vector_dim=1 slice_sizes=[1,3]", "f32[4,3]"},
    {"gather", "f32[5,3] i64[2,4]",
     "offset_dims=[1,2] collapsed_slice_dims=[] start_index_map=[1,0] index_vector_dim=0 slice_sizes=[2,1]",
     "f32[4,2,1]"},
    {"gather", "f32[5,3] i64[4]",
     "offset_dims=[1] collapsed_slice_dims=[0] start_index_map=[0] index_vector_dim=1 slice_sizes=[1,3]", "f32[4,3]"},
    {"gather", "f32[5,3] i64[4,2]", "offset_dims=[1] collapsed_slice_dims=[0] start_index_map=[0] slice_sizes=[1,3]",
     "! index vectors of 1 entries"},
    {"gather", "f32[5,3] i64[4,1]", "offset_dims=[1] collapsed_slice_dims=[0] start_index_map=[0] slice_sizes=[2,3]",
     "! 1 in collapsed dims"},
    {"scatter", "f32[5,3] i64[4,1] f32[4,3]",
     "update_window_dims=[1] inserted_window_dims=[0] scatter_dims_to_operand_dims=[0] index_vector_dim=1", "f32[5,3]"},
    {"scatter", "f32[5,3] i64[4,1] f32[4,4]",
     "update_window_dims=[1] inserted_window_dims=[0] scatter_dims_to_operand_dims=[0] index_vector_dim=1",
     "! updates of shape [4] with windows of at most [3]"},
};

constexpr Case kOther[] = {
    {"sort", "f32[3] i64[3]", "axis=0 num_keys=2", "f32[3] i64[3]"},
    {"sort", "f32[3] i64[4]", "", "! operands of one shape"},
    {"argsort", "f32[3]", "", "i64[3]", "axis=0"},
    {"topk", "f32[2,5]", "k=3", "f32[2,3] i64[2,3]"},
    {"topk", "f32[2,5]", "k=6", "! expected k between 0 and the size 5, got 6 for f32[2,5]"},
    {"searchsorted", "f32[4] f32[2,3]", "", "i64[2,3]"},
    {"dot_general", "f32[2,3] f32[3,4]", "contract=[[1],[0]]", "f32[2,4]"},
    {"dot_general", "f32[7,2,3] f32[7,3,4]", "batch=[[0],[0]] contract=[[-1],[1]]", "f32[7,2,4]", "contract=[[2],[1]]"},
    {"dot_general", "f32[2,3] f32[4,5]", "contract=[[1],[0]]",
     "! [dot_general] expected equal sizes of the dims contract=[[1],[0]], got f32[2,3], f32[4,5]"},
    {"dot_general", "f32[2,3] f32[2,3]", "batch=[[0],[0]] contract=[[0],[0]]", "! distinct batch and contract dims"},
    {"conv", "f32[2,3,8] f32[4,3,3]", "strides=[2] padding=[[1,0]]", "f32[2,4,4]"},
    {"conv", "f32[2,4,8] f32[6,2,3]", "feature_groups=2", "f32[2,6,6]", "strides=[1] layout=\"channels_first\""},
    {"conv", "f32[2,8,3] f32[4,3,3]", "layout=\"channels_last\"", "f32[2,6,4]"},
    {"conv", "f32[2,3,8] f32[4,2,3]", "", "! channels of x = channels of w times feature_groups 1"},
    {"cholesky", "f32[2,3,3]", "", "f32[2,3,3]"},
    {"cholesky", "f32[2,3]", "", "! square matrices"},
    {"triangular_solve", "f32[3,3] f32[3,2]", "", "f32[3,2]"},
    {"lu", "f64[4,3]", "", "f64[4,3] i32[3]"},
    {"qr", "f64[4,3]", "full=true", "f64[4,4] f64[4,3]"},
    {"eigh", "c64[3,3]", "", "f32[3] c64[3,3]"},
    {"svd", "f32[4,3]", "", "f32[4,3] f32[3] f32[3,3]"},
    {"rng_bits", "u32[2]", "shape=[3]", "u32[3]"},
    {"rng_bits", "u32[5,2]", "shape=[3] dtype=u64", "u64[5,3]"},
    {"rng_bits", "u32[3]", "shape=[3]", "! a key u32[..,2]"},
    {"rng_split", "u32[2]", "n=4", "u32[4,2]"},
    {"rng_fold_in", "u32[2] i64[3]", "", "u32[3,2]"},
    {"assert", "bool", "", ""},
    {"optimization_barrier", "f32 i64[2]", "", "f32 i64[2]"},
    {"unfold", "f32[7,2]", "axis=0 size=3 step=2", "f32[3,2,3]"},
    {"view_dtype", "f32[4]", "dtype=f64", "f64[2]"},
    {"psum", "f32[2]", "axis_name=\"i\"", "f32[2]"},
    {"all_gather", "f32[2]", "axis_name=\"i\" axis_size=3", "f32[3,2]"},
    {"all_gather", "f32[2]", "axis_name=\"i\"", "! no vmap here has that name"},
};

// Builds the instruction in a function of its own, as a pass would.
void run(const Case& k) {
  SCOPED_TRACE(std::string(k.op) + " " + std::string(k.operands) + " {" + std::string(k.attrs) + "}");
  Tables t;
  Builder b(t, {nullptr, false});
  std::vector<ValueId> operands;
  for (TypeId type : test::types(t, k.operands)) operands.push_back(b.param(type));
  b.emit(*find_op(k.op), operands, test::attrs(t, k.attrs));
  if (k.results.starts_with("! ")) {
    ASSERT_TRUE(b.failed()) << "no error";
    EXPECT_NE(b.error().message.find(k.results.substr(2)), std::string::npos) << b.error().message;
    return;
  }
  ASSERT_FALSE(b.failed()) << b.error().message;
  const Instr in = b.body().instr(b.body().num_instrs() - 1);
  std::vector<TypeId> results;
  for (std::uint32_t r = 0; r < in.num_results; ++r) results.push_back(b.type(in.result(r)));
  EXPECT_EQ(test::text(t, results), k.results);
  const Attr normal = t.attrs[test::attrs(t, k.normal)];
  for (std::size_t i = 0; i < normal.keys.size(); ++i)
    EXPECT_EQ(t.attrs.get(in.attrs, normal.keys[i]), normal.items[i]) << t.strings[normal.keys[i]];
}

TEST(Infer, Elementwise) {
  for (const Case& k : kElementwise) run(k);
}
TEST(Infer, Shape) {
  for (const Case& k : kShape) run(k);
}
TEST(Infer, Reduce) {
  for (const Case& k : kReduce) run(k);
}
TEST(Infer, Index) {
  for (const Case& k : kIndex) run(k);
}
TEST(Infer, OtherFamilies) {
  for (const Case& k : kOther) run(k);
}

// Normalised attributes are a fixed point: a second run changes nothing.
TEST(Infer, NormalisesOnce) {
  for (std::span<const Case> table : {std::span<const Case>(kShape), std::span<const Case>(kReduce),
                                      std::span<const Case>(kIndex), std::span<const Case>(kOther)})
    for (const Case& k : table) {
      if (k.results.starts_with("!")) continue;
      Tables t;
      const std::vector<TypeId> in = test::types(t, k.operands);
      const OpInfo& row = info(*find_op(k.op));
      const Result<AttrId> given = complete_attrs(t, row.name, row.attrs, test::attrs(t, k.attrs));
      ASSERT_TRUE(given);
      std::vector<TypeId> first, second;
      InferCtx c{t, *find_op(k.op), in, *given, first, {}};
      ASSERT_TRUE(row.infer(c)) << k.op << c.error;
      InferCtx again{t, *find_op(k.op), in, c.attrs, second, {}};
      ASSERT_TRUE(row.infer(again)) << k.op << again.error;
      EXPECT_EQ(c.attrs, again.attrs) << k.op;
      EXPECT_EQ(first, second) << k.op;
    }
}

}  // namespace
}  // namespace tfvm
