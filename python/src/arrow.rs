//! Tables through the Arrow C data interface and its PyCapsules, without a copy.
//!
//! The structures are those of <https://arrow.apache.org/docs/format/CDataInterface.html> and
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>. A consumer copies a structure and sets `release` of the
//! original to null; whoever holds a structure whose `release` is not null must call it once.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::table::{Column, Table, Values};

/// The values of the column may be missing.
const NULLABLE: i64 = 2;

/// struct ArrowSchema: the type of a column, or of a table as a column of structures.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// struct ArrowArray: the values.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// struct ArrowArrayStream: arrays of one type, here one.
#[repr(C)]
struct Stream {
    get_schema: unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int,
    get_next: unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int,
    get_last_error: unsafe extern "C" fn(*mut Stream) -> *const c_char,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

// SAFETY: the structures own what they point to, which nobody changes.
unsafe impl Send for Schema {}
unsafe impl Send for Array {}
unsafe impl Send for Stream {}

impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was not released, and is not used any more.
            unsafe { release(self) };
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for a schema.
            unsafe { release(self) };
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for a schema.
            unsafe { release(self) };
        }
    }
}

/// What a schema points to.
struct SchemaParts {
    name: CString,
    children: Vec<*mut Schema>,
}

/// What an array points to; the buffers are in the table.
struct ArrayParts {
    _table: Arc<Table>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
}

struct StreamParts {
    table: Arc<Table>,
    is_over: bool,
}

impl Drop for SchemaParts {
    fn drop(&mut self) {
        for child in self.children.drain(..) {
            // SAFETY: it came from a box; if a consumer has moved its contents, its `release` is null.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

impl Drop for ArrayParts {
    fn drop(&mut self) {
        for child in self.children.drain(..) {
            // SAFETY: as for a schema.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the caller has a schema of `Schema::new` that was not released.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<SchemaParts>()));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: the caller has an array of `Array::new` that was not released.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<ArrayParts>()));
        (*array).release = None;
    }
}

impl Schema {
    fn of_table(table: &Table) -> Schema {
        let children = table.columns.iter().map(Schema::of_column);
        Schema::new(c"+s", c"", 0, children.collect())
    }

    fn of_column(column: &Column) -> Schema {
        Schema::new(column.values.format(), &column.name, NULLABLE, Vec::new())
    }

    fn new(format: &'static CStr, name: &CStr, flags: i64, children: Vec<Schema>) -> Schema {
        let children = children.into_iter();
        let mut parts = Box::new(SchemaParts {
            name: name.to_owned(),
            children: children
                .map(|child| Box::into_raw(Box::new(child)))
                .collect(),
        });
        Schema {
            format: format.as_ptr(),
            name: parts.name.as_ptr(),
            metadata: ptr::null(),
            flags,
            n_children: parts.children.len() as i64,
            children: parts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

impl Array {
    fn of_table(table: &Arc<Table>) -> Array {
        let children = table.columns.iter();
        let children = children.map(|column| Array::of_column(table, column));
        // A table has no bits of missing rows.
        Array::new(table, 0, vec![ptr::null()], children.collect())
    }

    fn of_column(table: &Arc<Table>, column: &Column) -> Array {
        let mut buffers = vec![column.valid.as_ptr().cast()];
        match &column.values {
            Values::Text { offsets, bytes } => {
                buffers.extend([offsets.as_ptr().cast(), bytes.as_ptr().cast()]);
            }
            Values::Signed(numbers) => buffers.push(numbers.as_ptr().cast()),
            Values::Unsigned(numbers) => buffers.push(numbers.as_ptr().cast()),
            Values::Float(numbers) => buffers.push(numbers.as_ptr().cast()),
        }
        Array::new(table, column.nr_missing, buffers, Vec::new())
    }

    fn new(
        table: &Arc<Table>,
        missing: usize,
        buffers: Vec<*const c_void>,
        children: Vec<Array>,
    ) -> Array {
        let children = children.into_iter();
        let mut parts = Box::new(ArrayParts {
            _table: Arc::clone(table),
            buffers,
            children: children
                .map(|child| Box::into_raw(Box::new(child)))
                .collect(),
        });
        Array {
            length: table.rows as i64,
            null_count: missing as i64,
            offset: 0,
            n_buffers: parts.buffers.len() as i64,
            n_children: parts.children.len() as i64,
            buffers: parts.buffers.as_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    /// The array behind the last one of a stream.
    fn released() -> Array {
        Array {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

unsafe extern "C" fn stream_schema(stream: *mut Stream, to: *mut Schema) -> c_int {
    // SAFETY: the caller has a stream of `Stream::new`, and room for a schema.
    unsafe {
        let parts = &*(*stream).private_data.cast::<StreamParts>();
        to.write(Schema::of_table(&parts.table));
    }
    0
}

unsafe extern "C" fn stream_next(stream: *mut Stream, to: *mut Array) -> c_int {
    // SAFETY: as above.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        to.write(match std::mem::replace(&mut parts.is_over, true) {
            true => Array::released(),
            false => Array::of_table(&parts.table),
        });
    }
    0
}

unsafe extern "C" fn stream_error(_: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: the caller has a stream of `Stream::new` that was not released.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
        (*stream).release = None;
    }
}

impl Stream {
    fn new(table: &Arc<Table>) -> Stream {
        let parts = Box::new(StreamParts {
            table: Arc::clone(table),
            is_over: false,
        });
        Stream {
            get_schema: stream_schema,
            get_next: stream_next,
            get_last_error: stream_error,
            release: Some(release_stream),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    value: T,
    name: &CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new(py, value, Some(name.to_owned()))
}

pub fn schema<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyCapsule>> {
    capsule(py, Schema::of_table(table), c"arrow_schema")
}

pub fn array<'py>(py: Python<'py>, table: &Arc<Table>) -> PyResult<Bound<'py, PyCapsule>> {
    capsule(py, Array::of_table(table), c"arrow_array")
}

pub fn stream<'py>(py: Python<'py>, table: &Arc<Table>) -> PyResult<Bound<'py, PyCapsule>> {
    capsule(py, Stream::new(table), c"arrow_array_stream")
}
