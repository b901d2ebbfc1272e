//! Which files a task reads and which it writes, so that none is both.

use onoff_sink::Inputs;

use crate::failure::Failure;
use crate::invocation::Invocation;

/// Refuses a task one of whose answers would replace what it reads.
pub fn refuse_overwriting(invocation: &Invocation) -> Result<(), Failure> {
    let Invocation { recording, destination, reads, writes, .. } = invocation;
    let parts = [&recording.files, &recording.options.manifests, &recording.options.drivers, reads];
    let inputs = Inputs::new(parts.into_iter().flatten().cloned().collect::<Vec<_>>());
    let refused = |refusal: onoff_sink::Refusal| Failure::WrongUsage(refusal.to_string());
    for output in destination.path.iter().chain(writes) {
        inputs.refuse(output).map_err(refused)?;
    }
    inputs.refuse_stdout().map_err(refused)
}
