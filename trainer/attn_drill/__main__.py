"""Run the command line with `python -m attn_drill`, which equals `attn-drill`."""

from attn_drill.cli.entry import main

if __name__ == "__main__":
    main()
