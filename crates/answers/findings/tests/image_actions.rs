//! Tests the commands of advised changes.
#![allow(clippy::unwrap_used)]

use onoff_findings::finding::AdvisedAction;
use onoff_image::{ServiceEntry, ServiceStart, Setting, SettingValue};

fn setting(key: &str, name: &str, value: SettingValue) -> Setting {
    Setting { key: key.to_owned(), name: name.to_owned(), value, last_written_unix_ns: None }
}

#[test]
fn changes_have_commands_that_restore_the_present_value() {
    let control = r"SYSTEM\ControlSet002\Control";
    let number = AdvisedAction::set_number(&setting(control, "Mode", SettingValue::Number(0)), 3);
    assert_eq!(
        number.command.as_deref(),
        Some(r#"reg add "HKLM\SYSTEM\CurrentControlSet\Control" /v Mode /t REG_DWORD /d 3 /f"#)
    );
    assert!(number.undo.unwrap().ends_with("/d 0 /f"));
    let timeout = AdvisedAction::set_number(&setting(control, "Wait", SettingValue::Text("9000".to_owned())), 5000);
    assert!(timeout.command.unwrap().ends_with(r#"/v Wait /t REG_SZ /d "5000" /f"#));
    let texts = SettingValue::Texts(vec!["a b".to_owned(), "c".to_owned()]);
    let list = AdvisedAction::delete(&setting(r"NTUSER\Network", "Two words", texts));
    assert_eq!(list.command.as_deref(), Some(r#"reg delete "HKCU\Network" /v "Two words" /f"#));
    assert_eq!(list.undo.as_deref(), Some(r#"reg add "HKCU\Network" /v "Two words" /t REG_MULTI_SZ /d "a b\0c" /f"#));
    let service = ServiceEntry {
        name: "Maker".to_owned(),
        start: ServiceStart::Auto,
        is_delayed: true,
        ..ServiceEntry::default()
    };
    let action = AdvisedAction::start_service(&service, "demand");
    assert_eq!(action.command.as_deref(), Some("sc.exe config Maker start= demand"));
    assert_eq!(action.undo.as_deref(), Some("sc.exe config Maker start= delayed-auto"));
    assert_eq!((action.target.as_str(), action.value.as_str()), ("start type of maker", "demand"));
}
