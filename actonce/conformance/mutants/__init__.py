"""How strong the suite is: one decision of what ships changed, and judged by the walk."""
