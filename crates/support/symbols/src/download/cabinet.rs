//! Unpacks compressed files of symbol stores: cabinets with a single file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use cab::Cabinet;

use crate::DownloadError;

/// Writes the first file of the cabinet `packed` into `file`.
pub(super) fn unpack(packed: &mut File, file: &mut File, max_bytes: u64) -> Result<(), DownloadError> {
    let invalid_cabinet = |error: io::Error| DownloadError::InvalidResponse(format!("cabinet: {error}"));
    let mut cabinet = Cabinet::new(packed).map_err(invalid_cabinet)?;
    let name = cabinet
        .folder_entries()
        .flat_map(|folder| folder.file_entries())
        .map(|entry| entry.name().to_owned())
        .next()
        .ok_or_else(|| DownloadError::InvalidResponse("the cabinet is empty".to_owned()))?;
    let reader = cabinet.read_file(&name).map_err(invalid_cabinet)?;
    let mut reader = reader.take(max_bytes.saturating_add(1));
    let length = io::copy(&mut reader, file).map_err(invalid_cabinet)?;
    if length > max_bytes {
        return Err(DownloadError::TooLarge(max_bytes));
    }
    file.seek(SeekFrom::Start(0)).map_err(invalid_cabinet)?;
    Ok(())
}
