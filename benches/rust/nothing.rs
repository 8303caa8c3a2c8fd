//! A package needs a target; the benchmarks beside this file are what it is for.
