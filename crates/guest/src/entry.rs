//! Names and links in archives from outside: what may be written where.

use crate::failure::Failure;

/// A name as it can be shown to people.
pub fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).escape_debug().to_string()
}

/// The parts of an entry's name. Empty for the folder itself.
///
/// # Errors
/// Refused when the name is absolute, climbs up, or is no name at all.
pub fn parts(name: &[u8]) -> Result<Vec<&[u8]>, Failure> {
    let refuse = |why: &str| Err(Failure::invalid(format!("the archive entry `{}` {why}", shown(name))));
    if name.starts_with(b"/") {
        return refuse("has an absolute name");
    }
    if name.contains(&0) {
        return refuse("has a zero byte in its name");
    }
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.contains(&&b".."[..]) {
        return refuse("leaves the folder");
    }
    Ok(parts)
}

/// Checks that a symbolic link with this target, `depth` folders below the top,
/// leads nowhere outside.
///
/// Steps up are allowed at the beginning only, where every folder above is known to
/// be a real one. After a named part, which may be a link itself, a step up would
/// lead somewhere that the text alone does not tell.
///
/// # Errors
/// Refused otherwise.
pub fn check_target(name: &[u8], target: &[u8], depth: usize) -> Result<(), Failure> {
    let refuse = |why: &str| {
        let (name, target) = (shown(name), shown(target));
        Err(Failure::invalid(format!("the symbolic link `{name}` to `{target}` {why}")))
    };
    if target.is_empty() || target.contains(&0) {
        return refuse("has no usable target");
    }
    if target.starts_with(b"/") {
        return refuse("leaves the folder");
    }
    let mut steps = target.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").peekable();
    let mut up = 0;
    while steps.next_if(|part| *part == b"..").is_some() {
        up += 1;
    }
    if up > depth || steps.any(|part| part == b"..") {
        return refuse("leaves the folder");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_are_refused() {
        for bad in [&b"/etc/passwd"[..], b"..", b"a/../b", b"../a", b"a/..", b"a\0b", b"//a"] {
            assert!(parts(bad).is_err(), "{}", shown(bad));
        }
        assert_eq!(parts(b"./a//b/.").unwrap(), [&b"a"[..], b"b"]);
        assert_eq!(parts(b"...").unwrap(), [&b"..."[..]]);
        assert!(parts(b"./").unwrap().is_empty());
    }

    #[test]
    fn links_that_leave_are_refused() {
        for (target, depth, good) in [
            (&b"a"[..], 0, true),
            (b"./a/b", 0, true),
            (b"../a", 1, true),
            (b"../../a", 2, true),
            (b"..", 1, true),
            (b"../a", 0, false),
            (b"../../a", 1, false),
            (b"a/../b", 5, false),
            (b"/etc", 5, false),
            (b"", 0, false),
            (b"a\0", 0, false),
        ] {
            assert_eq!(check_target(b"l", target, depth).is_ok(), good, "{} at {depth}", shown(target));
        }
    }
}
