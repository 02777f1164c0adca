//! Results to text, JSON, CSV, Markdown and HTML; foreign formats in. Pure: same input, same bytes.
