// SPDX-License-Identifier: MIT
// Makes the mutants: text in, text out, a line at a time.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "tests/harness/mutation.hpp"

namespace wavejit::harness {
namespace {

constexpr std::array<std::string_view, 19> kind_names{
    "wait dropped",      "wait raised",        "barrier dropped", "nop dropped",
    "num_records grown", "num_records shrunk", "descriptor word", "memory offset",
    "LDS offset",        "shift swapped",      "op_sel",          "field width",
    "matrix operand",    "dot operand",        "byte select",     "lane exchange",
    "constant",          "operation",          "choice swapped"};

/// Instructions that are easily taken for each other; each stands for the other.
constexpr std::pair<std::string_view, std::string_view> confused[] = {
    {"v_add_f32", "v_sub_f32"},          {"v_add_nc_u32", "v_sub_nc_u32"}, {"v_add_u32", "v_sub_u32"},
    {"s_add_u32", "s_sub_u32"},          {"s_add_co_u32", "s_sub_co_u32"}, {"s_min_u32", "s_max_u32"},
    {"s_min_i32", "s_max_i32"},          {"v_max_f32", "v_min_f32"},       {"v_max_num_f32", "v_min_num_f32"},
    {"v_max3_f32", "v_min3_f32"},        {"v_and_b32", "v_or_b32"},        {"s_and_b32", "s_or_b32"},
    {"v_lshlrev_b32", "v_lshrrev_b32"},  {"s_lshl_b32", "s_lshr_b32"},     {"s_mul_i32", "s_mul_hi_u32"},
    {"s_cbranch_scc0", "s_cbranch_scc1"}};

constexpr bool is_one_of(std::string_view m, std::initializer_list<std::string_view> starts) {
  for (const std::string_view s : starts)
    if (m.starts_with(s)) return true;
  return false;
}

/// Bytes that one lane moves: 2, 4, 8 or 16 by the end of the name.
long access_bytes(std::string_view m) {
  const auto ends = [m](std::initializer_list<std::string_view> names) {
    for (const std::string_view n : names)
      if (m.ends_with(n)) return true;
    return false;
  };
  if (ends({"b128", "dwordx4"})) return 16;
  if (ends({"b64", "dwordx2"})) return 8;
  return ends({"b32", "dword"}) ? 4 : 2;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string_view mnemonic(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  line.remove_prefix(first);
  return line.substr(0, line.find_first_of(" \t;"));
}

std::optional<long> number_at(std::string_view line, std::size_t at, std::size_t* length) {
  long value = 0;
  const char* begin = line.data() + at;
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), value);
  if (error != std::errc{}) return std::nullopt;
  *length = static_cast<std::size_t>(end - begin);
  return value;
}

class Maker {
 public:
  explicit Maker(std::string_view assembly) : lines_(lines_of(assembly)) {}

  std::vector<Mutant> run() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const std::string_view m = mnemonic(lines_[at_]);
      if (m.empty() || m[0] == '.' || m[0] == ';') continue;
      if (m == "s_waitcnt" || m == "s_waitcnt_vscnt") wait();
      if (m.starts_with("s_wait_") && m != "s_wait_alu") split_wait();
      if (m.starts_with("s_barrier")) removed(MutationKind::barrier_dropped);
      if (m == "s_nop" || m == "s_waitcnt_depctr" || m == "s_wait_alu") removed(MutationKind::nop_dropped);
      if (is_one_of(m, {"ds_load", "ds_store", "ds_read", "ds_write"})) lds_offset();
      if (is_one_of(m, {"buffer_load", "buffer_store", "global_load", "global_store"})) memory_offset(m);
      if (m == "v_lshrrev_b32") shift();
      if (m == "v_dot2_bf16_bf16") half();
      if (m.starts_with("v_pk_") && m.ends_with("_f16")) packed_half();
      if (m == "v_bfe_u32") field();
      if (is_one_of(m, {"v_wmma", "v_mfma"})) operands();
      if (m.starts_with("v_dot")) dot_operand();
      if (is_one_of(m, {"v_cvt_f32_ubyte", "v_perm_b32"})) byte_select(m);
      if (lines_[at_].find("row_xmask:") != std::string::npos || m == "v_permlanex16_b32") lane_exchange(m);
      constant(m);
      operation(m);
      if (is_one_of(m, {"v_cndmask_b32", "s_cselect_b32"})) choice();
      if (m == "s_add_u32" || m == "s_add_co_u32") records();
    }
    return std::move(out_);
  }

 private:
  void add(MutationKind kind, std::string after) {
    Mutant m;
    m.kind = kind;
    m.line = at_ + 1;
    m.before = lines_[at_];
    m.after = std::move(after);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (i == at_ && m.after.empty()) continue;
      m.text += i == at_ ? m.after : lines_[i];
      m.text += '\n';
    }
    out_.push_back(std::move(m));
  }
  void removed(MutationKind kind) { add(kind, {}); }

  /// The line with `length` characters at `at` replaced.
  std::string replaced(std::size_t at, std::size_t length, const std::string& by) const {
    std::string s = lines_[at_];
    return s.replace(at, length, by);
  }

  void wait() {
    removed(MutationKind::wait_dropped);
    const std::string& line = lines_[at_];
    for (const std::string_view field : {"vmcnt(", "lgkmcnt(", "expcnt("}) {
      const std::size_t found = line.find(field);
      if (found == std::string::npos) continue;
      const std::size_t digits = found + field.size();
      std::size_t length = 0;
      if (const auto value = number_at(line, digits, &length))
        add(MutationKind::wait_raised, replaced(digits, length, std::to_string(*value + 1)));
    }
  }

  /// gfx12: one count, or a load or store count above the one of LDS.
  void split_wait() {
    removed(MutationKind::wait_dropped);
    const std::string& line = lines_[at_];
    const std::size_t name = line.find("s_wait_");
    const std::size_t digits = line.find(' ', name) + 1;
    std::size_t length = 0;
    const auto value = number_at(line, digits, &length);
    if (!value) return;
    const bool two =
        std::string_view(line).substr(name, digits - name).find("cnt_dscnt") != std::string_view::npos;
    for (const long step : {1L, 0x100L})
      if (step == 1 || two)
        add(MutationKind::wait_raised, replaced(digits, length, std::to_string(*value + step)));
  }

  void lds_offset() {
    const std::string& line = lines_[at_];
    const std::size_t found = line.find("offset:");
    if (found == std::string::npos) {
      const std::size_t end = std::min(line.find_first_of(";"), line.find_last_not_of(" \t") + 1);
      add(MutationKind::lds_offset, replaced(end, 0, " offset:4 "));
      return;
    }
    std::size_t length = 0;
    const auto value = number_at(line, found + 7, &length);
    if (!value) return;
    add(MutationKind::lds_offset, replaced(found + 7, length, std::to_string(*value + 4)));
    if (*value >= 4) add(MutationKind::lds_offset, replaced(found + 7, length, std::to_string(*value - 4)));
  }

  void shift() {
    const std::string& line = lines_[at_];
    const std::size_t comma = line.find(", ");
    std::size_t length = 0;
    const auto value = number_at(line, comma + 2, &length);
    // Other shifts by the same amounts are address arithmetic: exchanging them is as wrong.
    if (!value || (*value != 4 && *value != 8 && *value != 12)) return;
    add(MutationKind::shift_swapped,
        replaced(comma + 2, length, std::to_string(*value == 12 ? 4 : *value + 4)));
  }

  void half() {
    const std::string& line = lines_[at_];
    const std::string_view high = " op_sel:[0,0,0,1]";
    const std::size_t found = line.find(high);
    if (found != std::string::npos) {
      add(MutationKind::op_sel, replaced(found, high.size(), ""));
    } else {
      const std::size_t end = std::min(line.find(';'), line.find_last_not_of(" \t") + 1);
      add(MutationKind::op_sel, replaced(end, 0, std::string(high)));
    }
  }

  /// Drops what sends both results to one half of a source.
  void packed_half() {
    const std::string& line = lines_[at_];
    const std::size_t found = line.find(" op_sel");
    if (found == std::string::npos) return;
    add(MutationKind::op_sel, replaced(found, line.find(']', found) + 1 - found, ""));
  }

  void field() {
    const std::string& line = lines_[at_];
    const std::size_t end = std::min(line.find(';'), line.size());
    const std::size_t last = line.find_last_not_of(" \t", end - 1);
    if (last < 2 || line.substr(last - 2, 3) != ", 4") return;
    add(MutationKind::field_width, replaced(last, 1, "3"));
  }

  void operands() {
    const std::string& line = lines_[at_];
    unsigned operand = 0;
    for (std::size_t open = line.find("v["); open != std::string::npos;
         open = line.find("v[", open + 1), ++operand) {
      std::size_t first_length = 0, last_length = 0;
      const auto first = number_at(line, open + 2, &first_length);
      const std::size_t colon = open + 2 + first_length;
      const auto last = first ? number_at(line, colon + 1, &last_length) : std::nullopt;
      if (!last) continue;
      // D must stay equal to C: moving one of them alone is no legal instruction.
      if (operand == 0 || operand == 3) continue;
      add(MutationKind::matrix_operand,
          replaced(open + 2, first_length + 1 + last_length, fmt::format("{}:{}", *first + 1, *last + 1)));
    }
  }

  /// Where the code of the line ends: before its comment and the blanks in front of it.
  [[nodiscard]] std::size_t code_end() const {
    const std::string& line = lines_[at_];
    return line.find_last_not_of(" \t", std::min(line.find(';'), line.size()) - 1) + 1;
  }
  /// Begin and length of operand `index` (0 = what follows the mnemonic); empty when there are fewer.
  [[nodiscard]] std::pair<std::size_t, std::size_t> operand(unsigned index) const {
    const std::string& line = lines_[at_];
    const std::size_t end = code_end();
    std::size_t at = line.find(' ', line.find_first_not_of(" \t"));
    if (at >= end) return {end, 0};
    ++at;
    for (unsigned i = 0;; ++i) {
      int depth = 0;
      std::size_t stop = at;
      while (stop < end && (depth > 0 || (line[stop] != ',' && line[stop] != ' '))) {
        depth += line[stop] == '[' ? 1 : line[stop] == ']' ? -1 : 0;
        ++stop;
      }
      if (i == index) return {at, stop - at};
      if (stop + 1 >= end || line[stop] != ',') return {end, 0};
      at = stop + 2;
    }
  }
  [[nodiscard]] std::string operand_text(unsigned index) const {
    const auto [at, length] = operand(index);
    return lines_[at_].substr(at, length);
  }
  void exchange(MutationKind kind, unsigned a, unsigned b) {
    const auto [at_a, length_a] = operand(a);
    const auto [at_b, length_b] = operand(b);
    const std::string first = operand_text(a), second = operand_text(b);
    if (first.empty() || second.empty() || first == second) return;
    std::string line = lines_[at_];
    line.replace(at_b, length_b, first).replace(at_a, length_a, second);
    add(kind, std::move(line));
  }

  /// By one access, up or down.
  void memory_offset(std::string_view m) {
    const std::string& line = lines_[at_];
    const long step = access_bytes(m);
    const std::size_t found = line.find("offset:");
    if (found == std::string::npos || found >= code_end())
      return add(MutationKind::memory_offset, replaced(code_end(), 0, fmt::format(" offset:{}", step)));
    std::size_t length = 0;
    const auto value = number_at(line, found + 7, &length);
    if (!value) return;
    add(MutationKind::memory_offset,
        replaced(found + 7, length, std::to_string(*value >= step ? *value - step : *value + step)));
  }

  /// Each factor's register moved by one; the signs of the factors dropped.
  void dot_operand() {
    for (const unsigned i : {1U, 2U}) {
      const auto [at, length] = operand(i);
      const std::string text = operand_text(i);
      std::size_t digits = 0;
      if (text.empty() || text[0] != 'v') continue;
      if (const auto number = number_at(text, 1, &digits); number && digits + 1 == text.size())
        add(MutationKind::dot_operand, replaced(at, length, fmt::format("v{}", *number + 1)));
    }
    const std::size_t signs = lines_[at_].find(" neg_lo:");
    if (signs == std::string::npos) return;
    const std::size_t length = lines_[at_].find(']', signs) + 1 - signs;
    add(MutationKind::op_sel, replaced(signs, length, ""));
  }

  void byte_select(std::string_view m) {
    if (m == "v_perm_b32") return exchange(MutationKind::byte_select, 1, 2);
    const std::size_t digit = lines_[at_].find("ubyte") + 5;
    add(MutationKind::byte_select,
        replaced(digit, 1, std::string(1, static_cast<char>(lines_[at_][digit] ^ 1))));
  }

  void lane_exchange(std::string_view m) {
    if (m == "v_permlanex16_b32")  // the own half again
      return add(MutationKind::lane_exchange,
                 fmt::format("\tv_mov_b32 {}, {}", operand_text(0), operand_text(1)));
    const std::size_t digits = lines_[at_].find("row_xmask:") + 10;
    std::size_t length = 0;
    if (const auto mask = number_at(lines_[at_], digits, &length))
      add(MutationKind::lane_exchange, replaced(digits, length, std::to_string(*mask == 1 ? 2 : *mask / 2)));
  }

  /// A hexadecimal operand of more than 16 bits: the lowest bit that is set, of a float the exponent's
  /// lowest.
  void constant(std::string_view m) {
    if (m[0] != 'v' && m != "s_mov_b32") return;
    for (unsigned i = 1; i < 4; ++i) {
      const auto [at, length] = operand(i);
      const std::string text = operand_text(i);
      if (!text.starts_with("0x") || text.size() < 7) continue;
      const auto value = static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
      const bool descriptor = value == 0x31027000 || value == 0x27000;
      // Lanes of v_permlanex16_b32 that all hold the same sum.
      if (value == 0x76543210 || value == 0xfedcba98) continue;
      const std::uint32_t flip = descriptor                           ? 0x20000000U
                                 : m.find("f32") != std::string::npos ? 0x00800000U
                                 : m == "v_bfi_b32"                   ? std::bit_floor(value)
                                                                      : value & (~value + 1);
      if (descriptor && (value & flip) == 0) continue;  // no such field on this target
      add(descriptor ? MutationKind::descriptor_word : MutationKind::constant,
          replaced(at, length, fmt::format("0x{:x}", value ^ flip)));
    }
  }

  void operation(std::string_view m) {
    for (const auto& [a, b] : confused) {
      if (m != a && m != b) continue;
      // Nothing added, taken off or shifted: each is as good as the other.
      const bool shift = m.find("sh") != std::string_view::npos,
                 sum = m.find("add") != std::string_view::npos || m.find("sub") != std::string_view::npos;
      if ((sum || shift) && operand_text(m[0] == 'v' && shift ? 1 : 2) == "0") continue;
      add(MutationKind::operation, replaced(lines_[at_].find(m), m.size(), std::string(m == a ? b : a)));
    }
  }

  void choice() { exchange(MutationKind::choice_swapped, 1, 2); }

  /// num_records is made from "bytes of a row of NAME", added as a constant.
  void records() {
    const std::string& line = lines_[at_];
    if (line.find("bytes of a row of ") == std::string::npos) return;
    const std::size_t literal = line.rfind(", ", line.find(';')) + 2;
    const std::string_view digits =
        std::string_view(line).substr(literal, line.find_first_of(" \t;", literal) - literal);
    const long value = std::stol(std::string(digits), nullptr, 0);
    // Bounds are those of whole dwords, but for what is read or written in halves.
    const bool halves = line.find("output") != std::string::npos || line.find("bias") != std::string::npos ||
                        line.find("scales") != std::string::npos;
    const long element = halves ? 2 : 4;
    add(MutationKind::records_grown, replaced(literal, digits.size(), std::to_string(value + element)));
    add(MutationKind::records_shrunk, replaced(literal, digits.size(), std::to_string(value - element)));
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::vector<Mutant> out_;
};

}  // namespace

std::string_view name(MutationKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::vector<Mutant> mutants(std::string_view assembly) { return Maker(assembly).run(); }

}  // namespace wavejit::harness
