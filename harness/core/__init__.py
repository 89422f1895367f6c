"""Pure decisions: values in, values out; no clock, environment, file or process."""
