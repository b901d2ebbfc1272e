//! Checks that a command does not overwrite a file that it reads.

use onoff_sink::Inputs;

use crate::failure::Failure;
use crate::invocation::Invocation;

pub fn reject_overwriting(invocation: &Invocation) -> Result<(), Failure> {
    let Invocation { recording, destination, extra_inputs, extra_outputs, .. } = invocation;
    let input_groups = [&recording.files, &recording.options.manifests, &recording.options.drivers, extra_inputs];
    let inputs = Inputs::new(input_groups.into_iter().flatten().cloned().collect::<Vec<_>>());
    let usage_error = |error: onoff_sink::OutputError| Failure::Usage(error.to_string());
    for output in destination.path.iter().chain(extra_outputs) {
        inputs.check(output).map_err(usage_error)?;
    }
    inputs.check_stdout().map_err(usage_error)
}
