"""`python -m trainer` is the same command as `attn-drill`."""

from trainer.cli.entry import main

if __name__ == "__main__":
    main()
