"""Room `job`: what is on record of a job, as documents that strangers can read and check."""
