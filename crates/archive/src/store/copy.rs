//! Rows to and from `PostgreSQL`.

use std::error::Error;

use bytes::BytesMut;
use postgres::Client;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::database::{Row, Value};

/// A value of the archive as a parameter of a statement.
#[derive(Debug)]
pub(super) struct Parameter<'a>(pub(super) &'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            // The one character that its texts cannot hold.
            Value::Text(text) if text.contains('\0') => {
                text.replace('\0', "\u{fffd}").to_sql(kind, out)
            }
            Value::Text(text) => text.to_sql(kind, out),
            Value::Blob(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::TEXT, Type::INT8, Type::FLOAT8, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

/// A row as the archive reads it: of the four types of its tables.
pub(super) fn row(found: &postgres::Row) -> Result<Row, postgres::Error> {
    (0..found.len()).map(|column| value(found, column)).collect::<Result<Vec<_>, _>>().map(Row)
}

fn value(found: &postgres::Row, column: usize) -> Result<Value, postgres::Error> {
    let kind = found.columns()[column].type_();
    let value = if *kind == Type::INT8 {
        found.try_get::<_, Option<i64>>(column)?.map(Value::Integer)
    } else if *kind == Type::BOOL {
        found.try_get::<_, Option<bool>>(column)?.map(|it| Value::Integer(it.into()))
    } else if *kind == Type::FLOAT8 {
        found.try_get::<_, Option<f64>>(column)?.map(Value::Real)
    } else if *kind == Type::BYTEA {
        found.try_get::<_, Option<Vec<u8>>>(column)?.map(Value::Blob)
    } else {
        found.try_get::<_, Option<String>>(column)?.map(Value::Text)
    };
    Ok(value.unwrap_or(Value::Null))
}

/// Sends rows at once; returns how many.
pub(super) fn copy(
    client: &mut Client,
    table: &str,
    columns: &[&str],
    rows: &[&Row],
) -> Result<u64, postgres::Error> {
    let names = columns.join(", ");
    // Rows are sent in binary, in the types of the table.
    let described = client.prepare(&format!("SELECT {names} FROM {table}"))?;
    let kinds: Vec<Type> = described.columns().iter().map(|it| it.type_().clone()).collect();
    let sent = client.copy_in(&format!("COPY {table} ({names}) FROM STDIN BINARY"))?;
    let mut sent = BinaryCopyInWriter::new(sent, &kinds);
    for row in rows {
        debug_assert_eq!(row.0.len(), kinds.len(), "a value for each column");
        let values: Vec<Parameter<'_>> = row.0.iter().map(Parameter).collect();
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| it as _).collect();
        sent.write(&values)?;
    }
    sent.finish()
}
