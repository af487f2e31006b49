"""One assistant at run time, below its script: state, working memory, turns, names and rights."""
