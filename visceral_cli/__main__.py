"""``python -m visceral_cli``: the same as the command ``visceral``."""

from visceral_cli.cli.start import main

if __name__ == "__main__":
    main()
