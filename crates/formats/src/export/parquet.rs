//! Apache Parquet: a row for each figure of each run, for `DuckDB`, pandas and others.

use std::sync::Arc;

use drivelab_core::Refusal;
use drivelab_core::config::Choice as _;
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, label_names};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::exported::Exported;

/// The columns, in the order of [`Columns::all`].
const SCHEMA: &str = "message figures {
    REQUIRED BYTE_ARRAY tool (STRING);
    REQUIRED BYTE_ARRAY tool_version (STRING);
    REQUIRED INT64 run;
    REQUIRED BYTE_ARRAY arm (STRING);
    OPTIONAL INT64 ended (TIMESTAMP(MILLIS, true));
    REQUIRED BYTE_ARRAY setup (JSON);
    REQUIRED BYTE_ARRAY phase (STRING);
    REQUIRED BYTE_ARRAY metric (STRING);
    REQUIRED DOUBLE value;
    REQUIRED BYTE_ARRAY unit (STRING);
    REQUIRED BYTE_ARRAY better (STRING);
    REQUIRED BYTE_ARRAY nature (STRING);
    REQUIRED BYTE_ARRAY labels (STRING);
    REQUIRED BOOLEAN detail;
}";

/// The rows, column by column.
#[derive(Default)]
struct Columns {
    /// `tool`, `tool_version`, `arm`, `setup`, `phase`, `metric`, `unit`, `better`, `nature`,
    /// `labels`.
    texts: [Vec<ByteArray>; 10],
    run: Vec<i64>,
    /// The known times, and for each row 1 if it has one.
    ended: (Vec<i64>, Vec<i16>),
    value: Vec<f64>,
    detail: Vec<bool>,
}

/// Writes one row per run and figure.
pub(super) fn write(results: &Imported) -> Result<Exported, Refusal> {
    let mut columns = Columns::default();
    for (number, run) in (1..).zip(&results.runs) {
        let setup = serde_json::to_string(&run.setup).expect("plain data is always JSON");
        let ended_ms =
            run.ended_unix_s.and_then(|ended| i64::try_from(ended).ok()?.checked_mul(1000));
        for phase in &run.phases {
            for figure in phase.metrics() {
                columns.run.push(number);
                columns.ended.0.extend(ended_ms);
                columns.ended.1.push(i16::from(ended_ms.is_some()));
                columns.value.push(figure.value);
                columns.detail.push(figure.is_detail);
                let better = match figure.better {
                    Better::More => "more",
                    Better::Less => "less",
                    Better::Neither => "",
                };
                columns.texts([
                    &results.tool,
                    &results.tool_version,
                    &run.arm,
                    &setup,
                    &phase.name,
                    &figure.name,
                    figure.unit(),
                    better,
                    figure.nature.unwrap_or(phase.nature).name(),
                    &label_names(&figure.remarks).join(", "),
                ]);
            }
        }
    }
    let binary = columns.write().map_err(|error| {
        Refusal::machine(format!("the Parquet file cannot be made: {error}"))
            .hint("please report this as a bug of drivelab")
    })?;
    Ok(Exported { binary, ..Exported::default() })
}

impl Columns {
    fn texts(&mut self, texts: [&str; 10]) {
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(text.into());
        }
    }

    /// The columns, in the order of the schema.
    fn all(&self) -> [Column<'_>; 14] {
        let [tool, version, arm, setup, phase, metric, unit, better, nature, labels] = &self.texts;
        [
            Column::Text(tool),
            Column::Text(version),
            Column::Count(&self.run, None),
            Column::Text(arm),
            Column::Count(&self.ended.0, Some(&self.ended.1)),
            Column::Text(setup),
            Column::Text(phase),
            Column::Text(metric),
            Column::Number(&self.value),
            Column::Text(unit),
            Column::Text(better),
            Column::Text(nature),
            Column::Text(labels),
            Column::Flag(&self.detail),
        ]
    }

    /// The file.
    fn write(&self) -> Result<Vec<u8>, ParquetError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
        let mut rows = file.next_row_group()?;
        for column in self.all() {
            let mut out = rows.next_column()?.expect("the schema has as many columns");
            match column {
                Column::Text(texts) => out.typed::<ByteArrayType>().write_batch(texts, None, None),
                Column::Count(counts, known) => {
                    out.typed::<Int64Type>().write_batch(counts, known, None)
                }
                Column::Number(numbers) => {
                    out.typed::<DoubleType>().write_batch(numbers, None, None)
                }
                Column::Flag(flags) => out.typed::<BoolType>().write_batch(flags, None, None),
            }?;
            out.close()?;
        }
        rows.close()?;
        file.into_inner()
    }
}

/// One column; of one whose values may be missing, also a 1 for each row that has one.
enum Column<'a> {
    Text(&'a [ByteArray]),
    Count(&'a [i64], Option<&'a [i16]>),
    Number(&'a [f64]),
    Flag(&'a [bool]),
}
