"""The only Prefect: pipeline.py's compositions as flows, its steps as tasks."""
