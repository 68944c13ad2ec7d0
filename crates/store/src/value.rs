//! Values that go into a statement and rows that come back, the same for every database.

use crate::error::StoreError;

/// One value of a statement or of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Val {
    /// SQL NULL.
    Null,
    /// A whole number; booleans are 0 and 1, instants are microseconds since 1970.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// Text without NUL (checked when it is bound).
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Val {
    fn kind(&self) -> &'static str {
        match self {
            Val::Null => "null",
            Val::Int(_) => "integer",
            Val::Real(_) => "real",
            Val::Text(_) => "text",
            Val::Bytes(_) => "bytes",
        }
    }
}

/// The arguments of a statement: `vals![id, name, version]` is a slice of [`Val`].
#[macro_export]
macro_rules! vals {
    ($($value:expr),* $(,)?) => { &[$($crate::Val::from($value)),*] };
}

macro_rules! from {
    ($($from:ty => |$v:ident| $make:expr;)*) => {
        $(impl From<$from> for Val {
            fn from($v: $from) -> Self {
                $make
            }
        })*
    };
}

from! {
    i64 => |v| Val::Int(v);
    i32 => |v| Val::Int(v.into());
    u32 => |v| Val::Int(v.into());
    u16 => |v| Val::Int(v.into());
    u8 => |v| Val::Int(v.into());
    bool => |v| Val::Int(v.into());
    f64 => |v| Val::Real(v);
    String => |v| Val::Text(v);
    &String => |v| Val::Text(v.clone());
    &str => |v| Val::Text(v.to_owned());
    Vec<u8> => |v| Val::Bytes(v);
    &[u8] => |v| Val::Bytes(v.to_vec());
    uuid::Uuid => |v| Val::Text(v.to_string());
}

impl<T: Into<Val>> From<Option<T>> for Val {
    fn from(value: Option<T>) -> Self {
        value.map_or(Val::Null, Into::into)
    }
}

impl TryFrom<u64> for Val {
    type Error = StoreError;

    fn try_from(value: u64) -> Result<Self, StoreError> {
        i64::try_from(value).map(Val::Int).map_err(|_| StoreError::BadNumber)
    }
}

impl TryFrom<usize> for Val {
    type Error = StoreError;

    fn try_from(value: usize) -> Result<Self, StoreError> {
        i64::try_from(value).map(Val::Int).map_err(|_| StoreError::BadNumber)
    }
}

/// Refuses text that not every database can keep. Drivers call it before they bind.
pub(crate) fn check_args(args: &[Val]) -> Result<(), StoreError> {
    let bad = |v: &Val| matches!(v, Val::Text(t) if t.as_bytes().contains(&0));
    if args.iter().any(bad) {
        return Err(StoreError::BadText);
    }
    Ok(())
}

/// One row of an answer; columns are read by their place, from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(Vec<Val>);

impl Row {
    /// A row of these columns.
    pub fn new(columns: Vec<Val>) -> Self {
        Row(columns)
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the row has no columns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The column as it is.
    pub fn val(&self, i: usize) -> Result<&Val, StoreError> {
        self.0.get(i).ok_or_else(|| StoreError::Decode(format!("there is no column {i}")))
    }

    /// The column's value, moved out of the row; NULL stays in its place.
    pub fn take(&mut self, i: usize) -> Result<Val, StoreError> {
        match self.0.get_mut(i) {
            Some(v) => Ok(std::mem::replace(v, Val::Null)),
            None => Err(StoreError::Decode(format!("there is no column {i}"))),
        }
    }

    /// Whether the column is NULL.
    pub fn is_null(&self, i: usize) -> Result<bool, StoreError> {
        Ok(matches!(self.val(i)?, Val::Null))
    }

    /// A text, borrowed.
    pub fn str(&self, i: usize) -> Result<&str, StoreError> {
        match self.val(i)? {
            Val::Text(v) => Ok(v),
            other => Err(mismatch(i, "text", other)),
        }
    }

    /// A text or NULL, borrowed.
    pub fn opt_str(&self, i: usize) -> Result<Option<&str>, StoreError> {
        if self.is_null(i)? {
            return Ok(None);
        }
        self.str(i).map(Some)
    }

    /// A text, copied. [`Row::take_text`] spares the copy of a long one.
    pub fn text(&self, i: usize) -> Result<String, StoreError> {
        self.str(i).map(str::to_owned)
    }

    /// A text or NULL, copied.
    pub fn opt_text(&self, i: usize) -> Result<Option<String>, StoreError> {
        Ok(self.opt_str(i)?.map(str::to_owned))
    }

    /// A text, moved out of the row.
    pub fn take_text(&mut self, i: usize) -> Result<String, StoreError> {
        match self.take(i)? {
            Val::Text(v) => Ok(v),
            other => Err(mismatch(i, "text", &other)),
        }
    }

    /// A whole number.
    pub fn int(&self, i: usize) -> Result<i64, StoreError> {
        match self.val(i)? {
            Val::Int(v) => Ok(*v),
            other => Err(mismatch(i, "integer", other)),
        }
    }

    /// A whole number or NULL.
    pub fn opt_int(&self, i: usize) -> Result<Option<i64>, StoreError> {
        if self.is_null(i)? {
            return Ok(None);
        }
        self.int(i).map(Some)
    }

    /// A whole number that is never negative: versions, counts, sequence numbers.
    pub fn uint(&self, i: usize) -> Result<u64, StoreError> {
        u64::try_from(self.int(i)?).map_err(|_| StoreError::Decode(format!("column {i} is negative")))
    }

    /// A boolean, kept as 0 or 1.
    pub fn bool(&self, i: usize) -> Result<bool, StoreError> {
        match self.int(i)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StoreError::Decode(format!("column {i} is neither 0 nor 1"))),
        }
    }

    /// A floating-point number; a whole number is taken as one.
    pub fn real(&self, i: usize) -> Result<f64, StoreError> {
        match self.val(i)? {
            Val::Real(v) => Ok(*v),
            Val::Int(v) => Ok(*v as f64),
            other => Err(mismatch(i, "real", other)),
        }
    }

    /// A floating-point number or NULL.
    pub fn opt_real(&self, i: usize) -> Result<Option<f64>, StoreError> {
        if self.is_null(i)? {
            return Ok(None);
        }
        self.real(i).map(Some)
    }

    /// Bytes, borrowed.
    pub fn bytes(&self, i: usize) -> Result<&[u8], StoreError> {
        match self.val(i)? {
            Val::Bytes(v) => Ok(v),
            other => Err(mismatch(i, "bytes", other)),
        }
    }

    /// Bytes or NULL, borrowed.
    pub fn opt_bytes(&self, i: usize) -> Result<Option<&[u8]>, StoreError> {
        if self.is_null(i)? {
            return Ok(None);
        }
        self.bytes(i).map(Some)
    }

    /// Bytes, moved out of the row.
    pub fn take_bytes(&mut self, i: usize) -> Result<Vec<u8>, StoreError> {
        match self.take(i)? {
            Val::Bytes(v) => Ok(v),
            other => Err(mismatch(i, "bytes", &other)),
        }
    }
}

fn mismatch(i: usize, want: &str, got: &Val) -> StoreError {
    StoreError::Decode(format!("column {i} holds {}, not {want}", got.kind()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn columns_are_read_by_kind() {
        let mut row = Row::new(vec!["a".into(), 7i64.into(), None::<i64>.into(), true.into(), vec![1u8].into()]);
        assert_eq!(row.text(0).unwrap(), "a");
        assert_eq!(row.uint(1).unwrap(), 7);
        assert_eq!(row.opt_int(2).unwrap(), None);
        assert!(row.bool(3).unwrap());
        assert_eq!(row.bytes(4).unwrap(), [1]);
        assert!(matches!(row.int(0), Err(StoreError::Decode(_))));
        assert!(matches!(row.text(2), Err(StoreError::Decode(_))));
        assert!(matches!(row.bool(1), Err(StoreError::Decode(_))));
        assert!(matches!(row.val(5), Err(StoreError::Decode(_))));
        assert_eq!(row.take_text(0).unwrap(), "a");
        assert!(row.is_null(0).unwrap());
    }

    #[test]
    fn numbers_beyond_63_bits_and_nul_are_refused() {
        assert_eq!(Val::try_from(u64::MAX), Err(StoreError::BadNumber));
        assert_eq!(Val::try_from(5u64), Ok(Val::Int(5)));
        assert_eq!(check_args(vals!["a\0b"]), Err(StoreError::BadText));
        assert_eq!(check_args(vals!["ab", vec![0u8]]), Ok(()));
    }
}
