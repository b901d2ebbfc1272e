use onoff_etl::Record;
use proptest::prelude::*;

use super::*;
use crate::value::Message;
use crate::{Fields, SchemaSource, Schemas, Status};

const GUID: &str = "449fe2a8-f60f-3893-5a1e-8049df528b88";

const FILE: &str = r#"// PDB:  widget.pdb
// PDB:  Last Updated :2026-11-03:01:04:26:104 (UTC) [Tracepdb]
449fe2a8-f60f-3893-5a1e-8049df528b88 widget // SRC=Device.Start.c MJ= MN=
#typev Device.Start_c44 12 "%0 [%!FUNC!] cannot open %11!s!: %10!s! (100%%)" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=TRACE_IO FUNC=WidgetStart
{
status, ItemNTSTATUS -- 10
Names(index, 1), ItemPWString -- 11
}
#typev Device.Start_c15 10 "%0 [%!FUNC!] --> Entry" //   LEVEL=TRACE_LEVEL_VERBOSE FLAGS=TRACE_IO FUNC=WidgetStart
{
}
"#;

/// Returns a message record: header with GUID, no time, then the arguments.
fn record(guid: &str, number: u16, narrow: bool, arguments: &[u8]) -> Vec<u8> {
    const GUID_PRESENT: u16 = 0x02;
    const POINTER_32: u16 = 0x40;
    let size = u16::try_from(24 + arguments.len()).unwrap();
    let options = GUID_PRESENT | if narrow { POINTER_32 } else { 0 };
    let mut bytes = size.to_le_bytes().to_vec();
    bytes.extend([0, 0x90]);
    bytes.extend(number.to_le_bytes());
    bytes.extend(options.to_le_bytes());
    bytes.extend(Guid::parse_str(guid).unwrap().to_bytes_le());
    bytes.extend(arguments);
    bytes
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Returns the fields of the message as JSON, and the status.
fn decode(file: &str, record: &[u8]) -> (String, Status, SchemaSource) {
    let mut schemas = Schemas::new();
    schemas.add_message_formats(file).unwrap();
    let record = Record::parse(record).unwrap();
    let mut fields = Fields::new();
    let decoded = schemas.decode(&record, &mut fields);
    let mut json = String::new();
    fields.write_json(&mut json).unwrap();
    (json, decoded.status, decoded.source)
}

/// Returns the text of a message with one argument.
fn text(template: &str, item: &str, arguments: &[u8]) -> String {
    let file = format!("{GUID} widget // SRC=a.c\n#typev a_c1 1 \"%0{template}\"\n{{\nx, {item} -- 10\n}}\n");
    let formats = parse(&file).unwrap();
    let format = &**formats.values().next().unwrap();
    Message { format, payload: arguments, pointer_size: 8 }.to_string()
}

#[test]
fn decodes_text_origin_and_arguments() {
    let mut arguments = 0xC000_0034_u32.to_le_bytes().to_vec();
    arguments.extend([8, 0]);
    arguments.extend(utf16("C:\\a"));
    let (json, status, source) = decode(FILE, &record(GUID, 12, false, &arguments));
    let expected = concat!(
        r#"{"MessageNumber":12,"FormattedString":"[WidgetStart] cannot open C:\\a: 0xc0000034 (100%)","#,
        r#""FunctionName":"WidgetStart","LevelName":"TRACE_LEVEL_ERROR","FlagsName":"TRACE_IO","#,
        r#""Arguments":{"status":"0xc0000034","Names(index, 1)":"C:\\a"}}"#
    );
    assert_eq!((json.as_str(), status, source), (expected, Status::Exact, SchemaSource::User));

    let mut schemas = Schemas::new();
    assert_eq!(schemas.add_message_formats(FILE).unwrap(), 2);
    let bytes = record(GUID, 12, false, &arguments);
    let record = Record::parse(&bytes).unwrap();
    let description = schemas.describe(&record);
    assert_eq!((description.provider, description.task), ("widget", "Device.Start_c44"));
    assert_eq!((description.level, description.source), (2, SchemaSource::User));
}

#[test]
fn other_guid_or_number_stays_raw() {
    let raw = |number| format!(r#"{{"MessageNumber":{number},"Arguments":"07000000"}}"#);
    let other_guid = record("00000000-f60f-3893-5a1e-8049df528b88", 10, false, &[7, 0, 0, 0]);
    assert_eq!(decode(FILE, &other_guid), (raw(10), Status::NoSchema, SchemaSource::Wpp));
    let other_number = record(GUID, 11, false, &[7, 0, 0, 0]);
    assert_eq!(decode(FILE, &other_number), (raw(11), Status::NoSchema, SchemaSource::Wpp));
    assert_eq!(decode("// nothing\n", &record(GUID, 10, false, &[7, 0, 0, 0])).2, SchemaSource::Wpp);
}

#[test]
fn truncated_arguments_keep_their_placeholder() {
    let (json, status, _) = decode(FILE, &record(GUID, 12, false, &0xC000_0034_u32.to_le_bytes()));
    assert_eq!(status, Status::Short);
    assert!(json.contains("cannot open %11!s!: 0xc0000034 (100%)"), "{json}");
}

#[test]
fn same_number_in_two_source_files_is_two_messages() {
    let file = format!(
        "{FILE}11111111-f60f-3893-5a1e-8049df528b88 widget // SRC=Other.c MJ= MN=\n#typev Other_c9 10 \"%0other %10!d!\" // LEVEL=3\n{{\nx, ItemLong -- 10\n}}\n"
    );
    let (first, ..) = decode(&file, &record(GUID, 10, false, &[]));
    let (second, ..) = decode(&file, &record("11111111-f60f-3893-5a1e-8049df528b88", 10, false, &[7, 0, 0, 0]));
    assert!(first.contains("[WidgetStart] --> Entry"), "{first}");
    assert!(second.contains(r#""FormattedString":"other 7","LevelName":"3""#), "{second}");
}

#[test]
fn pointers_have_the_size_of_the_recording() {
    let file = format!("{GUID} w\n#typev a_c1 1 \"%0%10!p! %11!d!\"\n{{\np, ItemPtr -- 10\nn, ItemLong -- 11\n}}\n");
    let narrow = [0x30, 0x12, 0x4B, 0x8A, 5, 0, 0, 0];
    assert!(decode(&file, &record(GUID, 1, true, &narrow)).0.contains(r#""8A4B1230 5""#));
    let wide = [0x30, 0x12, 0x4A, 0x6F, 0x0C, 0xC5, 0xFF, 0xFF, 5, 0, 0, 0];
    assert!(decode(&file, &record(GUID, 1, false, &wide)).0.contains(r#""FFFFC50C6F4A1230 5""#));
}

/// The C library's `printf` writes the expected texts.
#[test]
fn numbers_are_written_as_by_printf() {
    let cases: [(&str, u32, &str); 20] = [
        ("d", -5_i32 as u32, "-5"),
        ("u", -5_i32 as u32, "4294967291"),
        ("04X", 255, "00FF"),
        ("-6d", 42, "42    "),
        ("+d", 7, "+7"),
        (" d", 7, " 7"),
        ("08u", 42, "00000042"),
        ("x", 0xDEAD, "dead"),
        ("#x", 0xDEAD, "0xdead"),
        ("#x", 0, "0"),
        ("#06x", 255, "0x00ff"),
        ("o", 8, "10"),
        (".5d", -42_i32 as u32, "-00042"),
        ("8.3d", -42_i32 as u32, "    -042"),
        ("08d", -42_i32 as u32, "-0000042"),
        ("-08d", -42_i32 as u32, "-42     "),
        ("c", 65, "A"),
        ("lu", 7, "7"),
        ("I64d", -7_i32 as u32, "-7"),
        ("hd", 7, "7"),
    ];
    for (notation, number, expected) in cases {
        assert_eq!(text(&format!("<%10!{notation}!>"), "ItemLong", &number.to_le_bytes()), format!("<{expected}>"));
    }
    assert_eq!(text("0x%10!012I64X!", "ItemLongLongXX", &0xAB_CDEF_u64.to_le_bytes()), "0x000000ABCDEF");
    assert_eq!(text("%10!.2f!", "ItemDouble", &2.345_f64.to_le_bytes()), format!("{:.2}", 2.345));
    assert_eq!(text("%10!f!", "ItemDouble", &2.5_f64.to_le_bytes()), "2.500000");
    assert_eq!(text("[%10!.4s!]", "ItemString", b"QEMU CFG\0"), "[QEMU]");
    assert_eq!(text("[%10!10s!]", "ItemString", b"abc\0"), "[       abc]");
    assert_eq!(text("[%10!-10s!]", "ItemString", b"abc\0"), "[abc       ]");
    assert_eq!(text("%10", "ItemString", b"abc\0"), "abc");
}

#[test]
fn types_are_read_as_logged() {
    assert_eq!(text("%10!s!", "ItemListByte(Low,APC,DPC)", &[2]), "DPC");
    assert_eq!(text("%10!s!", "ItemListByte(Low,APC,DPC)", &[9]), "9");
    assert_eq!(text("%10!s!", "ItemListLong(None=0x4,More)", &[5, 0, 0, 0]), "More");
    assert_eq!(text("%10!s!", "ItemSetLong(Read,Write,Execute)", &[5, 0, 0, 0]), "Read|Execute");
    assert_eq!(text("%10!s!", "ItemIPAddr", &[192, 168, 1, 1]), "192.168.1.1");
    assert_eq!(text("%10!s!", "ItemPort", &[0x1F, 0x90]), "8080");
    assert_eq!(text("%10!s!", "ItemWINERROR", &[5, 0, 0, 0]), "5");
    assert_eq!(text("%10!x!", "ItemNTSTATUS", &[5, 0, 0, 0xC0]), "c0000005");
    assert_eq!(text("%10!s!", "ItemWString", &utf16("hi\0")), "hi");
    assert_eq!(text("%10!s!", "ItemPString", b"\x02\0hi"), "hi");
    assert_eq!(text("%10!s!", "ItemHexDump", b"\x02\0\xAB\xCD"), "abcd");
    assert_eq!(text("%10!s!", "ItemChar4", b"WAVE"), "WAVE");
    assert_eq!(text("%10!d!", "ItemChar", &[0xFF]), "-1");
    assert_eq!(text("%10!d!", "ItemShort", &[0xFE, 0xFF]), "-2");
    let guid = Guid::parse_str(GUID).unwrap();
    assert_eq!(text("%10!s!", "ItemGuid", &guid.to_bytes_le()), GUID);
    // The bytes after an argument of an unknown type have no known place.
    assert_eq!(text("a %10!s! b", "ItemOfTomorrow", &[1, 2]), "a %10!s! b");
}

#[test]
fn names_and_escapes_are_replaced() {
    let file = format!(
        "{GUID} widget // SRC=a.c\n#typev a_c1 1 \"%0%!FILE! %!LEVEL! %!COMPNAME! %!OTHER! %1 %2%n100%% %9 %\" // LEVEL=TRACE_LEVEL_WARNING\n{{\n}}\n"
    );
    let formats = parse(&file).unwrap();
    let format = &**formats.values().next().unwrap();
    let text = Message { format, payload: &[], pointer_size: 8 }.to_string();
    assert_eq!(text, "a.c TRACE_LEVEL_WARNING widget %!OTHER! widget a_c1\n100% %9 %");
    assert_eq!(format.level(), 3);
}

#[test]
fn text_can_contain_quotation_marks_and_line_breaks() {
    let file = format!(
        "{GUID} w\n#typev a_c1 1 \"%0say \"no\"\nand go\" // FUNC=F\n{{\n}}\n#typev a_c2 2 \"%0next\"\n{{\n}}\n"
    );
    let formats = parse(&file).unwrap();
    let format = &formats[&(Guid::parse_str(GUID).unwrap(), 1)];
    assert_eq!((&*format.text, &*format.function), ("%0say \"no\"\nand go", "F"));
    assert_eq!(formats.len(), 2);
}

#[test]
fn malformed_files_are_refused_with_a_line() {
    let error = |file: &str| parse(file).unwrap_err().to_string();
    assert_eq!(error("#typev a_c1 1 \"x\"\n"), "line 1: a message before the line with its GUID");
    assert_eq!(error(&format!("{GUID} w\n#typev a_c1 x \"x\"\n")), "line 2: \"x\" is not the number of a message");
    assert_eq!(error(&format!("{GUID} w\n#typev a_c1 1\n")), "line 2: a message without a text in quotation marks");
    assert_eq!(error(&format!("{GUID} w\n#typev a 1 \"x\n")), "line 3: a text without a closing quotation mark");
    assert_eq!(
        error(&format!("{GUID} w\n#typev a 1 \"x\"\n{{\nn, Long -- 10\n}}")),
        "line 4: \"n, Long -- 10\" is not an argument"
    );
    assert_eq!(error(&format!("{GUID} w\n#typev a 1 \"x\"\n{{\n")), "line 4: arguments without a closing brace");
}

/// A text with a wide argument many times would be gigabytes long.
#[test]
fn length_of_a_text_is_limited() {
    let placeholders = "%10!s!%10!999999999s!".repeat(4000);
    let mut argument = vec![b'a'; 60_000];
    argument.push(0);
    let text = text(&placeholders, "ItemString", &argument);
    assert!(text.len() < 400_000 && text.ends_with('…'), "{}", text.len());
}

proptest! {
    #[test]
    fn no_file_and_no_message_panics(
        template in "(%[0-9!a-zA-Z#.%+-]{0,8}|[a-z\"% ]){0,12}",
        items in prop::collection::vec("[a-z,() ]{0,6}, Item(Long|Ptr|String|PWString|ListByte\\([a-z,=0-9x]{0,9}\\)|Sid|X) -- [0-9]{1,5}", 0..6),
        noise in "[\\PC\n]{0,60}",
        payload in prop::collection::vec(any::<u8>(), 0..64),
        narrow in any::<bool>(),
    ) {
        let _ = parse(&noise);
        let file = format!("{GUID} w\n#typev a_c1 1 \"%0{template}\" // FUNC=F\n{{\n{}\n}}\n{noise}", items.join("\n"));
        let mut schemas = Schemas::new();
        if schemas.add_message_formats(&file).is_ok() {
            let bytes = record(GUID, 1, narrow, &payload);
            let record = Record::parse(&bytes).unwrap();
            let mut fields = Fields::new();
            let decoded = schemas.decode(&record, &mut fields);
            prop_assert!(decoded.consumed <= decoded.size);
            let mut json = String::new();
            fields.write_json(&mut json).unwrap();
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        }
    }
}
