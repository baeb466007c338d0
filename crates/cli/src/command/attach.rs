//! `schedlab dev attach`: what schedlab runs to load the scheduler in a BPF object.

use schedlab_live::attach_object;
use schedlab_policy::Assignment;

use crate::arguments::AttachArguments;
use crate::failure::Failure;

/// Attaches the scheduler in an object and waits for the end.
pub fn attach(arguments: &AttachArguments) -> Result<(), Failure> {
    let mut set = Vec::new();
    for text in &arguments.set {
        let assignment = Assignment::parse(text)?;
        let values = assignment.values.iter();
        set.extend(values.map(|&(_, value)| (assignment.name.clone(), value)));
    }
    attach_object(&arguments.object, &set).map_err(Failure::Other)
}
