"""Parts of hand-written transformers: encodings, MLPs that compute any finite function, intervals for proofs."""
