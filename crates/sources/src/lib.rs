//! One reader per recording kind, each filling the tables of the model.
