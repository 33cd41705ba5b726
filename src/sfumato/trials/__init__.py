"""One harness for every attack: who attacks, what is attacked, beside what it is compared with."""
