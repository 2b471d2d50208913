//! The helper as a whole, run as the agent runs it and spoken to over its socket.

#[cfg(test)]
mod dial;
#[cfg(test)]
mod exec;
#[cfg(test)]
mod life;
#[cfg(test)]
mod support;
#[cfg(test)]
mod transfer;
