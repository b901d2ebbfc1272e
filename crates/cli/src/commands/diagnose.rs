//! `onoff diagnose`.

use onoff_analysis::recording::summarise;
use onoff_findings::image::speak_together;
use onoff_findings::{RULES, RuleList, TABLES};
use onoff_report::{json, text};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::diagnose::{DiagnosisFormat, DiagnosisQuestion};
use crate::output::Destination;

/// Exit code when a finding costs as much as `--fail-on` says.
const COSTLY: u8 = 3;

pub fn run(
    recording: Recording,
    question: &DiagnosisQuestion,
    format: DiagnosisFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (options, image, fail_on) = match question {
        DiagnosisQuestion::List => {
            return destination.write(|out| {
                match format {
                    DiagnosisFormat::Text(_) => text::diagnose::list(RULES, out)?,
                    DiagnosisFormat::Json => {
                        let rules = RULES.iter().map(onoff_findings::Rule::describe).collect();
                        json::document::write(&[], &RuleList { rules }, out)?;
                    }
                }
                Ok(())
            });
        }
        DiagnosisQuestion::Explain(rule) => {
            return destination.write(|out| {
                match format {
                    DiagnosisFormat::Text(_) => text::diagnose::explain(rule, out)?,
                    DiagnosisFormat::Json => json::document::write(&[], &rule.describe(), out)?,
                }
                Ok(())
            });
        }
        DiagnosisQuestion::Diagnose(options, image, fail_on) => (options, image, *fail_on),
    };
    let paths: Vec<String> = recording.files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let (session, diagnosis) = super::ask(recording, |session| session.diagnose(options))?;
    let mut diagnosis = diagnosis?;
    diagnosis.name_recording(paths.iter().map(String::as_str));
    if diagnosis.transitions.is_empty() {
        return Err(Failure::NothingToAnswer(
            "the recording holds no boot, shutdown or sleep to diagnose; 'onoff info' says what it holds".to_owned(),
        ));
    }
    if !image.is_empty() {
        speak_together(&mut diagnosis, &super::image::open(image)?.report);
    }
    // The diagnosis has read them.
    let trace = session.tables(TABLES)?;
    destination.write(|out| {
        match format {
            DiagnosisFormat::Text(options) => {
                text::diagnose::write(&diagnosis, &summarise(&trace), &options, out)?;
            }
            DiagnosisFormat::Json => json::document::write(&[session.provenance()?], &diagnosis, out)?,
        }
        Ok(())
    })?;
    match (diagnosis.most_measured_cost_ns(), fail_on) {
        (Some(most), Some(limit)) if most >= limit => Err(Failure::Told(COSTLY)),
        _ => Ok(()),
    }
}
