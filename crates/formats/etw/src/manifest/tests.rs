//! Valid and invalid manifests.

use super::*;
use crate::schema::{Count, InType, Length, OutType};

const MANIFEST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"
    xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events" xmlns:xs="http://www.w3.org/2001/XMLSchema">
 <instrumentation><events>
  <provider name="Onoff-Example" guid="{11111111-2222-3333-4444-555555555555}" symbol="EXAMPLE">
   <events>
    <event value="7" version="1" symbol="DISK_WORK" template="work" opcode="win:Start" task="disk" level="win:Warning"
           keywords="slow win:ResponseTime" message="$(string.event.7)"/>
    <event value="8" opcode="retry" task="disk"/>
    <event value="0xB0000009" template="block"/>
   </events>
   <levels><level name="loud" value="16"/></levels>
   <tasks><task name="disk" value="3" message="$(string.task.disk)">
     <opcodes><opcode name="retry" value="12" message="$(string.missing)"/></opcodes></task></tasks>
   <keywords><keyword name="slow" mask="0x10"/></keywords>
   <maps>
    <valueMap name="Kind"><map value="1" message="$(string.read)"/><map value="-1" message="$(string.write)"/></valueMap>
    <bitMap name="Flags"><map value="0x2" message="$(string.write)"/></bitMap>
   </maps>
   <templates>
    <template tid="work">
     <data name="Length" inType="win:UInt16"/>
     <data name="Path" inType="win:UnicodeString" length="Length"/>
     <data name="Kind" inType="win:UInt32" map="Kind" outType="win:HexInt32"/>
     <UserData><x xmlns="y"><Path>%2</Path></x></UserData>
    </template>
    <template tid="block">
     <data name="Count" inType="win:UInt8"/>
     <struct name="Rows" count="Count">
      <data name="Size" inType="win:UInt16"/>
      <data name="Bytes" inType="win:Binary" length="Size"/>
     </struct>
     <data name="Address" inType="win:Binary" length="16" outType="win:IPv6"/>
     <data name="Pair" inType="win:Pointer" count="2"/>
    </template>
   </templates>
  </provider>
 </events></instrumentation>
 <localization>
  <resources culture="de-DE"><stringTable><string id="read" value="Lesen"/></stringTable></resources>
  <resources culture="en-US"><stringTable>
   <string id="event.7" value="Work on %2"/><string id="task.disk" value="Disk"/>
   <string id="read" value="read "/><string id="write" value="write"/></stringTable></resources>
 </localization>
</instrumentationManifest>"#;

#[test]
fn reads_event_numbers_and_names() {
    let providers = parse(MANIFEST).unwrap();
    assert_eq!(providers.len(), 1);
    let provider = &providers[0];
    assert_eq!(&*provider.name, "Onoff-Example");
    assert_eq!(provider.guid.to_string(), "11111111-2222-3333-4444-555555555555");
    assert_eq!(provider.keywords, [(0x10, "slow".into())]);

    let event = provider.find_exact(7, 1).unwrap();
    assert_eq!((event.task, &*event.task_name), (Some(3), "Disk"));
    assert_eq!((event.opcode, &*event.opcode_name), (Some(1), "Start"));
    assert_eq!((event.level, event.keyword), (3, 0x10 | 1 << 48));
    assert_eq!((&*event.name, &*event.message), ("DISK_WORK", "Work on %2"));

    // An opcode of the task. Its message is not in the string table, so its name is used.
    let retry = provider.find_exact(8, 0).unwrap();
    assert_eq!((retry.opcode, &*retry.opcode_name), (Some(12), "retry"));
    assert!(retry.layout.properties.is_empty());
    // The qualifier of a legacy id is not part of the event id.
    assert!(provider.find_exact(9, 0).is_some());
}

#[test]
fn reads_lengths_counts_and_maps() {
    let providers = parse(MANIFEST).unwrap();
    let work = &providers[0].find_exact(7, 1).unwrap().layout;
    assert_eq!(work.top_level, 3);
    assert_eq!(work.properties[1].length, Length::FromProperty(0));
    let kind = &work.properties[2];
    assert_eq!(kind.out_type, OutType::HexInt32);
    let map = kind.map.as_ref().unwrap();
    assert_eq!(map.names(1).collect::<Vec<_>>(), ["read"], "American English, without the final space");
    assert_eq!(map.names(0xFFFF_FFFF).collect::<Vec<_>>(), ["write"]);

    let block = &providers[0].find_exact(9, 0).unwrap().layout;
    assert_eq!((block.top_level, block.properties.len()), (4, 6));
    let rows = &block.properties[1];
    assert_eq!((rows.in_type, rows.count, rows.members), (InType::Struct, Count::FromProperty(0), (4, 2)));
    assert_eq!(block.properties[5].length, Length::FromProperty(4), "a sibling inside the struct");
    assert_eq!(block.properties[2].length, Length::Fixed(16));
    assert_eq!(block.properties[3].count, Count::Fixed(2));
}

#[test]
fn reports_errors_with_position() {
    let wrong = |old: &str, new: &str| parse(&MANIFEST.replace(old, new)).unwrap_err().to_string();
    assert_eq!(wrong("template=\"work\"", "template=\"werk\""), "line 7, column 5: template \"werk\" is not declared");
    assert!(wrong("win:Pointer", "win:Painter").contains("unknown inType \"win:Painter\""));
    assert!(wrong("length=\"Size\"", "length=\"Seize\"").contains("refers to \"Seize\""));
    assert!(wrong("{11111111", "{1111111").contains("is not a GUID"));
    assert!(wrong("value=\"7\"", "value=\"seven\"").contains("is not a number"));
    assert!(wrong("count=\"2\"", "count=\"70000\"").contains("above 65,535"));
    assert!(parse("<a/>").unwrap_err().message.contains("no provider"));
    assert_eq!(parse("not xml").unwrap_err().line, 1);
}

#[test]
fn reads_manifest_of_real_provider() {
    let samples = std::env::var_os("ONOFF_SAMPLES").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/samples"),
        Into::into,
    );
    let path = samples.join("etl/HTTP_Server.man");
    let Ok(xml) = std::fs::read_to_string(&path) else {
        println!("skipped: {} not found", path.display());
        return;
    };
    let providers = parse(&xml).unwrap();
    assert_eq!(&*providers[0].name, "Microsoft-Windows-HttpService");
    let declared = xml.matches("<event value=").count();
    assert_eq!(providers[0].events.len(), declared);
    assert!(providers[0].events.iter().all(|event| !event.task_name.is_empty() && event.opcode.is_some()));
}
