"""The tables of Vec2Text, run again."""
