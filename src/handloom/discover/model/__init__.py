"""The transformer of a discovery run: constructions as tokens (`codec`, `bpe`), training and sampling (`proposer`), on
several devices (`torchrun`). Its turn in the loop is loop/model_turn.py."""
