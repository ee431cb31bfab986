// SPDX-License-Identifier: MIT
#include "templates/cdna/family.hpp"

namespace wavejit::templates::cdna {

Result<std::vector<Selection>> select(const Problem& problem, const target::Target& target,
                                      std::int64_t first, std::int64_t last) {
  Config c;
  c.path = Path::mfma;
  c.bm = 128;
  c.bn = 128;
  c.bk = 64;
  c.waves = 4;
  const auto fitted = cdna::normalise(c, problem, target);
  if (!fitted) return std::unexpected(fitted.error());
  return std::vector<Selection>{Selection{first, last, *fitted}};
}

}  // namespace wavejit::templates::cdna
