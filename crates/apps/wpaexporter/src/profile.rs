//! Reads WPA profiles: which graphs to show, and the preset of each.
//!
//! Two XML formats are known from profiles that their owners published. WPA of Windows 8 and early Windows 10 wrote
//! `WpaProfile`, a dump of its classes; later versions write `WpaProfileContainer`. Both have the same attributes.

use roxmltree::{Document, Node, ParsingOptions};

/// Maximum size of a profile, bytes. The largest published one has 160 kB.
pub const MAX_BYTES: u64 = 16 << 20;

/// Maximum number of XML nodes.
const MAX_NODES: u32 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub graphs: Vec<Graph>,
    /// Number of graphs without a preset.
    pub without_preset: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// GUID of the graph in lower case; the name of its class if the profile has no GUID that is known.
    pub id: String,
    pub preset: Preset,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    pub name: String,
    /// All columns, in order.
    pub columns: Vec<Column>,
    /// Number of columns left of the bar, hidden ones included.
    pub key_columns: usize,
    /// Filter of the rows; empty for none.
    pub filter: String,
    /// True to keep the rows that match the filter, false to drop them.
    pub keeps_matches: bool,
    /// Query for the groups that are expanded into their members; empty for none.
    pub expansion: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// GUID in lower case.
    pub guid: String,
    pub name: String,
    pub is_visible: bool,
    /// As written: `Sum`, `Min` and so on; empty for none.
    pub aggregation: String,
    pub sort: Option<Sort>,
    /// As written, e.g. `mN`; empty for the default.
    pub format: String,
    /// How a call stack is shown: `StackTag`, `FrameTags`; empty for its frames.
    pub stack_mode: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    pub priority: i32,
    pub is_descending: bool,
}

/// Classes of graphs in the older format that have no GUID there, and their GUIDs.
const CLASSES: [(&str, &str); 4] = [
    ("CpuSamplingGraphTreeItem", "b855361e-7be0-4bc8-a754-3e8507715ca5"),
    ("CpuSchedulingWithReadyThreadGraphTreeItem", "c58f5fea-0319-4046-932d-e695ebe20b47"),
    ("DiskIOGraphTreeItem", "12c5387c-58ca-45d4-a5c6-450475c30e06"),
    ("RegionsGraphTreeItem", "1ce7fd53-2344-4ea8-acd6-1a0722a51427"),
];

/// Parses a profile.
///
/// # Errors
/// A sentence that says what the file is instead.
pub fn parse(bytes: &[u8]) -> Result<Profile, String> {
    let text = decode(bytes)?;
    if !text.trim_start().starts_with('<') {
        return Err("not a WPA profile: it is not XML. Save it in WPA with Profiles > Export".to_owned());
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document =
        Document::parse_with_options(&text, options).map_err(|error| format!("not a WPA profile: {error}"))?;
    let root = document.root_element();
    match root.tag_name().name() {
        "WpaProfileContainer" => Ok(read_container(root)),
        "WpaProfile" => Ok(read_classes(root)),
        other => Err(format!("not a WPA profile: its XML starts with <{other}>, not <WpaProfileContainer>")),
    }
}

fn decode(bytes: &[u8]) -> Result<String, String> {
    match bytes {
        [b'P', b'K', 3, 4, ..] => Err("a zip archive; unpack it and give the profile in it".to_owned()),
        [0xff, 0xfe, rest @ ..] => {
            let units: Vec<u16> = rest.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16(&units).map_err(|_| "not a WPA profile: damaged UTF-16".to_owned())
        }
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            let text = std::str::from_utf8(rest).map_err(|_| "not a WPA profile: it is not text".to_owned())?;
            Ok(text.to_owned())
        }
    }
}

/// Reads `Content/Views/View/Graphs/Graph/Preset/Columns/Column`.
fn read_container(root: Node<'_, '_>) -> Profile {
    let mut profile = Profile::default();
    let views = root.descendants().filter(|node| node.tag_name().name() == "Views");
    for graph in views.flat_map(|views| views.descendants()).filter(|node| node.tag_name().name() == "Graph") {
        match child(graph, "Preset") {
            Some(preset) => {
                let columns = child(preset, "Columns").into_iter().flat_map(|columns| children(columns, "Column"));
                let preset = read_preset(preset, columns);
                profile.graphs.push(Graph { id: guid(graph.attribute("Guid")), preset });
            }
            None => profile.without_preset += 1,
        }
    }
    profile
}

/// Reads `WpaProfile.Views/AnalysisView/…GraphTreeItem`, whose preset and columns are a few levels deeper.
fn read_classes(root: Node<'_, '_>) -> Profile {
    let mut profile = Profile::default();
    let views = root.descendants().filter(|node| node.tag_name().name() == "AnalysisView");
    for graph in views.flat_map(|view| view.children()).filter(|node| is_graph_class(node.tag_name().name())) {
        let class = graph.tag_name().name();
        let known_class = CLASSES.iter().find(|(name, _)| *name == class).map(|(_, id)| (*id).to_owned());
        let id = match graph.attribute("ClsID") {
            Some(id) => guid(Some(id)),
            None => known_class.unwrap_or_else(|| class.to_owned()),
        };
        match graph.descendants().find(|node| node.tag_name().name() == "HdvViewModelPreset") {
            Some(preset) => {
                let columns = preset.descendants().filter(|node| node.tag_name().name() == "HdvColumnViewModelPreset");
                profile.graphs.push(Graph { id, preset: read_preset(preset, columns) });
            }
            None => profile.without_preset += 1,
        }
    }
    profile
}

fn is_graph_class(name: &str) -> bool {
    name.ends_with("GraphTreeItem")
}

fn read_preset<'a, 'd: 'a>(preset: Node<'a, 'd>, columns: impl Iterator<Item = Node<'a, 'd>>) -> Preset {
    let text = |name| preset.attribute(name).unwrap_or_default().to_owned();
    Preset {
        name: text("Name"),
        columns: columns.map(read_column).collect(),
        key_columns: number(preset, "KeyColumnCount").unwrap_or(0),
        filter: text("InitialFilterQuery"),
        keeps_matches: is_true(preset.attribute("InitialFilterShouldKeep")),
        expansion: text("InitialExpansionQuery"),
    }
}

fn read_column(column: Node<'_, '_>) -> Column {
    let text = |name| column.attribute(name).unwrap_or_default().to_owned();
    let order = column.attribute("SortOrder").filter(|order| !order.eq_ignore_ascii_case("None"));
    let stack = column
        .descendants()
        .find(|node| matches!(node.tag_name().name(), "StackOptionsParameter" | "PresetStackOptions"));
    Column {
        guid: guid(column.attribute("Guid")),
        name: text("Name").trim().to_owned(),
        is_visible: is_true(column.attribute("IsVisible")),
        aggregation: text("AggregationMode"),
        sort: order.map(|order| Sort {
            priority: number(column, "SortPriority").unwrap_or(0),
            is_descending: order.eq_ignore_ascii_case("Descending"),
        }),
        format: text("CellFormat"),
        stack_mode: stack.and_then(|stack| stack.attribute("Mode")).unwrap_or_default().to_owned(),
    }
}

fn guid(text: Option<&str>) -> String {
    text.unwrap_or_default().trim_matches(['{', '}']).to_ascii_lowercase()
}

fn is_true(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn number<T: std::str::FromStr>(node: Node<'_, '_>, name: &str) -> Option<T> {
    node.attribute(name)?.trim().parse().ok()
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|node| node.tag_name().name() == name)
}

fn children<'a, 'd>(node: Node<'a, 'd>, name: &'static str) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(move |node| node.tag_name().name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINER: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<WpaProfileContainer xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" Version="2" xmlns="http://tempuri.org/SerializableElement.xsd">
  <Content xsi:type="WpaProfile2"><Views><View><Graphs>
    <Graph Guid="C58F5FEA-0319-4046-932d-e695ebe20b47">
      <Preset Name="By process" KeyColumnCount="1" InitialFilterQuery="[CPU]:=0" InitialFilterShouldKeep="true">
        <MetadataEntries /><Columns>
          <Column Name="New Process" Guid="b065487c-5e32-4f1f-a2cd-581e086ce29e" IsVisible="true" />
          <Column Name="Stack" Guid="68482a06-b6a3-4eb9-922f-9fa43537148b"><StackOptionsParameter Mode="FrameTags" /></Column>
          <Column Name="CPU Usage" Guid="e008ed7a-15b0-40ab-854b-b5f6392f298b" IsVisible="true" AggregationMode="Sum"
            SortOrder="Descending" SortPriority="2" CellFormat="mN" />
        </Columns>
      </Preset>
    </Graph>
    <Graph Guid="x" />
  </Graphs></View></Views>
  <ModifiedGraphs><GraphSchema><ModifiedPresets><Preset Name="another" /></ModifiedPresets></GraphSchema></ModifiedGraphs>
  </Content>
</WpaProfileContainer>"#;

    #[test]
    fn reads_the_newer_format() {
        let profile = parse(format!("\u{feff}{CONTAINER}").as_bytes()).unwrap();
        assert_eq!((profile.graphs.len(), profile.without_preset), (1, 1));
        let Graph { id, preset } = &profile.graphs[0];
        assert_eq!(id, "c58f5fea-0319-4046-932d-e695ebe20b47");
        assert_eq!((preset.name.as_str(), preset.key_columns, preset.keeps_matches), ("By process", 1, true));
        let visible: Vec<bool> = preset.columns.iter().map(|column| column.is_visible).collect();
        assert_eq!(visible, [true, false, true]);
        assert_eq!(preset.columns[1].stack_mode, "FrameTags");
        let usage = &preset.columns[2];
        assert_eq!((usage.aggregation.as_str(), usage.format.as_str()), ("Sum", "mN"));
        assert_eq!(usage.sort, Some(Sort { priority: 2, is_descending: true }));
    }

    #[test]
    fn reads_the_older_format() {
        let text = r#"<WpaProfile xmlns="clr-namespace:Microsoft.Performance.Shell;assembly=Microsoft.Performance.Shell">
  <WpaProfile.Views><AnalysisView Name="v" xmlns="clr-namespace:Microsoft.Performance.Shell.Graphing">
    <AnalysisView.Title><ViewTitle Title="Analysis" /></AnalysisView.Title>
    <Core4SummaryTableFillerGraphTreeItem ClsID="DA13748B-71c7-4ba1-a61d-6ae4e527e261">
      <Core4SummaryTableFillerGraphTreeItem.HdvViewModelPreset><HdvViewModelPreset Name="Flat" KeyColumnCount="1">
        <HdvViewModelPreset.ConfigurableColumns>
          <HdvColumnViewModelPreset Guid="09f9ab65-72c9-5447-c56b-99d749bced3c" Name="Phase Name" IsVisible="True" />
        </HdvViewModelPreset.ConfigurableColumns></HdvViewModelPreset>
      </Core4SummaryTableFillerGraphTreeItem.HdvViewModelPreset>
    </Core4SummaryTableFillerGraphTreeItem>
    <CpuSamplingGraphTreeItem />
    <DiskIOGraphTreeItem><HdvViewModelPreset Name="Disk" /></DiskIOGraphTreeItem>
    <NewGraphTreeItem><HdvViewModelPreset Name="New" /></NewGraphTreeItem>
  </AnalysisView></WpaProfile.Views>
</WpaProfile>"#;
        let profile = parse(text.as_bytes()).unwrap();
        let ids: Vec<&str> = profile.graphs.iter().map(|graph| graph.id.as_str()).collect();
        let expected =
            ["da13748b-71c7-4ba1-a61d-6ae4e527e261", "12c5387c-58ca-45d4-a5c6-450475c30e06", "NewGraphTreeItem"];
        assert_eq!((ids.as_slice(), profile.without_preset), (expected.as_slice(), 1));
        assert!(profile.graphs[0].preset.columns[0].is_visible);
    }

    #[test]
    fn refuses_other_files_with_a_sentence() {
        for (bytes, part) in [
            (&b"PK\x03\x04rest"[..], "zip archive"),
            (b"{\"views\":[]}", "not XML"),
            (b"<html></html>", "starts with <html>"),
            (b"<WpaProfileContainer>", "not a WPA profile"),
            (b"\xff\xff\xff", "not text"),
            (b"<!DOCTYPE a [<!ENTITY b \"c\">]><WpaProfile>&b;</WpaProfile>", "not a WPA profile"),
        ] {
            let message = parse(bytes).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
