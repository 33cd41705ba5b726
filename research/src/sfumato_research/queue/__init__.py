"""A queue for one machine: a written plan of jobs, run within its GPU memory, its cores and a deadline."""
