//! What the macros say of what they cannot take: each file of `tests/ui` beside the errors that the compiler shows for it.
//!
//! After a change of words: `TRYBUILD=overwrite cargo test -p polyport-macros`, then read the difference.

#[test]
fn errors_stand_where_the_fault_is() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
