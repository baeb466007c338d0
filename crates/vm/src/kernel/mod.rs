//! The kernel that a guest boots: a file that the user names, or Debian's newest, downloaded once.

mod apt;
mod sources;
mod version;

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::process::Stop;
use crate::VmError;

use version::natural_order;

/// A kernel image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The file QEMU boots.
    pub path: PathBuf,
    /// The 128-bit XXH3 hash of its bytes; with the release it identifies the kernel.
    pub hash: u128,
}

impl Kernel {
    /// Reads the kernel in a file.
    ///
    /// # Errors
    /// The file cannot be read or is not an x86 kernel.
    pub fn in_file(path: &Path) -> Result<Kernel, VmError> {
        let bytes = fs::read(path).map_err(VmError::reading(path))?;
        // The boot protocol's signature at a fixed offset: Documentation/arch/x86/boot.rst.
        if bytes.get(0x202..0x206) != Some(b"HdrS") && !bytes.starts_with(b"\x7fELF") {
            return Err(VmError::NoKernelImage(path.into()));
        }
        Ok(Kernel {
            path: path.into(),
            hash: xxh3_128(&bytes),
        })
    }

    /// The newest kernel in the cache; if the cache is empty, Debian's newest.
    ///
    /// The packages come from this machine's Debian mirror. A separate apt configuration is used;
    /// the system's own is not changed.
    ///
    /// # Errors
    /// No apt, no mirror, no network, or no such package. The message says what to do.
    pub fn debian(note: &mut dyn FnMut(&str), stop: Stop) -> Result<Kernel, VmError> {
        let cache = cache_folder()?;
        if let Some(cached) = newest_in(&cache) {
            return Kernel::in_file(&cached);
        }
        let fetched = apt::fetch(&cache, note, stop)?;
        Kernel::in_file(&fetched)
    }
}

/// The cache's folder: `$XDG_CACHE_HOME/schedlab/kernels`, by default below `~/.cache`.
fn cache_folder() -> Result<PathBuf, VmError> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache =
        cache.ok_or_else(|| VmError::no_kernel("neither XDG_CACHE_HOME nor HOME is set"))?;
    Ok(cache.join("schedlab/kernels"))
}

/// The image of the newest release in a cache.
fn newest_in(cache: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(cache).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let images = names.filter(|name| cache.join(name).join("vmlinuz").is_file());
    let newest = images.max_by(|a, b| natural_order(a, b))?;
    Some(cache.join(newest).join("vmlinuz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_in_the_cache_is_the_highest_number() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(newest_in(cache.path()), None);
        for release in ["7.9.1-amd64", "7.10.2-amd64", "7.11.0-amd64"] {
            fs::create_dir(cache.path().join(release)).unwrap();
        }
        // The folder of 7.11 exists without an image.
        for release in ["7.9.1-amd64", "7.10.2-amd64"] {
            fs::write(cache.path().join(release).join("vmlinuz"), "").unwrap();
        }
        let newest = cache.path().join("7.10.2-amd64/vmlinuz");
        assert_eq!(newest_in(cache.path()), Some(newest));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let mut bytes = vec![0; 0x300];
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(
            Kernel::in_file(&path),
            Err(VmError::NoKernelImage(_))
        ));
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        fs::write(&path, &bytes).unwrap();
        assert_eq!(Kernel::in_file(&path).unwrap().hash, xxh3_128(&bytes));
    }
}
