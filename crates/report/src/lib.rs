//! One file per output format for the results of the analysis.
