"""What a derivation is made of: statements, lines, the rules that justify them, and how they are compared with claims."""
