"""What was found, as pages: report.json for programs, report.md and report.html for people."""
