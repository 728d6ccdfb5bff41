"""Run the command line with `python -m trainer`, which equals `attn-drill`."""

from trainer.cli.entry import main

if __name__ == "__main__":
    main()
