// A table: a core op, the types of its operands and its attributes -> result types, or a part of the error. Values are
// the business of the goldens.
#include <gtest/gtest.h>

#include "bytecode/expand/core.h"
#include "tests/bytecode/harness.h"

namespace tfvm {
namespace {

struct Case {
  std::string_view op, operands, attrs, results;
};

constexpr Case kCases[] = {
    {"floor_div", "f32[2,3] f32[3]", "", "f32[2,3]"},
    {"floor_div", "i64[2] i64", "", "i64[2]"},
    {"uniform", "u32[2]", "shape=[3] dtype=bf16", "bf16[3]"},
    {"uniform", "u32[5,2]", "shape=[3]", "f32[5,3]"},
    {"stack", "f32[2,3] f32[2,3]", "axis=-1", "f32[2,3,2]"},
    {"stack", "f32[2] f32[3]", "", "! [stack] expected operands of one shape, got f32[2], f32[3]"},
    {"split", "f32[5,2]", "sizes=[2,3]", "f32[2,2] f32[3,2]"},
    {"split", "f32[5,2]", "sizes=2", "f32[2,2] f32[2,2] f32[1,2]"},
    {"split", "f32[5,2]", "sizes=[2,2]", "! sizes that add up to 5"},
    {"chunk", "f32[7]", "n=3", "f32[3] f32[3] f32[1]"},
    {"chunk", "f32[0]", "n=2", "f32[0] f32[0]"},
    {"narrow", "f32[5]", "axis=0 start=-2 length=2", "f32[2]"},
    {"narrow", "f32[5]", "axis=0 start=4 length=2", "! start and length within size 5"},
    {"select", "f32[4,5]", "axis=1 index=-1", "f32[4]"},
    {"select", "f32[4,5]", "axis=1 index=5", "! an index within size 5"},
    {"select_scatter", "f32[4,5] f32[4]", "axis=1 index=2", "f32[4,5]"},
    {"slice_scatter", "f32[4,5] f32[2,5]", "axis=0 start=1 limit=-1", "f32[4,5]"},
    {"slice_scatter", "f32[5] f32[3]", "stride=2", "f32[5]"},
    {"as_strided_scatter", "f32[3,3] f32[2,2]", "shape=[2,2] strides=[3,1] offset=1", "f32[3,3]"},
    {"as_strided_scatter", "f32[3] f32[2,2]", "shape=[2,2] strides=[3,1]", "! places within the storage"},
    {"squeeze", "f32[1,3,1]", "", "f32[3]"},
    {"squeeze", "f32[1,3,1]", "axes=[-1]", "f32[1,3]"},
    {"squeeze", "f32[1,3,1]", "axes=1", "! size 1 at axis 1"},
    {"unsqueeze", "f32[3]", "axis=-1", "f32[3,1]"},
    {"flatten", "f32[2,3,4]", "start=1", "f32[2,12]"},
    {"flatten", "f32", "", "f32[1]"},
    {"expand", "f32[2,1]", "shape=[4,-1,3]", "f32[4,2,3]"},
    {"tile", "f32[2,3]", "reps=[2]", "f32[2,6]"},
    {"tile", "f32[3]", "reps=[2,2]", "f32[2,6]"},
    {"repeat", "f32[2,3]", "repeats=2 axis=1", "f32[2,6]"},
    {"repeat", "f32[2,3]", "repeats=[1,0,2] axis=1", "f32[2,3]"},
    {"repeat", "f32[2,3]", "repeats=2", "f32[12]"},
    {"roll", "f32[2,3]", "shift=[1,-1] axis=[0,1]", "f32[2,3]"},
    {"roll", "f32[2,3]", "shift=1", "f32[2,3]"},
    {"rot90", "f32[2,3]", "", "f32[3,2]"},
    {"rot90", "f32[2,3]", "k=-2", "f32[2,3]"},
    {"movedim", "f32[2,3,4]", "source=[0] destination=[-1]", "f32[3,4,2]"},
    {"swapaxes", "f32[2,3,4]", "axis1=0 axis2=-1", "f32[4,3,2]"},
    {"t", "f32[2,3]", "", "f32[3,2]"},
    {"diagonal", "f32[2,3,4]", "axis1=1 axis2=2 offset=1", "f32[2,3]"},
    {"diagonal", "f32[2,3]", "offset=5", "f32[0]"},
    {"diagonal", "f32[2,3]", "offset=-9223372036854775807", "f32[0]"},
    {"diagonal_scatter", "f32[3,3] f32[2]", "offset=-1", "f32[3,3]"},
    {"diag", "f32[3]", "k=-1", "f32[4,4]"},
    {"diag", "f32[0]", "k=2", "f32[2,2]"},
    {"tril", "f32[2,3,3]", "", "f32[2,3,3]"},
    {"trace", "f32[3,3]", "", "f32"},
    {"meshgrid", "f32[2] f32[3]", "", "f32[2,3] f32[2,3]"},
    {"meshgrid", "f32[2] f32[3]", "indexing=\"xy\"", "f32[3,2] f32[3,2]"},
    {"linspace", "", "start=0 stop=1 n=5", "f32[5]"},
    {"arange", "", "stop=5", "i64[5]"},
    {"arange", "", "start=5 stop=0 step=-2 dtype=i32", "i32[3]"},
    {"arange", "", "start=0.5 stop=2", "f32[2]"},
    {"arange", "", "start=3 stop=0", "i64[0]"},
    {"arange", "", "stop=3 step=0", "! a step other than 0"},
    {"eye", "", "n=2 m=3 dtype=i32", "i32[2,3]"},
    {"one_hot", "i32[2]", "n=4", "f32[2,4]"},
    {"matmul", "f32[3] f32[3]", "", "f32"},
    {"matmul", "f32[2,3] f32[3]", "", "f32[2]"},
    {"matmul", "f32[3] f32[5,3,4]", "", "f32[5,4]"},
    {"matmul", "f32[2,3] f32[5,3,4]", "", "f32[5,2,4]"},
    {"matmul", "f32[5,2,3] f32[3,4]", "", "f32[5,2,4]"},
    {"matmul", "f32[5,1,2,3] f32[7,3,4]", "", "f32[5,7,2,4]"},
    {"matmul", "f32[2,3] f32[2,3]", "", "! [matmul] expected equal sizes of the last dim of x"},
    {"outer", "f32[2,2] f32[3]", "", "f32[4,3]"},
    {"bmm", "f32[2,3,4] f32[2,4,5]", "", "f32[2,3,5]"},
    {"linear", "f32[7,3] f32[4,3] f32[4]", "", "f32[7,4]"},
    {"linear", "f32[7,3] f32[4,3] f32[1]", "", "! [linear] expected b[out]"},
    {"einsum", "f32[2,3] f32[3,4]", "spec=\"ij,jk\"", "f32[2,4]"},
    {"einsum", "f32[2,3] f32[3,4] f32[4,5]", "spec=\"ij,jk,kl->li\"", "f32[5,2]"},
    {"einsum", "f32[3,3]", "spec=\"ii->i\"", "f32[3]"},
    {"einsum", "f32[3,3]", "spec=\"ii\"", "f32"},
    {"einsum", "f32[5,7,2,3] f32[7,3,4]", "spec=\"...ij,...jk->...ik\"", "f32[5,7,2,4]"},
    {"einsum", "f32[2,1] f32[3,4]", "spec=\"ij,jk->ijk\"", "f32[2,3,4]"},
    {"einsum", "f32[2,3] f32[4,5]", "spec=\"ij,jk->ik\"", "! equal sizes of dims with one label"},
    {"einsum", "f32[2,3]", "spec=\"ij->iik\"", "! distinct labels of the result"},
    {"einsum", "f32[2,3]", "spec=\"i->i\"", "! one label for each dim"},
    {"conv2d", "f32[1,4,5,5] f32[6,2,3,3] f32[6]", "strides=[1,2] padding=[1,1] groups=2", "f32[1,6,5,3]"},
    {"conv_transpose2d", "f32[1,2,3,3] f32[2,4,2,2]", "strides=[2,2]", "f32[1,4,6,6]"},
    {"max_pool2d", "f32[1,2,4,4]", "window=[2,2]", "f32[1,2,2,2]"},
    {"avg_pool2d", "f32[1,2,4,4]", "window=[2,2] padding=[1,1]", "f32[1,2,3,3]"},
    {"adaptive_avg_pool2d", "f32[1,2,5,7]", "output=[2,3]", "f32[1,2,2,3]"},
};

TEST(Expand, Table) {
  for (const Case& k : kCases) {
    SCOPED_TRACE(std::string(k.op) + " " + std::string(k.operands) + " {" + std::string(k.attrs) + "}");
    Tables t;
    Builder b(t, {});
    std::vector<ValueId> in;
    for (TypeId type : test::types(t, k.operands)) in.push_back(b.param(type));
    const CoreRow* row = find_core(k.op);
    ASSERT_TRUE(row);
    const Result<AttrId> attrs = complete_attrs(t, row->name, row->attrs, test::attrs(t, k.attrs));
    ASSERT_TRUE(attrs) << attrs.error().message;
    ExpandCtx c{b, in, *attrs};
    const std::vector<ValueId> out = row->expand(c);
    if (k.results.starts_with("! ")) {
      ASSERT_TRUE(b.failed()) << "no error";
      EXPECT_NE(b.error().message.find(k.results.substr(2)), std::string::npos) << b.error().message;
      continue;
    }
    ASSERT_FALSE(b.failed()) << b.error().message;
    std::vector<TypeId> types;
    for (ValueId v : out) types.push_back(b.type(v));
    EXPECT_EQ(test::text(t, types), k.results);
  }
}

}  // namespace
}  // namespace tfvm
