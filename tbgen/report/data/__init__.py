"""What a report says as JSON documents and CSV files."""
