// einsum: sums of products named by the labels of dims (numpy.einsum). Operands are contracted from left to right by
// dot_general; a label that no later operand and no result needs is summed as soon as it is met.
#include <algorithm>
#include <map>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

namespace {
using Labels = std::string;  // one character for each dim; the dims of an ellipsis are '\1', '\2', …

struct Term {
  ValueId value;
  Labels labels;
};

struct Einsum {
  ExpandCtx& c;
  std::vector<Labels> inputs;
  Labels output;
  std::map<char, std::int64_t> sizes;

  bool refuse(const std::string& what) {
    expected(c, "einsum", what);
    return false;
  }

  // "ij,jk->ik", spaces ignored.
  bool parse(std::string_view spec) {
    std::string text;
    std::ranges::copy_if(spec, std::back_inserter(text), [](char ch) { return ch != ' '; });
    const std::size_t arrow = text.find("->");
    const std::string left = text.substr(0, arrow);
    for (std::size_t begin = 0; begin <= left.size();) {
      const std::size_t end = std::min(left.find(',', begin), left.size());
      inputs.push_back(left.substr(begin, end - begin));
      begin = end + 1;
    }
    if (inputs.size() != c.in.size()) return refuse("as many operands as the spec has");
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (!expand_ellipsis(inputs[k], rank(c, k)) || !bind(k)) return false;
    output = arrow == text.npos ? implicit_output() : text.substr(arrow + 2);
    return expand_ellipsis(output, -1) && check_output();
  }

  // Writes the labels of "..." out: the last of them is '\1'. Of the result (rank < 0) it has as many as any operand.
  bool expand_ellipsis(Labels& labels, std::int64_t rank) {
    const std::size_t dots = labels.find("...");
    std::int64_t extra = widest;
    if (rank >= 0) extra = rank - static_cast<std::int64_t>(labels.size()) + (dots == labels.npos ? 0 : 3);
    if (dots != labels.npos && extra >= 0 && extra < 32) {
      Labels names;
      for (std::int64_t k = extra; k > 0; --k) names += static_cast<char>(k);
      labels.replace(dots, 3, names);
      widest = std::max(widest, extra);
    } else if (rank >= 0 && extra != 0) {
      return refuse("one label for each dim");
    }
    const bool good = std::ranges::all_of(
        labels, [](char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch > 0 && ch < 32); });
    return good || refuse("labels that are letters");
  }

  bool bind(std::size_t k) {
    const Shape d = dims(c, k);
    for (std::size_t j = 0; j < d.size(); ++j) {
      std::int64_t& size = sizes.try_emplace(inputs[k][j], d[j]).first->second;
      if (size == 1) size = d[j];
      if (d[j] != size && d[j] != 1) return refuse("equal sizes of dims with one label");
    }
    return true;
  }

  // Without "->": the ellipsis, then the labels that appear once, in alphabetical order.
  Labels implicit_output() const {
    std::map<char, int> count;
    for (const Labels& l : inputs)
      for (char ch : l) ++count[ch];
    Labels letters, dots = widest > 0 ? "..." : "";
    for (const auto& [ch, n] : count)
      if (ch >= 32 && n == 1) letters += ch;
    return dots + letters;
  }

  bool check_output() {
    Labels sorted = output;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return refuse("distinct labels of the result");
    const bool known = std::ranges::all_of(output, [&](char ch) { return sizes.contains(ch); });
    return known || refuse("labels of the result that operands have");
  }

  std::int64_t widest = 0;

  bool needed_later(char ch, std::size_t after) const {
    if (output.find(ch) != output.npos) return true;
    for (std::size_t k = after; k < inputs.size(); ++k)
      if (inputs[k].find(ch) != Labels::npos) return true;
    return false;
  }

  // Operand k with distinct labels: dims of size 1 that broadcast are dropped, repeated labels become their diagonal.
  Term operand(std::size_t k) {
    Term t{c.in[k], {}};
    Shape kept;
    const Shape d = dims(c, k);
    for (std::size_t j = 0; j < d.size(); ++j) {
      if (d[j] != sizes[inputs[k][j]]) continue;
      kept.push_back(d[j]);
      t.labels += inputs[k][j];
    }
    t.value = reshape(c.b, t.value, kept);
    for (std::size_t j = 0; j < t.labels.size();) {
      const std::size_t again = t.labels.find(t.labels[j], j + 1);
      if (again == Labels::npos)
        ++j;
      else
        take_diagonal(t, j, again);
    }
    return t;
  }

  void take_diagonal(Term& t, std::size_t a, std::size_t z) {
    const char label = t.labels[a];
    const AttrId where = attrs(c).dict(
        {{Key::offset, 0}, {Key::axis1, static_cast<std::int64_t>(a)}, {Key::axis2, static_cast<std::int64_t>(z)}});
    ExpandCtx inner{c.b, {&t.value, 1}, where};
    const Values v = c.b.failed() ? Values{} : find_core("diagonal")->expand(inner);
    t.value = v.empty() ? kNoValue : v[0];
    t.labels.erase(z, 1);
    t.labels.erase(a, 1);
    t.labels += label;
  }

  // Sums the labels that only this term still has.
  void sum_alone(Term& t, std::size_t after, const Labels& partner) {
    Shape axes;
    Labels kept;
    for (std::size_t j = 0; j < t.labels.size(); ++j) {
      const bool keep = needed_later(t.labels[j], after) || partner.find(t.labels[j]) != Labels::npos;
      if (keep)
        kept += t.labels[j];
      else
        axes.push_back(static_cast<std::int64_t>(j));
    }
    if (!axes.empty() && t.value != kNoValue) t.value = c.b.emit(Op::reduce_sum, {t.value}, {{Key::axes, Ints(axes)}});
    t.labels = kept;
  }

  Term contract(const Term& x, const Term& y, std::size_t after) {
    Shape xb, yb, xc, yc;
    Labels batch, free;
    for (std::size_t j = 0; j < x.labels.size(); ++j) {
      const char label = x.labels[j];
      const std::size_t other = y.labels.find(label);
      if (other == Labels::npos) {
        free += label;
      } else if (needed_later(label, after)) {
        batch += label;
        xb.push_back(static_cast<std::int64_t>(j)), yb.push_back(static_cast<std::int64_t>(other));
      } else {
        xc.push_back(static_cast<std::int64_t>(j)), yc.push_back(static_cast<std::int64_t>(other));
      }
    }
    for (char label : y.labels)
      if (x.labels.find(label) == Labels::npos) free += label;
    if (c.b.failed()) return {kNoValue, batch + free};
    AttrTable& at = attrs(c);
    const AttrId both[] = {at.ints(xb), at.ints(yb)}, summed[] = {at.ints(xc), at.ints(yc)};
    const ValueId v =
        c.b.emit(Op::dot_general, {x.value, y.value}, {{Key::batch, at.list(both)}, {Key::contract, at.list(summed)}});
    return {v, batch + free};
  }

  // Dims in the order of the result; a label whose only operands were broadcast away is broadcast back.
  ValueId arrange(const Term& t) {
    Shape perm, thin, shape;
    for (char ch : output) {
      const std::size_t j = t.labels.find(ch);
      if (j != Labels::npos) perm.push_back(static_cast<std::int64_t>(j));
      thin.push_back(j == Labels::npos ? 1 : sizes[ch]);
      shape.push_back(sizes[ch]);
    }
    return broadcast(c.b, reshape(c.b, transpose(c.b, t.value, perm), thin), shape);
  }
};
}  // namespace

Values expand_einsum(ExpandCtx& c) {
  Einsum e{c, {}, {}, {}};
  if (c.in.empty()) return expected(c, "einsum", "at least one operand");
  if (!e.parse(attrs(c).get_str(c.attrs, Key::spec))) return {};
  Term t = e.operand(0);
  for (std::size_t k = 1; k < c.in.size(); ++k) {
    Term next = e.operand(k);
    e.sum_alone(t, k, {});
    e.sum_alone(next, k + 1, t.labels);
    t = e.contract(t, next, k + 1);
  }
  e.sum_alone(t, c.in.size(), {});
  return {e.arrange(t)};
}

}  // namespace tfvm
