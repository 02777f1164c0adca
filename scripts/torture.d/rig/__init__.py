"""What every attack uses: processes, served drives, clients, histories, the table."""
