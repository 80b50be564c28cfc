// A small transformer: what it computes, its gradients, and its training.
//
// Two layers of attention, each behind a root-mean-square norm and added to its
// input; queries and keys rotated by their positions; no feed-forward network.
// All of it is one function, whose text can be sent to a worker with that of
// `bytesOf`.
//
// A matrix is a flat Float64Array, row after row. `n` counts rows.

import { bytesOf } from "../kit/base64.js";

export const transformer = () => {
  const [VOCAB, LENGTH, WIDTH, LAYERS, HEADS] = [12, 32, 32, 2, 2];
  const HEAD = WIDTH / HEADS;
  const EPS = 1e-5;

  // --- parameters ---------------------------------------------------------

  const SIZES = { embedding: VOCAB * WIDTH };
  for (let i = 0; i < LAYERS; i++) {
    SIZES[`${i}.norm_1.gain`] = WIDTH;
    for (const name of ["W_Q", "W_K", "W_V", "W_O"]) SIZES[`${i}.${name}`] = WIDTH * WIDTH;
  }
  Object.assign(SIZES, { "norm.gain": WIDTH, output: WIDTH * VOCAB });
  const COUNT = Object.values(SIZES).reduce((a, b) => a + b);

  // All parameters are in one array; these are views of its parts.
  const named = (numbers) => {
    let at = 0;
    const part = ([name, size]) => [name, numbers.subarray(at, (at += size))];
    return Object.fromEntries(Object.entries(SIZES).map(part));
  };

  // The inverse of course.evidence.pack: integers, and a scale for each part.
  const unpack = ({ bits, scales, data }) => {
    const view = new DataView(bytesOf(data).buffer);
    const numbers = new Float64Array(COUNT);
    let at = 0;
    for (const [name, part] of Object.entries(named(numbers)))
      for (let k = 0; k < part.length; k++, at++)
        part[k] = scales[name] * (bits === 8 ? view.getInt8(at) : view.getInt16(2 * at, true));
    return numbers;
  };

  // --- layers, each beside its gradient -----------------------------------

  // A (n, k) times B (k, m).
  const times = (A, B, n, k, m) => {
    const C = new Float64Array(n * m);
    for (let i = 0; i < n; i++)
      for (let l = 0; l < k; l++) {
        const a = A[i * k + l];
        for (let j = 0; j < m; j++) C[i * m + j] += a * B[l * m + j];
      }
    return C;
  };
  // Returns dA = dC Bᵀ, and adds Aᵀ dC to dB.
  const timesBack = (dC, A, B, dB, n, k, m) => {
    const dA = new Float64Array(n * k);
    for (let i = 0; i < n; i++)
      for (let l = 0; l < k; l++) {
        const a = A[i * k + l];
        let sum = 0;
        for (let j = 0; j < m; j++) {
          const d = dC[i * m + j];
          sum += d * B[l * m + j];
          dB[l * m + j] += a * d;
        }
        dA[i * k + l] = sum;
      }
    return dA;
  };

  const root = (x, row) => {
    let sum = 0;
    for (let j = 0; j < WIDTH; j++) sum += x[row + j] ** 2;
    return Math.sqrt(sum / WIDTH + EPS);
  };
  const norm = (x, gain) => {
    const y = new Float64Array(x.length);
    for (let row = 0; row < x.length; row += WIDTH) {
      const r = root(x, row);
      for (let j = 0; j < WIDTH; j++) y[row + j] = (x[row + j] / r) * gain[j];
    }
    return y;
  };
  const normBack = (dy, x, gain, dgain) => {
    const dx = new Float64Array(x.length);
    for (let row = 0; row < x.length; row += WIDTH) {
      const r = root(x, row);
      let mean = 0;
      for (let j = 0; j < WIDTH; j++) {
        const standard = x[row + j] / r;
        dgain[j] += dy[row + j] * standard;
        mean += (dy[row + j] * gain[j] * standard) / WIDTH;
      }
      for (let j = 0; j < WIDTH; j++)
        dx[row + j] = (dy[row + j] * gain[j] - mean * (x[row + j] / r)) / r;
    }
    return dx;
  };

  // Columns j and j + HEAD / 2 of each head are a pair, turned by an angle that
  // grows with the position; a negative `sign` rotates back.
  const HALF = HEAD / 2;
  const angle = (t, j) => t * 10000 ** (-j / HALF);
  const COS = Float64Array.from({ length: LENGTH * HALF }, (_, k) =>
    Math.cos(angle(Math.floor(k / HALF), k % HALF)),
  );
  const SIN = Float64Array.from({ length: LENGTH * HALF }, (_, k) =>
    Math.sin(angle(Math.floor(k / HALF), k % HALF)),
  );
  const rotate = (X, n, sign) => {
    for (let t = 0; t < n; t++)
      for (let h = 0; h < HEADS; h++)
        for (let j = 0; j < HALF; j++) {
          const at = t * WIDTH + h * HEAD + j;
          const [a, b] = [X[at], X[at + HALF]];
          const [cos, sin] = [COS[t * HALF + j], sign * SIN[t * HALF + j]];
          X[at] = a * cos - b * sin;
          X[at + HALF] = a * sin + b * cos;
        }
    return X;
  };

  // The rows of all heads are side by side; head h owns HEAD columns from h *
  // HEAD. Query i attends to the keys 0 to i.
  const product = (A, i, B, j, h) => {
    let sum = 0;
    for (let c = h * HEAD; c < (h + 1) * HEAD; c++) sum += A[i * WIDTH + c] * B[j * WIDTH + c];
    return sum;
  };
  const addRow = (C, i, factor, B, j, h) => {
    for (let c = h * HEAD; c < (h + 1) * HEAD; c++) C[i * WIDTH + c] += factor * B[j * WIDTH + c];
  };
  const soften = (row) => {
    const top = Math.max(...row);
    let total = 0;
    for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - top);
    for (let j = 0; j < row.length; j++) row[j] /= total;
    return row;
  };
  const SCALE = 1 / Math.sqrt(HEAD);
  const attend = (Q, K, n, h) => {
    const weights = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) weights[i * n + j] = SCALE * product(Q, i, K, j, h);
      soften(weights.subarray(i * n, i * n + i + 1));
    }
    return weights;
  };
  const mix = (heads, weights, V, n, h) => {
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++) addRow(heads, i, weights[i * n + j], V, j, h);
  };
  // Adds to dQ, dK and dV the gradients that follow from that of one head's
  // output.
  const attendBack = (dheads, { Q, K, V, weights }, [dQ, dK, dV], n, h) => {
    const dweights = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let mean = 0;
      for (let j = 0; j <= i; j++) {
        const w = weights[h][i * n + j];
        dweights[j] = product(dheads, i, V, j, h);
        mean += w * dweights[j];
        addRow(dV, j, w, dheads, i, h);
      }
      for (let j = 0; j <= i; j++) {
        const dscore = SCALE * weights[h][i * n + j] * (dweights[j] - mean);
        addRow(dQ, i, dscore, K, j, h);
        addRow(dK, j, dscore, Q, i, h);
      }
    }
  };

  // The steps of helpers.heads.attention_layer: project, rotate, attend in each
  // head, and project the heads' outputs. `keep` says for each head whether its
  // output counts; `p` returns a matrix of the block by its name.
  const attentionLayer = (X, p, n, keep = null) => {
    const [Q, K, V] = ["W_Q", "W_K", "W_V"].map((W) => times(X, p(W), n, WIDTH, WIDTH));
    rotate(Q, n, 1);
    rotate(K, n, 1);
    const weights = [];
    const heads = new Float64Array(n * WIDTH);
    for (let h = 0; h < HEADS; h++) {
      weights.push(attend(Q, K, n, h));
      if (!keep || keep[h]) mix(heads, weights[h], V, n, h);
    }
    const output = times(heads, p("W_O"), n, WIDTH, WIDTH);
    return { output, X, Q, K, V, weights, heads };
  };
  // The same steps in reverse order; adds to the gradients `g`.
  const attentionLayerBack = (doutput, kept, p, g, n) => {
    const back = (d, A, W) => timesBack(d, A, p(W), g(W), n, WIDTH, WIDTH);
    const dheads = back(doutput, kept.heads, "W_O");
    const parts = [0, 1, 2].map(() => new Float64Array(n * WIDTH));
    for (let h = 0; h < HEADS; h++) attendBack(dheads, kept, parts, n, h);
    rotate(parts[0], n, -1);
    rotate(parts[1], n, -1);
    const [dQ, dK, dV] = ["W_Q", "W_K", "W_V"].map((W, k) => back(parts[k], kept.X, W));
    return dQ.map((d, k) => d + dK[k] + dV[k]);
  };

  // --- the model ----------------------------------------------------------

  const block = (params, i) => (name) => params[`${i}.${name}`];

  // `on` says for each head of each layer whether its output counts.
  const forward = (params, tokens, on = null) => {
    const n = tokens.length;
    let x = new Float64Array(n * WIDTH);
    tokens.forEach((token, t) =>
      x.set(params.embedding.subarray(token * WIDTH, (token + 1) * WIDTH), t * WIDTH),
    );
    const layers = [];
    for (let i = 0; i < LAYERS; i++) {
      const p = block(params, i);
      const read = norm(x, p("norm_1.gain"));
      const attended = attentionLayer(read, p, n, on && on[i]);
      layers.push({ x, ...attended });
      x = x.map((a, k) => a + attended.output[k]);
    }
    const final = norm(x, params["norm.gain"]);
    return { logits: times(final, params.output, n, WIDTH, VOCAB), layers, x, final };
  };

  // Adds to `grads` the gradients that follow from that of one sequence's logits.
  const backward = (dlogits, tokens, { layers, x, final }, params, grads) => {
    const n = tokens.length;
    const dfinal = timesBack(dlogits, final, params.output, grads.output, n, WIDTH, VOCAB);
    let dx = normBack(dfinal, x, params["norm.gain"], grads["norm.gain"]);
    for (let i = LAYERS - 1; i >= 0; i--) {
      const [p, g, kept] = [block(params, i), block(grads, i), layers[i]];
      const dread = attentionLayerBack(dx, kept, p, g, n);
      const around = normBack(dread, kept.x, p("norm_1.gain"), g("norm_1.gain"));
      dx = dx.map((d, k) => d + around[k]); // the layer's input is added to its output
    }
    tokens.forEach((token, t) => {
      for (let j = 0; j < WIDTH; j++) grads.embedding[token * WIDTH + j] += dx[t * WIDTH + j];
    });
  };

  // --- training -----------------------------------------------------------

  const largest = (row) => row.indexOf(Math.max(...row));

  // The mean loss over the positions that count, the fraction of them whose
  // largest logit is the target's, and the gradient of each parameter.
  const lossAndGradients = (numbers, batch) => {
    const [params, gradients] = [named(numbers), new Float64Array(COUNT)];
    const grads = named(gradients);
    const counted = batch.reduce((sum, { where }) => sum + where.filter(Boolean).length, 0);
    let [loss, right] = [0, 0];
    for (const { tokens, targets, where } of batch) {
      const kept = forward(params, tokens);
      const d = new Float64Array(kept.logits.length);
      where.forEach((counts, t) => {
        if (!counts) return;
        const row = kept.logits.subarray(t * VOCAB, (t + 1) * VOCAB);
        right += (largest(row) === targets[t]) / counted;
        const chances = soften(row.slice());
        loss -= Math.log(chances[targets[t]]) / counted;
        chances[targets[t]] -= 1;
        d.set(
          chances.map((c) => c / counted),
          t * VOCAB,
        );
      });
      backward(d, tokens, kept, params, grads);
    }
    return { loss, right, gradients };
  };

  // Adam. Each call takes a batch, updates the parameters, and returns the loss
  // and the accuracy before the update.
  const trainer = (numbers, rate = 0.01) => {
    const [mean, square] = [new Float64Array(COUNT), new Float64Array(COUNT)];
    let step = 0;
    return (batch) => {
      const { loss, right, gradients } = lossAndGradients(numbers, batch);
      step += 1;
      const [seen1, seen2] = [1 - 0.9 ** step, 1 - 0.999 ** step];
      for (let k = 0; k < COUNT; k++) {
        const g = gradients[k];
        mean[k] = 0.9 * mean[k] + 0.1 * g;
        square[k] = 0.999 * square[k] + 0.001 * g * g;
        numbers[k] -= (rate * (mean[k] / seen1)) / (Math.sqrt(square[k] / seen2) + 1e-8);
      }
      return { step, loss, right };
    };
  };

  // Numbers above 0 and below 1: mulberry32.
  const generator = (seed) => {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
    };
  };
  const normal = (random) => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

  // As helpers.transformer.init_transformer, with other random numbers.
  const initial = (random) => {
    const numbers = new Float64Array(COUNT);
    for (const [name, part] of Object.entries(named(numbers))) {
      const std = name.endsWith("W_O") ? 0.02 / Math.sqrt(2 * LAYERS) : 0.02;
      for (let k = 0; k < part.length; k++)
        part[k] = name.endsWith("gain") ? 1 : std * normal(random);
    }
    return numbers;
  };

  // A row of 6 to 12 different tokens, repeated. A position counts if its target
  // follows from the earlier tokens.
  const sequence = (random) => {
    const period = 6 + Math.floor(7 * random());
    const row = Array.from({ length: VOCAB }, (_, k) => k);
    for (let k = VOCAB - 1; k > 0; k--) {
      const other = Math.floor((k + 1) * random());
      [row[k], row[other]] = [row[other], row[k]];
    }
    const places = Array.from({ length: LENGTH }, (_, t) => t);
    return {
      tokens: places.map((t) => row[t % period]),
      targets: places.map((t) => row[(t + 1) % period]),
      where: places.map((t) => t >= period),
    };
  };

  // The worker's program. It reports each step, with the weights after it.
  const serve = (scope) => {
    scope.onmessage = ({ data: { seed, steps, size } }) => {
      const random = generator(seed);
      const numbers = initial(random);
      const take = trainer(numbers);
      for (let step = 1; step <= steps; step++) {
        const batch = Array.from({ length: size }, () => sequence(random));
        scope.postMessage({ ...take(batch), numbers });
      }
    };
  };

  return {
    ...{ VOCAB, LENGTH, WIDTH, LAYERS, HEADS, COUNT },
    ...{ named, unpack, forward, largest },
    ...{ lossAndGradients, trainer, generator, initial, sequence, serve },
  };
};
