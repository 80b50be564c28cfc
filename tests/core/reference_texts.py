"""Sentences of a grammar, and weights as bytes, in plain loops."""

import math


def sentences(deeds, adjectives, pronouns, reasons):
    """Every sentence with its probability: one choice after the other."""
    result = []
    for subject in deeds:
        for verb in deeds[subject]:
            for way in deeds[subject][verb]:
                p = 1 / len(deeds) / len(deeds[subject])
                p = p / len(deeds[subject][verb])
                did = f"{subject} {verb} {way}"
                pronoun = pronouns.get(subject, "it")
                reason = f"{did} because {pronoun} was {reasons[verb]}"
                for text, share in ((did, 0.2), (reason, 0.5)):
                    result.append((f"the {text} .", p * share * 3 / 4))
                    for adjective in adjectives:
                        named = p * share / 4 / len(adjectives)
                        result.append((f"the {adjective} {text} .", named))
                for other in deeds[subject]:
                    if other == verb:
                        continue
                    for place in deeds[subject][other]:
                        share = 0.3 / (len(deeds[subject]) - 1)
                        share = share / len(deeds[subject][other])
                        text = f"the {did} and {other} {place} ."
                        result.append((text, p * share))
    return result


def least_loss(result):
    """Nats per word of whoever knows the grammar; the first word is given."""
    nats = -sum(p * math.log(p) for _, p in result)
    return nats / sum(p * (len(text.split()) - 1) for text, p in result)


def bytes_of(weights):
    """The bytes of one causal map, row by row up to the diagonal."""
    result = []
    for t in range(len(weights)):
        for s in range(t + 1):
            result.append(math.floor(255 * weights[t][s] + 0.5))
    return result


def weights_of(stored, T):
    """The causal map that bytes stand for."""
    result = [[0.0] * T for _ in range(T)]
    place = 0
    for t in range(T):
        for s in range(t + 1):
            result[t][s] = stored[place] / 255
            place += 1
    return result


def sums_of(weights, ids):
    """Weight on the first key, on the previous, on what followed last time."""
    first = previous = followed = 0.0
    for t in range(1, len(ids)):
        first += weights[t][0]
        previous += weights[t][t - 1]
        before = [s for s in range(t) if ids[s] == ids[t]]
        if before:
            followed += weights[t][before[-1] + 1]
    return first, previous, followed
