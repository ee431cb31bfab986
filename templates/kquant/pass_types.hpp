// SPDX-License-Identifier: MIT
// Private to the K-quant family: the pass of each type.
#pragma once

#include "templates/kquant/pass.hpp"

namespace wavejit::templates::kquant {

class PassQ45 final : public Pass {
 public:
  using Pass::Pass;
  void setup() override;
  void load(const isa::Operand& weights, const isa::Operand& activations) override;
  void multiply(const std::vector<isa::Operand>& acc) override;

 private:
  struct Scales {
    std::array<isa::Operand, 2> scale, minimum;
  };
  Scales scales(const isa::Operand& header);
  isa::Operand bytes(unsigned row, unsigned i, unsigned half);
  [[nodiscard]] bool five() const { return c_.p.type == Type::q5_k; }

  isa::Operand header_address_, quant_address_, fifth_address_;
  isa::Operand nibble_shift_, minimum_shift_, bits_shift_, nibble_mask_, bits_mask_;
  isa::Operand fifth_low_, fifth_high_;
  std::vector<isa::Operand> headers_, quants_, fifths_;  ///< per row
};

class PassQ6 final : public Pass {
 public:
  using Pass::Pass;
  void setup() override;
  void load(const isa::Operand& weights, const isa::Operand& activations) override;
  void multiply(const std::vector<isa::Operand>& acc) override;

 private:
  /// Addresses of the lane's bytes; rows that start at another place modulo 4 have others.
  struct Addresses {
    RunPlace low, high;
    isa::Operand scales, d;
  };
  Addresses addresses(const isa::Operand& phase);
  [[nodiscard]] const Addresses& of_row(unsigned row) const {
    return addresses_[addresses_.size() == 1 ? 0 : row];
  }

  std::vector<Addresses> addresses_;  ///< one, or one per row
  isa::Operand half_, quarter_, high_low_, high_high_;
  std::vector<Run> low_, high_;                               ///< per row
  std::vector<isa::Operand> scale_low_, scale_high_, scale_;  ///< per row
  std::vector<isa::Operand> d_high_;                          ///< per row of activations
};

class PassQ8 final : public Pass {
 public:
  using Pass::Pass;
  void setup() override;
  void load(const isa::Operand& weights, const isa::Operand& activations) override;
  void multiply(const std::vector<isa::Operand>& acc) override;

 private:
  /// 64 dwords of quants a superblock: two reads of half the pass's superblocks each, or one of all.
  [[nodiscard]] unsigned reads() const { return width_ == 4 ? 2 : 1; }
  [[nodiscard]] unsigned dwords() const { return width_ == 1 ? 2 : 4; }
  [[nodiscard]] std::int64_t superblocks_per_read() const { return wave_size() * dwords() / 64; }
  [[nodiscard]] std::int64_t read_bytes() const { return std::int64_t{4} * dwords(); }
  std::vector<Run> quants_;           ///< per row and read
  std::vector<isa::Operand> scales_;  ///< per row and read
  std::vector<isa::Operand> x_;       ///< per row of activations and read
};

class PassQ4 final : public Pass {
 public:
  using Pass::Pass;
  void setup() override;
  void load(const isa::Operand& weights, const isa::Operand& activations) override;
  void multiply(const std::vector<isa::Operand>& acc) override;

 private:
  std::vector<Run> quants_;           ///< per row
  std::vector<isa::Operand> scales_;  ///< per row
};

}  // namespace wavejit::templates::kquant
