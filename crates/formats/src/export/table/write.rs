//! The columns as row groups of a Parquet file.

use std::ops::Range;
use std::sync::Arc;

use drivelab_core::Refusal;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::column::{Column, MAKER, Values};

/// Rows of a group: the part that a reader loads into memory at once.
const GROUP: usize = 1 << 17;

/// Writes all rows.
pub(super) fn write(columns: &[Column]) -> Result<Vec<u8>, Refusal> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    for (index, column) in columns.iter().enumerate() {
        assert_eq!(column.values.len(), rows, "a table has no gaps");
        let mut earlier = columns[..index].iter();
        assert!(earlier.all(|other| other.name != column.name), "a column is found by its name");
    }
    file(columns, rows).map_err(|error| {
        Refusal::machine(format!("the Parquet file cannot be made: {error}"))
            .hint("please report this as a bug of drivelab")
    })
}

fn file(columns: &[Column], rows: usize) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(|column| field(column).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_created_by(MAKER.to_owned()).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    // Groups bound the memory of a reader that streams the file.
    for begin in (0..rows).step_by(GROUP) {
        let end = rows.min(begin + GROUP);
        let mut group = file.next_row_group()?;
        for column in columns {
            let mut out = group.next_column()?.expect("the schema has as many columns");
            match &column.values {
                Values::Counts(counts) => {
                    out.typed::<Int64Type>().write_batch(&counts[begin..end], None, None)
                }
                Values::Numbers(numbers) => {
                    out.typed::<DoubleType>().write_batch(&numbers[begin..end], None, None)
                }
                Values::Texts(texts) => {
                    out.typed::<ByteArrayType>().write_batch(&bytes(texts, begin..end), None, None)
                }
            }?;
            out.close()?;
        }
        group.close()?;
    }
    file.into_inner()
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Counts(_) => (Physical::INT64, None),
        Values::Numbers(_) => (Physical::DOUBLE, None),
        Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()
}

fn bytes(texts: &[String], rows: Range<usize>) -> Vec<ByteArray> {
    texts[rows].iter().map(|text| text.as_str().into()).collect()
}
