//! The book lists every loss of ETL files with the program's own explanation.

use std::path::Path;

use onoff_etl::Loss;

fn row(loss: &Loss) -> String {
    format!("| `{}` | {} | {} |", loss.name(), loss.severity().name(), loss.help())
}

#[test]
fn book_contains_loss_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/explanation/losses.md");
    let text = std::fs::read_to_string(page).unwrap();
    let table: Vec<String> = Loss::ALL.iter().map(row).collect();
    assert!(text.contains(&table.join("\n")), "expected table:\n{}", table.join("\n"));
}
