"""What the slides name and no experiment here can decide, with the reason, and what is tried in its place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Untestable:
    """A claim, why it is not tested, and the experiments that stand in for it."""

    name: str
    says: str
    seed: str  # whose slides name it
    why: str
    instead: str = ""


UNTESTABLE = (
    Untestable(
        "gpt-4-experts",
        "GPT-4 is a mixture of experts (a rumour), and what fine-tuned GPT-3.5 and GPT-4 can do",
        "Bukatin",
        "the models are closed",
        "experts, lora",
    ),
    Untestable(
        "corpora",
        "LLaMA's table of data, the 10¹¹ parameters of GPT-3, OpenGPT-X",
        "Mehlig",
        "facts about corpora and sizes; there is nothing to try",
    ),
    Untestable(
        "tc0",
        "transformers of constant depth and logarithmic precision are in uniform TC⁰, so none solves the word problem "
        "of S5 unless TC⁰ = NC¹",
        "Hsu and Moitra",
        "a theorem about families of models; a finite run can only show that depth grows",
        "automata",
    ),
    Untestable(
        "exp-depth",
        "the sample size grows exponentially with depth",
        "Hsu and Moitra",
        "an upper bound, which no run can break",
        "sample-size",
    ),
    Untestable(
        "mpc",
        "transformers simulate massively parallel computation and are simulated by it",
        "Hsu and Moitra",
        "a statement about families of models",
        "hops",
    ),
    Untestable(
        "prompting",
        "chain-of-thought and few-shot prompts of large language models: tennis balls, sentiment, the Dursleys",
        "Hsu and Moitra",
        "they need a large language model",
        "chain-of-thought, few-shot, induction",
    ),
    Untestable(
        "making-more-difficult",
        "attention's colours in “making … more difficult” (Vaswani et al. 2017)",
        "Mehlig",
        "it needs a model of English",
        "induction",
    ),
    Untestable(
        "masters",
        "TD-Gammon against Robertie, AlphaGo against professionals, a million games a day",
        "Mehlig",
        "neither the opponents nor the scale can be had",
        "backgammon, self-play",
    ),
    Untestable(
        "scale",
        "Google's translations (Wu et al. 2016), Swin on ImageNet, the safety training of Llama 2 70B undone",
        "Mehlig",
        "scale and data",
        "both-ways, board-2d, lora-undo",
    ),
    Untestable(
        "simulacra",
        "what simulacra are (Janus; Shanahan 2023)",
        "Bukatin",
        "philosophy; the part about sampling is exact",
        "simulators",
    ),
    Untestable(
        "generalisation",
        "which notion of generalisation, and which abstraction of a transformer, is the relevant one",
        "Hsu and Moitra",
        "a question, not a claim",
    ),
    Untestable(
        "multi-lora",
        "MultiLoRA shares out the changes more evenly than LoRA",
        "Bukatin",
        "a recipe for large models",
        "lora",
    ),
)
