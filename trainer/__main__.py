"""`python -m trainer` is the same command as `attn-drill`."""

from trainer.cli.app import main

if __name__ == "__main__":
    main()
