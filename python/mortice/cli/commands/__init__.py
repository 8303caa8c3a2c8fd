"""The commands of `mortice`, by what they are for."""
