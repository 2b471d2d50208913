//! Frames: one byte of channel, four bytes of length (big endian), the payload.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// Longest payload of one frame, bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024;

const HEADER: usize = 5;

/// One message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Caller to instance: input. An empty payload is end of input.
    Stdin(Vec<u8>),
    /// Instance to caller: output (of a terminal, or of a pipe, or of a dialled connection, or a tar archive).
    Stdout(Vec<u8>),
    /// Instance to caller: error output.
    Stderr(Vec<u8>),
    /// Either way: everything that is not data.
    Control(Control),
}

/// Size of a terminal in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub cols: u16,
}

/// What the caller wants the stream to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "open")]
pub enum Open {
    /// Runs a command. With `terminal` it gets a PTY (then stderr comes as stdout).
    Exec {
        /// Program and arguments; empty: the login shell.
        argv: Vec<String>,
        /// Added to the instance's environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Working directory; default is the home directory.
        #[serde(default)]
        cwd: Option<String>,
        /// Wanted terminal, if any.
        #[serde(default)]
        terminal: Option<Size>,
    },
    /// Connects to a TCP port on the instance's own loopback. Data flows as stdin and stdout.
    Dial {
        /// The port.
        port: u16,
    },
    /// Unpacks the tar archive that comes as stdin below the directory `path`
    /// (made if missing). Entries that leave it are refused.
    Put {
        /// Absolute, or relative to the home directory.
        path: String,
    },
    /// Sends `path` (file or folder) as a tar archive on stdout; entry names begin
    /// with the last part of `path`.
    Get {
        /// Absolute, or relative to the home directory.
        path: String,
    },
    /// Asks the helper what it sees; answered by one [`Control::Seen`].
    Look,
}

/// Everything on a stream that is not data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Control {
    /// First frame from the caller.
    Open(Open),
    /// From the caller: the terminal has a new size.
    Resize(Size),
    /// From the caller: send this signal to the command.
    Signal {
        /// Number of the signal, as in `kill -l`.
        number: i32,
    },
    /// From the instance: the command runs, the connection stands, or the transfer begins.
    Started,
    /// From the instance: the end. 0 for a closed connection or finished transfer;
    /// 128 + signal for a command that a signal ended.
    Exit {
        /// Exit status.
        code: i32,
    },
    /// From the instance, agent or server: it could not be done.
    Error {
        /// A cause code of the product.
        cause: String,
        /// For the user.
        message: String,
    },
    /// Answer to [`Open::Look`].
    Seen {
        /// `major:minor` of every character device below /dev that is a card, with its path.
        devices: BTreeMap<String, String>,
        /// User id inside.
        uid: u32,
        /// Exit statuses of `on_start`, once it ended.
        on_start_exit: Option<i32>,
    },
}

impl Frame {
    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// A payload above [`MAX_PAYLOAD`].
    pub fn encode(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let control;
        let (channel, payload): (u8, &[u8]) = match self {
            Self::Stdin(data) => (0, data),
            Self::Stdout(data) => (1, data),
            Self::Stderr(data) => (2, data),
            Self::Control(message) => {
                control = serde_json::to_vec(message).map_err(io::Error::other)?;
                (3, &control)
            }
        };
        if payload.len() > MAX_PAYLOAD {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "frame too long"));
        }
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        out.reserve(HEADER + payload.len());
        out.push(channel);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Takes one frame from the front of `data`: the frame and how many bytes it
    /// took, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// An unknown channel, a payload above [`MAX_PAYLOAD`], or control text that
    /// is not understood. The stream cannot be used after that.
    pub fn decode(data: &[u8]) -> io::Result<Option<(Self, usize)>> {
        let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let Some((header, rest)) = data.split_at_checked(HEADER) else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length > MAX_PAYLOAD {
            return Err(bad("frame too long"));
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = match header[0] {
            0 => Self::Stdin(payload.to_vec()),
            1 => Self::Stdout(payload.to_vec()),
            2 => Self::Stderr(payload.to_vec()),
            3 => Self::Control(serde_json::from_slice(payload).map_err(|_| bad("control frame not understood"))?),
            _ => return Err(bad("unknown channel")),
        };
        Ok(Some((frame, HEADER + length)))
    }

    /// Reads one frame; `None` at a clean end of the stream.
    ///
    /// # Errors
    /// As [`Frame::decode`], or what the reader says.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut buffer = vec![0; HEADER];
        match from.read(&mut buffer[..1])? {
            0 => return Ok(None),
            _ => from.read_exact(&mut buffer[1..])?,
        }
        let length = u32::from_be_bytes([buffer[1], buffer[2], buffer[3], buffer[4]]) as usize;
        if length > MAX_PAYLOAD {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
        }
        buffer.resize(HEADER + length, 0);
        from.read_exact(&mut buffer[HEADER..])?;
        Ok(Self::decode(&buffer)?.map(|(frame, _)| frame))
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// As [`Frame::encode`], or what the writer says.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut out = Vec::new();
        self.encode(&mut out)?;
        to.write_all(&out)
    }
}

/// Frames over any asynchronous byte stream, for `tokio_util::codec::Framed`.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCodec;

#[cfg(feature = "tokio")]
impl tokio_util::codec::Decoder for FrameCodec {
    type Item = Frame;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut bytes::BytesMut) -> io::Result<Option<Frame>> {
        Ok(Frame::decode(buffer)?.map(|(frame, taken)| {
            bytes::Buf::advance(buffer, taken);
            frame
        }))
    }
}

#[cfg(feature = "tokio")]
impl tokio_util::codec::Encoder<Frame> for FrameCodec {
    type Error = io::Error;

    fn encode(&mut self, frame: Frame, buffer: &mut bytes::BytesMut) -> io::Result<()> {
        let mut out = Vec::new();
        frame.encode(&mut out)?;
        buffer.extend_from_slice(&out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_whole_and_in_pieces() {
        let frames = [
            Frame::Stdin(vec![]),
            Frame::Stdout(vec![7; MAX_PAYLOAD]),
            Frame::Control(Control::Open(Open::Exec {
                argv: vec!["true".into()],
                env: BTreeMap::new(),
                cwd: None,
                terminal: Some(Size { rows: 24, cols: 80 }),
            })),
            Frame::Control(Control::Exit { code: 3 }),
        ];
        let mut bytes = Vec::new();
        for frame in &frames {
            frame.encode(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        for frame in &frames {
            for cut in [0, 3, 5] {
                if rest.len() > cut && cut < 5 {
                    assert!(Frame::decode(&rest[..cut]).unwrap().is_none());
                }
            }
            let (read, taken) = Frame::decode(rest).unwrap().unwrap();
            assert_eq!(&read, frame);
            rest = &rest[taken..];
        }
        let mut reader = bytes.as_slice();
        for frame in &frames {
            assert_eq!(Frame::read(&mut reader).unwrap().as_ref(), Some(frame));
        }
        assert_eq!(Frame::read(&mut reader).unwrap(), None);
    }

    #[test]
    fn hostile_bytes_are_refused() {
        for bad in [&[9, 0, 0, 0, 0][..], &[0, 0xff, 0, 0, 0], &[3, 0, 0, 0, 1, b'x']] {
            assert!(Frame::decode(bad).is_err());
            assert!(Frame::read(&mut &bad[..]).is_err());
        }
    }
}
