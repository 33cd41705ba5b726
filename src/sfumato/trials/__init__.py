"""One harness for every attack: who attacks, what is attacked, beside which control, floor, prior and rivals."""
