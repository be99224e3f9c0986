#pragma once
// Where the project's own files are. Not a definition on the command line, so that the compiler's cache serves all
// checkouts.

namespace tfvm {
const char* source_dir();
}
