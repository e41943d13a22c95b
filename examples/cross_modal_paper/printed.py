"""What the paper prints."""

#: Table 2: mean average precision.
MAP = {
    "Random": {"image-text": 0.118, "text-image": 0.118, "image-keyword": 0.054, "keyword-image": 0.061},
    "CCA": {"image-text": 0.249, "text-image": 0.196, "image-keyword": 0.117, "keyword-image": 0.125},
    "CFA": {"image-text": 0.279, "text-image": 0.231, "image-keyword": 0.112, "keyword-image": 0.136},
    "SCM": {"image-text": 0.277, "text-image": 0.226, "image-keyword": 0.126, "keyword-image": 0.131},
    "MSmethod": {"image-text": 0.282, "text-image": 0.238, "image-keyword": 0.135, "keyword-image": 0.147},
    "BPRHML": {"image-text": 0.299, "text-image": 0.265, "image-keyword": 0.179, "keyword-image": 0.167},
}

#: Section 5.3: alpha and beta of the Wikipedia tasks. Neither c, nor learning rate, nor preprocessing are given.
WEIGHTS = {"image-text": (86.0, 7.1), "text-image": (1000.0, 0.001)}
