// From the configuration of a model to its layers, as in course.cards.

import { known } from "../kit/common.js";

// FLOPs for each number of a state, unless the rule is a simpler one.
const STATE_FLOPS = 7;
// Which keys are read, passed over or refused, from course.cards.
const { rules: RULES } = known("card");
const { FULL, SLIDING, CHUNKED, LINEAR, INDEXED, OTHER } = RULES.types;
export const isMap = (x) => x !== null && typeof x === "object" && !Array.isArray(x);
const isNumber = (x) => typeof x === "number";
const own = (map, key) => (Object.hasOwn(map, key) ? map[key] : undefined);
const has = (map, key) => Object.hasOwn(map, key);
const isOneOf = (config, names) => names.includes(own(config, "model_type"));
const fully = (patterns) => new RegExp(`^(?:${patterns.join("|")})$`);
export class Refused extends Error {}
export const refuse = (rule, got) => {
  throw new Refused(`config must ${rule}; got ${got}`);
};
const refuseKeys = (names) => {
  const shown = names.slice(0, 6).concat(names.length > 6 ? [`and ${names.length - 6} more`] : []);
  refuse(`be without ${shown.join(", ")}, which no rule counts`, names.length > 1 ? "them" : "it");
};

const sizeOf = (config, key, most = RULES.widest, otherwise = undefined) => {
  const value = own(config, key) ?? otherwise;
  if (value === undefined) refuse(`state ${key}`, "no such key");
  if (!isNumber(value)) refuse(`have a number as ${key}`, "something else");
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    refuse(`have ${key} from 1 to ${most}, whole`, value);
  return value;
};
const indicesIn = (config, key, L) => {
  const given = own(config, key) ?? [];
  const isIndex = (i) => Number.isInteger(i) && i >= 0 && i < L;
  if (!Array.isArray(given) || !given.every(isIndex))
    refuse(`list layers from 0 to ${L - 1} in ${key}`, "something else");
  return given;
};

const inner = (config) => {
  const part = RULES.parts.find((key) => isMap(own(config, key)));
  return part ? inner(config[part]) : config;
};
const byType = (config) => {
  const type = own(config, "model_type");
  const values = (typeof type === "string" && own(RULES.filled, type)) || {};
  return Object.fromEntries(Object.entries(values).filter(([key]) => !has(config, key)));
};
// An indexer's keys that a file states in a part of their own.
const flat = (config) => {
  const given = own(config, RULES.sparse) ?? {};
  if (!isMap(given)) refuse(`have keys in ${RULES.sparse}`, "something else");
  const more = {};
  for (const [key, name] of Object.entries(RULES.blocks).filter(([, other]) => has(given, other))) {
    more[key] = given[name];
    if (has(config, key) && config[key] !== given[name])
      refuse(`have one value for ${key} and ${name}`, "two");
  }
  if (has(given, "sparse_attention_freq") && !has(config, "layer_types")) {
    const freq = given.sparse_attention_freq;
    if (!Array.isArray(freq) || !freq.every((x) => x === 0 || x === 1))
      refuse("have 0 or 1 in sparse_attention_freq", "others");
    more.layer_types = freq.map((x) => (x ? "minimax_m3_sparse" : FULL));
  }
  return more;
};
const textOf = (given) => {
  const stated = Object.entries({ ...byType(inner(given)), ...inner(given) });
  const config = Object.fromEntries(stated.filter(([, value]) => value !== null));
  for (const [name, others] of Object.entries(RULES.names)) {
    const keys = [name, ...others].filter((key) => has(config, key));
    const numbers = new Set(keys.map((key) => config[key]).filter(isNumber));
    if (numbers.size > 1) refuse(`have one value for ${keys.join(" and ")}`, "two");
    if (keys.length) config[name] = config[keys[0]];
  }
  return isOneOf(config, ["minimax_m3_vl_text"]) ? { ...config, ...flat(config) } : config;
};

const MATTERS = fully([RULES.matters]);
const IDLE = fully(RULES.idle);
const FIXED = fully([...RULES.idle, ...RULES.fixed]);
const IDLE_OF = Object.fromEntries(
  Object.entries(RULES.idle_of).map(([type, patterns]) => [type, fully(patterns)]),
);
const ofType = (config, table) => {
  const type = own(config, "model_type");
  return typeof type === "string" ? own(table, type) : undefined;
};
const KNOWN = [...RULES.read, ...Object.values(RULES.names).flat()];
const bears = (name) => MATTERS.test(name.slice(name.lastIndexOf(".") + 1));
const changesNothing = (key, value) =>
  (key === "use_bidirectional_attention" && value === "vision") ||
  !value ||
  (Array.isArray(value) && !value.length) ||
  (isMap(value) && !Object.keys(value).length);
const strange = (config, path = "", top = config) => {
  const latent = has(top, "kv_lora_rank") ? RULES.latent_keys : [];
  const counted = [...KNOWN, ...latent, ...(ofType(top, RULES.keys_of) ?? [])];
  const idle = RULES.lists.some((key) => has(top, key)) ? FIXED : IDLE;
  const passed = (name) => idle.test(name) || ofType(top, IDLE_OF)?.test(name);
  return Object.entries(config).flatMap(([key, value]) => {
    const name = path + key;
    const mine = counted.includes(name);
    if (changesNothing(key, value)) return [];
    if (!mine && !RULES.latent_keys.includes(name) && passed(name)) return [];
    if (isMap(value) && (mine || !bears(key))) return strange(value, `${name}.`, top);
    return mine ? [] : [name];
  });
};
export const unreadOf = (config) => {
  const names = strange(textOf(config));
  return [...names.filter(bears), ...names.filter((name) => !bears(name))];
};

const along = (L, of) => Array.from({ length: L }, (_, i) => of(i));
const every = (n, L, other) => along(L, (i) => ((i + 1) % n ? other : FULL));
const listed = (config, key, L, repeat = false) => {
  const names = config[key];
  if (!Array.isArray(names) || !names.length || (names.length !== L && !repeat))
    refuse(`have a name in ${key} for each layer`, "others");
  const kinds = ofType(config, RULES.kinds_of) ?? RULES.kinds;
  if (!names.every((name) => typeof name === "string" && has(kinds, name)))
    refuse(`have ${Object.keys(kinds).join(", ")} in ${key}`, "another");
  return along(L, (i) => kinds[names[i % names.length]]);
};
const ordered = (config, L) => {
  const kinds = RULES.orders
    .filter((key) => has(config, key))
    .map((key) => {
      const names = typeof config[key] === "string" ? Array.from(config[key]) : config[key];
      return listed({ ...config, [key]: names }, key, L);
    });
  if (kinds.some((other) => other.some((kind, i) => kind !== kinds[0][i])))
    refuse("list the same layers in each way", "others");
  return kinds[0];
};
const amongConvolutions = (config, L) => {
  const full = indicesIn(config, "full_attn_idxs", L);
  return along(L, (i) => (full.includes(i) ? FULL : OTHER));
};
const deltaPlaces = ({ linear_attn_config: given }, L) => {
  const places = isMap(given) ? own(given, "kda_layers") : undefined;
  if (!Array.isArray(places)) refuse("list kda_layers in linear_attn_config", "no list");
  if (!places.every(isNumber)) refuse("have numbers in kda_layers", "something else");
  return along(L, (i) => (places.includes(i + 1) ? LINEAR : FULL));
};
const chunks = (config, L) => {
  const rotates = own(config, "no_rope_layers") ?? [];
  if (Array.isArray(rotates) && !rotates.length)
    return every(sizeOf(config, "no_rope_layer_interval", RULES.longest), L, CHUNKED);
  const fits = (x) => x === 0 || x === 1;
  if (!Array.isArray(rotates) || rotates.length !== L || !rotates.every(fits))
    refuse("have 0 or 1 in no_rope_layers for each layer", "others");
  return rotates.map((x) => (x ? CHUNKED : FULL));
};
const statedIn = (config, L) => {
  const nth = (key, other) => every(sizeOf(config, key, RULES.longest), L, other);
  if (isOneOf(config, RULES.mamba) && RULES.orders.some((key) => has(config, key)))
    return ordered(config, L);
  if (has(config, "layer_types")) return listed(config, "layer_types", L);
  if (has(config, "linear_attn_config")) return deltaPlaces(config, L);
  if (has(config, "full_attention_interval")) return nth("full_attention_interval", LINEAR);
  if (has(config, "block_types")) {
    const windows = has(config, "sliding_window");
    const kinds = listed(config, "block_types", L, true);
    return kinds.map((kind) => (windows && kind === FULL ? SLIDING : kind));
  }
  if (has(config, "full_attn_idxs")) return amongConvolutions(config, L);
  if (isOneOf(config, RULES.mixed) && !RULES.places.some((key) => has(config, key)))
    refuse("say in layer_types which layers are of which kind", "no list");
  if (isOneOf(config, RULES.dsa)) return along(L, () => INDEXED);
  const window = has(config, "sliding_window") && own(config, "use_sliding_window") !== false;
  if (!window && !has(config, "attention_chunk_size")) return along(L, () => FULL);
  if (has(config, "attention_chunk_size") && has(config, "no_rope_layer_interval"))
    return chunks(config, L);
  if (has(config, "sliding_window_pattern")) return nth("sliding_window_pattern", SLIDING);
  if (own(config, "use_sliding_window") === true && has(config, "max_window_layers")) {
    const n = config.max_window_layers;
    if (!isNumber(n)) refuse("have a number as max_window_layers", "something else");
    return along(L, (i) => (i >= n ? SLIDING : FULL));
  }
  if (isOneOf(config, RULES.all_sliding)) return along(L, () => SLIDING);
  return refuse("say in layer_types which layers have a window", "no list");
};
const sharing = (config, L) => {
  const last = [undefined, 0, false].includes(own(config, "num_kv_shared_layers"))
    ? 0
    : sizeOf(config, "num_kv_shared_layers", L - 1);
  const each = [undefined, false].includes(own(config, "use_cla"))
    ? 1
    : sizeOf(config, "cla_share_factor", L);
  return along(L, (i) => i >= L - last || i % each > 0);
};
// Which layers have an indexer; the others read what the last one chose.
const choosing = (config, L) => {
  if (!isOneOf(config, ["glm_moe_dsa"])) return along(L, () => true);
  const [names, letters, ...places] = RULES.choices;
  const key = [names, letters].find((name) => has(config, name));
  if (!key) {
    const [n, first] = places.map((name) => sizeOf(config, name, RULES.longest));
    return along(L, (i) => Math.max(i - first + 1, 0) % n === 0);
  }
  const given = config[key];
  const named = { F: "full", S: "shared" };
  const all = typeof given === "string" ? Array.from(given, (x) => own(named, x)) : given;
  const fits = Array.isArray(all) && all.length === L;
  if (!fits || !all.every((name) => ["full", "shared"].includes(name)))
    refuse(`have full or shared in ${key} for each layer`, "others");
  if (all[0] !== "full") refuse(`begin with full in ${key}`, "shared");
  return all.map((name) => name === "full");
};

// What a layer has besides its sizes: no indexer, and states that correct.
const PLAIN = { chosen: null, index: 0, index_pair: 0, update: STATE_FLOPS };
const statedHeads = (config) => {
  const latest = own(config, "new_decoder_architecture") === true;
  if (own(config, "multi_query") === true && !latest) return 1;
  const keys = ["num_key_value_heads", "num_kv_heads"];
  if (own(config, "multi_query_attention") === true) keys.push("multi_query_group_num");
  const stated = keys.filter((key) => has(config, key));
  const numbers = new Set(stated.map((key) => sizeOf(config, key, 1024)));
  if (numbers.size > 1) refuse(`have one value for ${stated.join(" and ")}`, "two");
  return [...numbers][0];
};
const kvHeads = (config, H) => {
  const stated = statedHeads(config);
  const alone = !has(config, "model_type") || isOneOf(config, RULES.own);
  if (stated === undefined && !alone) refuse("state num_key_value_heads", "no such key");
  return stated ?? H;
};
const plainOf = (config, type, shared) => {
  const d = sizeOf(config, "hidden_size");
  const H = sizeOf(config, "num_attention_heads", 1024);
  let n = kvHeads(config, H);
  if (!has(config, "head_dim") && d % H)
    refuse("state head_dim where heads do not divide the width", "none");
  let wide = sizeOf(config, "head_dim", 1024, d / H);
  const alike = type === FULL && own(config, "attention_k_eq_v");
  if (type === FULL) {
    // Gemma 4 reads it only where keys are values; others have no such key.
    if (alike !== false) n = sizeOf(config, "num_global_key_value_heads", 1024, n);
    wide = sizeOf(config, "global_head_dim", 1024, wide);
  }
  if (H % n) refuse("have key/value heads that divide the query heads", n);
  const gated = (own(config, "attn_output_gate") ?? isOneOf(config, RULES.gated)) === true;
  const key = { [SLIDING]: "sliding_window", [CHUNKED]: "attention_chunk_size" }[type];
  const reach = key ? sizeOf(config, key, 2 ** 24) : null;
  const values = shared ? 0 : alike === true ? 1 : 2;
  return {
    kind: shared ? "shared" : reach === null ? "global" : "window",
    parameters: d * wide * ((gated ? 3 : 2) * H + values * n),
    width: 2 * n * wide,
    reach,
    state: 0,
    pair: 4 * H * wide,
    ...PLAIN,
  };
};

const latentOf = (config) => {
  if (has(config, "model_type") && !isOneOf(config, RULES.latent))
    refuse(`be of ${RULES.latent.join(", ")} where keys are latent`, "another");
  const d = sizeOf(config, "hidden_size");
  const H = sizeOf(config, "num_attention_heads", 1024);
  const r = sizeOf(config, "kv_lora_rank");
  const rope = sizeOf(config, "qk_rope_head_dim", 1024);
  const plain = sizeOf(config, "qk_nope_head_dim", 1024);
  const v = sizeOf(config, "v_head_dim", 1024);
  let queries = d * H * (plain + rope);
  if (has(config, "q_lora_rank"))
    queries = sizeOf(config, "q_lora_rank") * (d + H * (plain + rope));
  const outputs = (own(config, "mla_use_output_gate") === true ? 2 : 1) * H * v;
  return {
    kind: "latent",
    parameters: queries + d * (r + rope) + r * H * (plain + v) + outputs * d,
    width: r + rope,
    reach: null,
    state: 0,
    pair: 2 * H * (r + rope + r),
    ...PLAIN,
  };
};

const withIndex = (layer, config, chosen, rows) => {
  const d = sizeOf(config, "hidden_size");
  const wide = sizeOf(config, "index_head_dim", 1024);
  const pairs = sizeOf(config, "index_n_heads", 1024) * wide;
  const parameters = layer.parameters + rows * pairs + d * wide;
  return { ...layer, parameters, chosen, index: wide, index_pair: 2 * pairs };
};
const indexedOf = (config, chooses) => {
  if (!has(config, "kv_lora_rank")) {
    const size = sizeOf(config, "index_block_size");
    const blocks = sizeOf(config, "index_topk_blocks");
    if (sizeOf(config, "index_local_blocks") > blocks)
      refuse("choose the blocks nearby too", "more of these");
    return withIndex(plainOf(config, FULL, false), config, blocks * size, config.hidden_size);
  }
  const chosen = sizeOf(config, "index_topk", 2 ** 24);
  const layer = latentOf(config);
  if (!chooses) return { ...layer, chosen };
  const more = withIndex(layer, config, chosen, sizeOf(config, "q_lora_rank"));
  const weights = config.hidden_size * config.index_n_heads;
  return { ...more, parameters: more.parameters + weights };
};

const mambaOf = (config) => {
  if ((own(config, "mamba_ssm_cache_dtype") ?? "float32") !== "float32")
    refuse("keep states in float32", "another mamba_ssm_cache_dtype");
  const d = sizeOf(config, "hidden_size");
  const H = sizeOf(config, "mamba_num_heads", 1024);
  const wide = H * sizeOf(config, "mamba_head_dim", 1024);
  const n = sizeOf(config, "ssm_state_size", 1024);
  const groups = sizeOf(config, "n_groups", 1024);
  const parameters = d * (2 * wide + 2 * groups * n + H) + wide * d;
  return {
    ...{ kind: "state", parameters, width: 0, reach: null, state: wide * n, pair: 0 },
    ...{ ...PLAIN, update: RULES.mamba_flops },
  };
};

const stateOf = (config) => {
  if (isOneOf(config, RULES.mamba)) return mambaOf(config);
  const d = sizeOf(config, "hidden_size");
  const made = (parameters, state) => ({
    ...{ kind: "state", parameters, width: 0, reach: null, state, pair: 0 },
    ...PLAIN,
  });
  if (isOneOf(config, RULES.delta)) {
    const [keys, values, d_k, d_v] = RULES.state_keys.map((key) => sizeOf(config, key, 1024));
    return made(d * (2 * keys * d_k + 3 * values * d_v + 2 * values), values * d_k * d_v);
  }
  if (!isOneOf(config, RULES.kimi))
    refuse(
      `be of ${[...RULES.delta, ...RULES.kimi, ...RULES.mamba].join(", ")} where a layer has a state`,
      "another",
    );
  const given = own(config, "linear_attn_config");
  const [map, start] = given === undefined ? [config, "linear_"] : [isMap(given) ? given : {}, ""];
  const [heads, wide] = ["num_heads", "head_dim"].map((key) => sizeOf(map, start + key, 1024));
  const low = wide * (d + heads * wide);
  const gate = own(map, "use_full_rank_gate") === true ? d * heads * wide : low;
  return made(4 * d * heads * wide + d * heads + low + gate, heads * wide * wide);
};

const NO_KEYS = {
  ...{ kind: "other", parameters: 0, width: 0, reach: null, state: 0, pair: 0 },
  ...PLAIN,
};
const blockOf = (config, block) => {
  const given = isMap(block) ? own(block, "attention") : undefined;
  if (!isMap(given)) refuse("state attention in each of block_configs", "no such key");
  if (own(given, "no_op") === true) return NO_KEYS;
  const more = Object.keys(given).filter(
    (key) => !changesNothing(key, given[key]) && key !== "n_heads_in_group",
  );
  if (more.length) refuseKeys(more.map((key) => `block_configs.attention.${key}`));
  const H = sizeOf(config, "num_attention_heads", 1024);
  const group = sizeOf(given, "n_heads_in_group", H);
  if (H % group) refuse("have groups that divide the query heads", group);
  return plainOf({ ...config, num_key_value_heads: H / group }, FULL, false);
};
const layerOf = (config, type, shared, chooses) => {
  const latent = has(config, "kv_lora_rank");
  if (shared && ([LINEAR, INDEXED, OTHER].includes(type) || latent))
    refuse("share keys and values of plain layers", "another layer");
  if (type === OTHER) return NO_KEYS;
  if (type === LINEAR) return stateOf(config);
  if (type === INDEXED) return indexedOf(config, chooses);
  if (type === FULL && latent) return latentOf(config);
  return plainOf(config, type, shared);
};

const blocksOf = (config, L) => {
  const blocks = config.block_configs;
  if (!Array.isArray(blocks) || blocks.length !== L)
    refuse("have one of block_configs for each layer", "others");
  return blocks.map((block) => blockOf(config, block));
};
const byKind = (config, L) => {
  const list = own(config, "attn_type_list");
  const ones = Array.isArray(list) && list.length === L && list.every((x) => x === 1);
  if (!changesNothing("attn_type_list", list) && !ones) refuseKeys(["attn_type_list"]);
  const kinds = statedIn(config, L);
  for (const i of indicesIn(config, "cross_attention_layers", L)) kinds[i] = OTHER;
  const shared = sharing(config, L);
  const chooses = choosing(config, L);
  return kinds.map((kind, i) => layerOf(config, kind, shared[i], chooses[i]));
};

const ENCODERS = fully(RULES.encoders);
export const layersOf = (given) => {
  const config = textOf(given);
  const type = own(config, "model_type");
  const decodes = "be of a model that decodes, token by token";
  if (typeof type === "string" && ENCODERS.test(type)) refuse(decodes, type);
  for (const key of ["is_causal", "causal_attn"])
    if (own(config, key) === false) refuse(decodes, `no ${key}`);
  const odd = strange(config).filter(bears);
  if (odd.length) refuseKeys(odd);
  const latent = isOneOf(config, RULES.latent) && own(config, "use_mla") !== false;
  if (latent && !has(config, "kv_lora_rank")) refuse("state kv_lora_rank", "no such key");
  const L = sizeOf(config, "num_hidden_layers", RULES.longest);
  const layers = has(config, "block_configs") ? blocksOf(config, L) : byKind(config, L);
  if (layers.every(({ kind }) => kind === "other"))
    refuse("have a layer that attends to the text", "none");
  return layers;
};

// What the file does not state, with the value that the code of this type of
// model has.
export const filledIn = (given) => {
  const config = textOf(given);
  const isListed = RULES.lists.some((key) => has(config, key));
  const isChosen = RULES.choices.slice(0, 2).some((key) => has(config, key));
  const more = Object.entries(byType(inner(given))).filter(
    ([key]) =>
      !(isListed && RULES.places.includes(key)) && !(isChosen && RULES.choices.includes(key)),
  );
  if (!has(config, "kv_lora_rank") && !has(config, "block_configs")) {
    const { hidden_size: d, num_attention_heads: H } = config;
    if (statedHeads(config) === undefined) more.push(["num_key_value_heads", H]);
    if (!has(config, "head_dim")) more.push(["head_dim", d / H]);
  }
  return more.map(([key, value]) => `${key} ${value}`);
};

// The keys that decide the layers, as a short text for an address.
export const briefOf = (given) => {
  const config = inner(given);
  const odd = strange(textOf(given));
  const named = [...KNOWN, ...RULES.latent_keys, ...(ofType(config, RULES.keys_of) ?? [])];
  const kept = Object.entries(config).filter(([key]) => named.includes(key) || odd.includes(key));
  const brief = Object.fromEntries(kept);
  if (Array.isArray(brief.block_configs))
    brief.block_configs = brief.block_configs.map((block) => {
      const attention = Object.entries(own(block ?? {}, "attention") ?? {});
      const set = attention.filter(([key, value]) => !changesNothing(key, value));
      return { attention: Object.fromEntries(set) };
    });
  return JSON.stringify(brief);
};
