"""Parts of hand-written transformers: the residual stream as a value (`stream`), encodings of tokens and positions,
MLPs that compute any finite function (`exact`), how large is large (`loudness`), and intervals for proofs."""
