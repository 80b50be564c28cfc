// Numbers as readers write them, by the rules of course/questions/numerals.py.

const LONGEST = 100; // characters
const DEEPEST = 20; // brackets or functions in another
const HOW_TO_TYPE = "Type one number in each field, such as 0.25, 5/8 or 2 ln 3.";
export const POINT = "A comma groups thousands, as in 7,241.7. Decimals follow a point.";
const NAN = "NaN comes from 0/0, inf - inf or 0 * inf.";
const TOO_LONG = `At most ${LONGEST} characters can be read.`;
const TOO_DEEP = `At most ${DEEPEST} brackets or functions can be in one another.`;
const BESIDE = "What is between the two numbers that stand side by side?";
const DIVIDED = "Put brackets around what the fraction bar divides by.";
const OPEN = "A bracket is not closed.";
const CLOSED = "A bracket is closed that was not opened.";
const EMPTY = "Nothing is in the brackets.";
const BY_ZERO = "A division by 0 has no value.";
const NO_VALUE = "That has no value, or too large a one.";
const WHICH_LOG = "Write ln for the natural logarithm, and log2 or log10 for others.";

// Not \s, by which Python means other characters.
const BLANK = "[ \\t\\n\\r\\u00a0\\u2009\\u202f]";
const TOKEN = new RegExp(
  `${BLANK}*([0-9.,]+(?:[eE][+-]?[0-9]+)?|log(?:10|2)(?![0-9])|[A-Za-z]+|\\*\\*|.)`,
  "gsu",
);
const NOTHING = new RegExp(`^${BLANK}*$`);
const DECIMAL =
  /^(?:(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?$/;
const TIMES = ["*", "×", "·", "⋅"];
const OVER = ["/", "÷"];
const POWER = ["^", "**"];
const OPERATORS = [...TIMES, ...OVER, ...POWER, "+", "-"];
const CONSTANTS = new Map([
  ["e", Math.E],
  ["pi", Math.PI],
  ["π", Math.PI],
]);
const FUNCTIONS = new Map([
  ["sqrt", Math.sqrt],
  ["√", Math.sqrt],
  ["exp", Math.exp],
  ["ln", Math.log],
  ["log2", Math.log2],
  ["log10", Math.log10],
  ["sin", Math.sin],
  ["cos", Math.cos],
  ["tan", Math.tan],
  ["tanh", Math.tanh],
]);

class Unread extends Error {}
const unread = (why) => {
  throw new Unread(why);
};

export const isBlank = (text) => NOTHING.test(text);
const tokensOf = (text) => {
  const plain = text.replace(/[−–]/g, "-").replace(new RegExp(`${BLANK}+$`), "");
  return [...plain.matchAll(TOKEN)].map(([, token]) => token);
};
// How many decimals a plain number has, or null for an expression.
export const digitsOf = (text) => {
  const tokens = tokensOf(text);
  const signed = tokens[0] === "+" || tokens[0] === "-";
  const found = tokens.length === 1 + signed && DECIMAL.exec(tokens.at(-1));
  if (!found) return null;
  const [, behind, alone, exponent = "0"] = found;
  return (behind || alone || "").length - Number(exponent);
};

const finite = (value) => (Number.isFinite(value) ? value : unread(NO_VALUE));

// Each of these rules reads a part of the tokens. A sum has products, a product
// powers, and a power operands. A function without brackets is of the one number
// behind it.
const valueOf = (tokens) => {
  let at = 0;
  let depth = 0;
  let bare = ""; // the function that was just read without brackets
  const isNext = (wanted) => wanted.includes(tokens[at]);
  const take = (...wanted) => (isNext(wanted) ? tokens[at++] : undefined);
  const odd = () => {
    const token = tokens[at];
    const before = tokens[at - 1];
    if (before === "(" && token === undefined) return OPEN;
    if (before === "(" && token === ")") return EMPTY;
    const ends = token === undefined || (token === ")" && OPERATORS.includes(before));
    if (ends || OPERATORS.includes(token))
      return before === undefined || before === "("
        ? `A number is missing before “${token}”.`
        : `A number is missing after “${before}”.`;
    if (token === ")") return CLOSED;
    if (token.includes(",") || token.split(".").length > 2) return POINT;
    if (token.toLowerCase() === "nan") return NAN;
    if (token.toLowerCase() === "log") return WHICH_LOG;
    return `“${token}” cannot be read. ${HOW_TO_TYPE}`;
  };
  const unclear = () => `Put brackets around what ${bare} is of.`;
  const named = () => (tokens[at] ?? "").toLowerCase();
  const isNumber = () => DECIMAL.test(tokens[at] ?? "");
  const begins = () => isNext(["("]) || CONSTANTS.has(named()) || FUNCTIONS.has(named());
  const deeper = (rule) => {
    if (++depth > DEEPEST) unread(TOO_DEEP);
    const value = rule();
    depth--;
    return value;
  };
  const sum = () => {
    let value = product();
    for (let sign; (sign = take("+", "-"));)
      value = finite(value + product() * (sign === "-" ? -1 : 1));
    return value;
  };
  const product = () => {
    let value = signed();
    let divided = false;
    while (at < tokens.length) {
      if (take(...TIMES)) {
        value = finite(value * signed());
        divided = false;
      } else if (take(...OVER)) {
        const below = signed();
        if (below === 0) unread(BY_ZERO);
        value = finite(value / below);
        divided = true;
      } else if (begins()) {
        if (bare) unread(unclear());
        if (divided) unread(DIVIDED);
        value = finite(value * power());
      } else if (isNumber()) unread(BESIDE);
      else break;
    }
    return value;
  };
  const signed = () => (take("+", "-") === "-" ? -power() : power());
  const power = () => {
    let base = operand();
    if (take("%")) base /= 100;
    if (!isNext(POWER)) return base;
    if (bare) unread(unclear());
    at++;
    return finite(base ** deeper(signed));
  };
  const operand = () => {
    bare = "";
    if (isNumber()) return finite(Number(tokens[at++].replaceAll(",", "")));
    const name = named();
    if (CONSTANTS.has(name)) {
      at++;
      return CONSTANTS.get(name);
    }
    if (FUNCTIONS.has(name)) return called(name);
    if (!take("(")) unread(odd());
    const value = deeper(sum);
    if (!take(")")) unread(at < tokens.length ? odd() : OPEN);
    bare = "";
    return value;
  };
  const called = (name) => {
    at++;
    const alone = !isNext(["("]);
    if (!begins() && !isNumber()) unread(`${name} of what?`);
    const value = deeper(operand);
    bare = alone ? name : "";
    return finite(FUNCTIONS.get(name)(value));
  };
  const value = sum();
  return at < tokens.length ? unread(odd()) : value;
};

// The value of a text, or in words why it has none.
export const read = (text) => {
  try {
    if ([...text].length > LONGEST) unread(TOO_LONG);
    return { value: valueOf(tokensOf(text)) };
  } catch (error) {
    if (error instanceof Unread) return { value: null, why: error.message };
    throw error;
  }
};
export const parse = (text) => read(text).value;
