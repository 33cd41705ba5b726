"""What a release is made and checked with: no part of the package itself."""
