// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "runtime/checkpoint/read_json.hpp"

namespace wavejit::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_suffix = ".safetensors.index.json";

struct Listing {
  std::vector<fs::path> files;
  fs::path index;  ///< empty = none
};

Result<Listing> list(const fs::path& folder) {
  Listing all;
  std::vector<fs::path> indices;
  std::error_code reason;
  for (fs::directory_iterator it(folder, reason), end; !reason && it != end; it.increment(reason)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("._")) continue;
    if (name.ends_with(".safetensors")) all.files.push_back(it->path());
    if (name.ends_with(index_suffix)) indices.push_back(it->path());
  }
  if (reason)
    return fail(ErrorCode::io, fmt::format("{} cannot be read: {}", folder.string(), reason.message()));
  std::ranges::sort(all.files);
  std::ranges::sort(indices);
  for (const fs::path& index : indices)
    if (all.index.empty() || index.filename() == "model.safetensors.index.json") all.index = index;
  return all;
}

/// More than any checkpoint has: a name may claim 99999.
constexpr int most_parts = 2000;

class Builder {
 public:
  Result<Inventory> build(const fs::path& folder) {
    const auto listing = list(folder);
    if (!listing) return std::unexpected(listing.error());
    if (listing->files.empty() && listing->index.empty())
      return fail_field(ErrorCode::invalid_argument, "checkpoint", folder.string(),
                        "a folder with a .safetensors file");
    auto config = read_config(folder);
    if (!config) return std::unexpected(config.error());
    all_.config = *std::move(config);
    for (const fs::path& path : listing->files) {
      auto file = File::open(path);
      if (file)
        files_.emplace(path.filename().string(), *std::move(file));
      else
        broken_.emplace(path.filename().string(), file.error());
    }
    if (!listing->index.empty())
      if (auto ok = place_by_index(listing->index); !ok) return std::unexpected(ok.error());
    place_the_rest(stale_ ? "" : listing->index.filename().string());
    if (named_.empty()) count_parts();
    for (const std::string& file : all_.missing) all_.notes.push_back(fmt::format("{} is missing", file));
    for (const auto& [name, error] : broken_) all_.notes.push_back(error.message);
    if (all_.tensors.empty() && !broken_.empty()) return std::unexpected(broken_.begin()->second);
    return std::move(all_);
  }

 private:
  Result<void> place_by_index(const fs::path& path) {
    constexpr std::uintmax_t most = 100'000'000;  // as of a header, which names as many tensors
    const auto json = read_json<nlohmann::json>(path, most);
    if (!json) return std::unexpected(json.error());
    const std::string index = path.filename().string();
    const auto map = json->find("weight_map");
    if (map == json->end() || !map->is_object())
      return fail_field(ErrorCode::io, index + ": weight_map",
                        map == json->end() ? "absent" : map->type_name(),
                        "an object of tensors and their files");
    std::map<std::string, std::map<std::string_view, const TensorEntry*>> entries;
    for (const auto& [name, file] : files_)
      for (const TensorEntry& e : file->tensors()) entries[name].emplace(e.name, &e);
    for (const auto& [tensor, place] : map->items()) {
      if (!place.is_string()) {
        refuse(tensor, fail_field(ErrorCode::io, fmt::format("{}: weight_map.{}", index, tensor),
                                  place.type_name(), "a file's name"));
        continue;
      }
      const auto file = place.get<std::string>();
      named_.insert(file);
      if (const auto broken = broken_.find(file); broken != broken_.end()) {
        refuse(tensor, std::unexpected(broken->second));
      } else if (const auto found = files_.find(file); found == files_.end()) {
        refuse(tensor, fail(ErrorCode::io,
                            fmt::format("{} is missing: {} says that it holds {}", file, index, tensor)));
      } else if (const auto entry = entries[file].find(tensor); entry == entries[file].end()) {
        refuse(tensor, fail(ErrorCode::io,
                            fmt::format("{} is missing from {}, where {} places it", tensor, file, index)));
      } else {
        all_.tensors.insert_or_assign(tensor, PlacedTensor{found->second, *entry->second});
      }
    }
    for (const std::string& file : named_)
      if (!files_.contains(file) && !broken_.contains(file))
        all_.notes.push_back(fmt::format("{} is missing", file));
    // Left beside files that were merged since: it speaks of none of them.
    if (all_.tensors.empty() && !files_.empty() && std::ranges::none_of(named_, [&](const std::string& f) {
          return files_.contains(f) || broken_.contains(f);
        })) {
      all_.notes.push_back(fmt::format("{} is left out: no file that it names is there", index));
      for (const auto& [name, file] : files_)
        for (const TensorEntry& e : file->tensors()) all_.unreadable.erase(e.name);
      named_.clear();
      stale_ = true;
    }
    return {};
  }

  /// Without an index all tensors, else those of its files that it does not speak of.
  void place_the_rest(const std::string& index) {
    for (const auto& [name, file] : files_) {
      if (!index.empty() && !named_.contains(name)) {
        all_.notes.push_back(fmt::format("{} is left out: {} does not name it", name, index));
        continue;
      }
      for (const TensorEntry& e : file->tensors()) place(e, file, index);
    }
  }

  void place(const TensorEntry& e, const std::shared_ptr<const File>& file, const std::string& index) {
    if (all_.unreadable.contains(e.name)) return;
    const auto [it, added] = all_.tensors.emplace(e.name, PlacedTensor{file, e});
    if (added || !index.empty()) return;
    auto error = fail_field(ErrorCode::invalid_argument, "tensor " + e.name,
                            fmt::format("in {} and in {}", it->second.file->name(), file->name()),
                            "in one file, or placed by a model.safetensors.index.json");
    all_.tensors.erase(it);
    refuse(e.name, std::move(error));
  }

  /// NAME-00001-of-00003.safetensors and the others of its kind.
  void count_parts() {
    constexpr std::string_view of = "-of-", suffix = ".safetensors";
    constexpr std::size_t digits = 5, end = 2 * digits + of.size() + suffix.size();
    std::set<std::string> expected;
    for (const auto& [name, file] : files_) {
      if (name.size() <= end || name.substr(name.size() - end + digits, of.size()) != of) continue;
      const std::string total = name.substr(name.size() - digits - suffix.size(), digits);
      if (total.find_first_not_of("0123456789") != std::string::npos || std::stoi(total) > most_parts)
        continue;
      for (int i = 1; i <= std::stoi(total); ++i)
        expected.insert(
            fmt::format("{}{:05}{}{}{}", name.substr(0, name.size() - end), i, of, total, suffix));
    }
    for (const std::string& name : expected)
      if (!files_.contains(name) && !broken_.contains(name)) all_.missing.push_back(name);
  }

  void refuse(const std::string& tensor, std::unexpected<Error> error) {
    all_.unreadable.insert_or_assign(tensor, std::move(error.error()));
  }

  Inventory all_;
  std::map<std::string, std::shared_ptr<const File>> files_;
  std::map<std::string, Error> broken_;
  std::set<std::string> named_;  ///< files, by the index
  bool stale_ = false;           ///< the index
};

}  // namespace

Result<Inventory> read_inventory(const fs::path& folder) { return Builder().build(folder); }

}  // namespace wavejit::checkpoint
