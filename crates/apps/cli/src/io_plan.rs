//! Checks that a command does not overwrite a file that it reads.

use onoff_sink::Inputs;

use crate::failure::Failure;
use crate::invocation::Invocation;

pub fn reject_overwriting(invocation: &Invocation) -> Result<(), Failure> {
    let Invocation { recording, destination, reads, writes, .. } = invocation;
    let groups = [&recording.files, &recording.options.manifests, &recording.options.drivers, reads];
    let inputs = Inputs::new(groups.into_iter().flatten().cloned().collect::<Vec<_>>());
    let error = |refusal: onoff_sink::OutputError| Failure::Usage(refusal.to_string());
    for output in destination.path.iter().chain(writes) {
        inputs.check(output).map_err(error)?;
    }
    inputs.check_stdout().map_err(error)
}
