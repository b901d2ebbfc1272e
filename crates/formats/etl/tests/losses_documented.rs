//! The book lists every loss of the container with the words the program uses.

use std::path::Path;

use onoff_etl::Loss;

fn row(loss: &Loss) -> String {
    format!("| `{}` | {} | {} |", loss.name(), loss.severity().name(), loss.help())
}

#[test]
fn the_book_has_the_table_of_losses() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/explanation/losses.md");
    let text = std::fs::read_to_string(page).unwrap();
    let table: Vec<String> = Loss::ALL.iter().map(row).collect();
    assert!(text.contains(&table.join("\n")), "the table should be:\n{}", table.join("\n"));
}
