// SPDX-License-Identifier: MIT
#include "generator/lower/text_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>

namespace wavejit::lower {
namespace {

constexpr std::size_t max_bytes = 4 << 20, max_lines = 1 << 16;
constexpr std::size_t max_statement = 512, max_name = 256;
constexpr unsigned max_nesting = 3;
constexpr std::uint64_t max_fill_dwords = 1 << 14;  // of a whole text

/// Where a statement may stand. Code and labels stand in .text alone, so two labels always have a distance.
enum Place : unsigned { code = 1, rodata = 2, descriptor = 4, anywhere = code | rodata };

/// A directive and the one form of its arguments. In a form NAME is any name, LABEL the name of a label that
/// stands above, VALUE one that `.set` gave a value, TARGET a target ID, WORD an unsigned number of 32 bits
/// and INT one from `low` to `high`; ",..." ends what may be repeated, and the rest stands for itself.
struct Rule {
  std::string_view directive, form;
  unsigned place = anywhere;
  std::uint64_t low = 0, high = 0;
};

constexpr Rule rules[] = {
    {".amdgcn_target", "\"TARGET\""},
    {".amdhsa_code_object_version", "INT", anywhere, 4, 6},
    {".text", ""},
    {".section", ".rodata,\"a\",@progbits"},
    {".rodata", ""},
    {".globl", "NAME"},
    {".protected", "NAME"},
    {".type", "NAME,@function"},
    {".size", "LABEL,LABEL-LABEL", code},
    {".size", "LABEL,.-LABEL", code},
    {".p2align", "INT", anywhere, 2, 8},
    {".p2alignl", "INT,WORD", code, 2, 8},
    {".fill", "INT,4,WORD", code, 1, 1024},
    {".long", "WORD,...", code},
    {".set", "NAME,WORD"},
    {".set", "NAME,(LABEL-LABEL+127)/128"},
    {".amdhsa_kernel", "LABEL", rodata},
    {".end_amdhsa_kernel", "", descriptor},
    {".amdhsa_inst_pref_size", "VALUE-((VALUE-INT)&(VALUE>INT))", descriptor, 0, 255},
    {".amdhsa_*", "WORD", descriptor},
    {".amdgpu_metadata", ""},
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}
constexpr bool is_name(char c) { return starts_name(c) || is_digit(c); }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Reads from the left of one statement; `at` is where it stands.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  [[nodiscard]] bool done() const { return at >= text.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text[at]; }
  void skip_blanks() {
    while (!done() && is_blank(text[at])) ++at;
  }
  template <class Is>
  std::string_view take(Is is) {
    const std::size_t from = at;
    while (!done() && is(text[at])) ++at;
    return text.substr(from, at - from);
  }
  std::string_view name() { return starts_name(peek()) ? take(is_name) : std::string_view{}; }
};

/// Decimal or 0x, at most 64 bits. `word` is all that stands between two signs.
std::optional<std::uint64_t> number(std::string_view word) {
  const bool hex = word.starts_with("0x");
  const unsigned base = hex ? 16 : 10;
  if (hex) word.remove_prefix(2);
  // A leading zero would make it octal.
  if (word.empty() || (!hex && word.size() > 1 && word[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : word) {
    const char lower = static_cast<char>(c | 0x20);
    const bool letter = hex && lower >= 'a' && lower <= 'f';
    if (!is_digit(c) && !letter) return std::nullopt;
    const auto digit = static_cast<unsigned>(letter ? lower - 'a' + 10 : c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

/// Digits, a point, digits, perhaps an exponent without a sign.
bool is_decimal_fraction(std::string_view word) {
  Cursor c{word};
  const bool whole = !c.take(is_digit).empty();
  if (!whole || c.peek() != '.') return false;
  ++c.at;
  c.take(is_digit);
  if (c.peek() != 'e') return c.done();
  ++c.at;
  const std::size_t digits = c.take(is_digit).size();
  return c.done() && digits >= 1 && digits <= 3;
}

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  Result<void> run() {
    if (text_.size() > max_bytes)
      return fail(ErrorCode::assembler,
                  fmt::format("1:1: the text has {} bytes; at most {} are taken", text_.size(), max_bytes));
    for (std::size_t at = 0; at < text_.size() && error_.empty();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      std::string_view line = text_.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      if (line_ > max_lines) {
        refuse(0, fmt::format("the text has more than {} lines", max_lines));
      } else {
        check_line(line);
      }
      at = end + 1;
    }
    if (!error_.empty()) return fail(ErrorCode::assembler, std::move(error_));
    return {};
  }

 private:
  void refuse(std::size_t column, std::string_view why) {
    if (error_.empty()) error_ = fmt::format("{}:{}: {}", line_, column + 1, why);
  }

  void check_line(std::string_view line) {
    const auto control =
        std::ranges::find_if(line, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
    if (control != line.end())
      return refuse(static_cast<std::size_t>(control - line.begin()), "a control character");
    if (in_metadata_) return metadata(line);
    const std::string_view statement = line.substr(0, std::min(line.find(';'), line.find("//")));
    if (statement.size() > max_statement)
      return refuse(max_statement, fmt::format("a statement of more than {} characters", max_statement));
    Cursor c{statement};
    labels(c);
    if (c.done() || !error_.empty()) return;
    if (c.peek() == '.') return directive(c);
    instruction(c);
  }

  /// Leaves the cursor at what follows the labels.
  void labels(Cursor& c) {
    for (;;) {
      c.skip_blanks();
      const std::size_t from = c.at;
      const std::string_view name = c.name();
      c.skip_blanks();
      if (name.empty() || c.peek() != ':') {
        c.at = from;
        return;
      }
      if (place_ != code || name.size() > max_name || name == ".")
        return refuse(from, fmt::format("a label stands in .text and has at most {} characters", max_name));
      labels_.insert(name);
      ++c.at;
    }
  }

  void directive(Cursor& c) {
    const std::size_t from = c.at;
    const std::string_view name = c.name();
    const std::size_t arguments_at = c.at;
    std::string arguments;
    for (c.skip_blanks(); !c.done(); ++c.at)
      if (!is_blank(c.peek())) arguments += c.peek();
    std::string allowed;
    bool misplaced = false;
    for (const Rule& rule : rules) {
      const bool prefix = rule.directive.ends_with('*');
      const std::string_view spelled = rule.directive.substr(0, rule.directive.size() - (prefix ? 1 : 0));
      if (prefix ? !name.starts_with(spelled) : name != spelled) continue;
      misplaced = misplaced || (rule.place & place_) == 0;
      if ((rule.place & place_) == 0) continue;
      if (matches(rule, arguments)) return apply(name, arguments);
      allowed += fmt::format("{}{} {}", allowed.empty() ? "" : " or ", name, rule.form);
      if (rule.high != 0) allowed += fmt::format(" with INT from {} to {}", rule.low, rule.high);
    }
    if (!allowed.empty()) return refuse(arguments_at, fmt::format("{} must be written as {}", name, allowed));
    refuse(from, fmt::format("{} {}", name,
                             misplaced ? "may not stand here" : "is no directive that this assembler takes"));
  }

  bool matches(const Rule& rule, std::string_view arguments) {
    Cursor form{rule.form}, c{arguments};
    while (!form.done()) {
      const std::string_view word = form.take([](char x) { return x >= 'A' && x <= 'Z'; });
      if (word.empty() && form.text.substr(form.at) == ",...") {
        if (c.done()) return true;
        if (c.peek() != ',') return false;
        ++c.at, form.at = 0;
      } else if (word.empty()) {
        if (c.peek() != form.peek()) return false;
        ++form.at, ++c.at;
      } else if (word == "INT" || word == "WORD") {
        const auto value = number(c.take(is_name));
        const bool bounded = word == "INT";
        if (!value || *value < (bounded ? rule.low : 0) || *value > (bounded ? rule.high : 0xFFFFFFFF))
          return false;
      } else if (word == "TARGET") {
        if (c.take([](char x) { return is_name(x) || x == ':' || x == '+' || x == '-'; }).empty())
          return false;
      } else {
        const std::string_view name = c.name();
        if (name.empty() || name == "." || name.size() > max_name) return false;
        if (word == "LABEL" && !labels_.contains(name)) return false;
        if (word == "VALUE" && !values_.contains(std::string(name))) return false;
      }
    }
    return c.done();
  }

  void apply(std::string_view directive, std::string_view arguments) {
    if (directive == ".text") place_ = code;
    if (directive == ".section" || directive == ".rodata" || directive == ".end_amdhsa_kernel")
      place_ = rodata;
    if (directive == ".amdhsa_kernel") place_ = descriptor;
    if (directive == ".amdgpu_metadata") in_metadata_ = true;
    const std::string_view first = arguments.substr(0, arguments.find(','));
    if (directive == ".set") values_.emplace(first);
    if (directive == ".fill" && (filled_ += *number(first)) > max_fill_dwords)
      refuse(0, fmt::format("the .fill of this text make more than {} dwords", max_fill_dwords));
  }

  void instruction(Cursor& c) {
    if (place_ != code) return refuse(c.at, "an instruction outside of .text");
    const std::size_t from = c.at;
    if (c.name().empty()) return refuse(from, "no label, directive or instruction");
    unsigned open = 0;
    for (c.skip_blanks(); !c.done(); c.skip_blanks()) {
      const std::size_t at = c.at;
      if (is_name(c.peek())) {
        const std::string_view word = c.take(is_name);
        if (is_digit(word[0]) && !number(word) && !is_decimal_fraction(word))
          return refuse(at, fmt::format("{} is no number as this assembler takes them", word));
        continue;
      }
      constexpr std::string_view signs = ",:|&-[]()";
      const char sign = c.peek();
      if (signs.find(sign) == std::string_view::npos)
        return refuse(at, fmt::format("'{}' in an instruction: operands are names, plain numbers and {}",
                                      sign >= ' ' && sign <= '~' ? sign : '?', signs));
      if ((sign == '[' || sign == '(') && ++open > max_nesting)
        return refuse(at, "brackets nested too deeply");
      if ((sign == ']' || sign == ')') && open-- == 0) return refuse(at, "a bracket closes that none opened");
      ++c.at;
    }
  }

  /// YAML as LLVM's compilers write it for kernels: block maps and sequences, scalars without quotes, flow
  /// lists and maps that end on their line.
  void metadata(std::string_view line) {
    Cursor c{line};
    c.skip_blanks();
    constexpr std::size_t max_indent = 24;
    if (c.at > max_indent) return refuse(c.at, "metadata indented too far");
    const std::string_view rest = line.substr(c.at);
    if (rest.substr(0, rest.find_last_not_of(" \t") + 1) == ".end_amdgpu_metadata") {
      in_metadata_ = false;
      return;
    }
    if (line.size() > max_statement)
      return refuse(max_statement, fmt::format("a line of more than {} characters", max_statement));
    unsigned open = 0;
    for (; !c.done(); ++c.at) {
      const char x = c.peek();
      if ((x == '[' || x == '{') && ++open > max_nesting) return refuse(c.at, "brackets nested too deeply");
      if ((x == ']' || x == '}') && open-- == 0) return refuse(c.at, "a bracket closes that none opened");
      constexpr std::string_view signs = ":-,[]{}+";
      if (!is_name(x) && !is_blank(x) && signs.find(x) == std::string_view::npos)
        return refuse(c.at, "metadata is made of plain keys, scalars, lists and maps");
    }
    if (open != 0) refuse(0, "a bracket of the metadata is left open");
  }

  std::string_view text_;
  std::size_t line_ = 0;
  std::string error_;
  Place place_ = code;
  bool in_metadata_ = false;
  std::uint64_t filled_ = 0;
  std::unordered_set<std::string_view> labels_;
  std::unordered_set<std::string> values_;
};

}  // namespace

Result<void> check_text(std::string_view text) { return Checker(text).run(); }

}  // namespace wavejit::lower
