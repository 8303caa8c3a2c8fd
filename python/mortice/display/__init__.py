"""How tables look: HTML for notebooks and reports, and plots. These modules know values, not tables."""
