"""The experiments of McFee & Lanckriet (2010), in parts; ``paper.py`` states them."""
