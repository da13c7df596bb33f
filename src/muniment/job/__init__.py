"""Room `job`: one execution, one record of facts."""
