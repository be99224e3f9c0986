#pragma once
// Goldens of errors: a program bad-*.tfa with errors, followed by what `tfasm check` prints, in comments that begin
// with `//! `.

#include <optional>
#include <string>

#include "tools/tfasm/test_run.h"

namespace tfvm::tool {

bool is_bad_file(const std::string& path);

// Compares, or rewrites the comments where `update`. The failure where they differ, or where there are no errors.
std::optional<Failure> run_bad_file(const std::string& path, bool update);

}  // namespace tfvm::tool
