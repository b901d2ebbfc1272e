//! Checks that a command does not overwrite a file that it reads.

use onoff_sink::Inputs;

use crate::failure::Failure;
use crate::invocation::Invocation;

pub fn reject_overwriting(invocation: &Invocation) -> Result<(), Failure> {
    let Invocation { recording, destination, reads, writes, .. } = invocation;
    let groups = [&recording.files, &recording.options.manifests, &recording.options.drivers, reads];
    let inputs = Inputs::new(groups.into_iter().flatten().cloned().collect::<Vec<_>>());
    let refused = |refusal: onoff_sink::Refusal| Failure::Usage(refusal.to_string());
    for output in destination.path.iter().chain(writes) {
        inputs.refuse(output).map_err(refused)?;
    }
    inputs.refuse_stdout().map_err(refused)
}
