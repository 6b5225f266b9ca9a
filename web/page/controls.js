/** Settings as controls, by the program's names; what is left empty has the program's default. */
import * as address from "./address.js";
import { element } from "./dom.js";

const CHOICES = {
  activation: ["relu", "leaky-relu", "elu", "selu", "gelu", "gelu-tanh", "silu", "mish", "tanh", "sigmoid", "identity"],
  optimizer: ["sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"],
  "lr-schedule": ["constant", "step", "exponential", "cosine", "onecycle", "coslog4"],
  schedule: ["plain", "fused", "two-dispatch"],
  preset: ["plain", "table"],
  device: ["auto", "gpu", "cpu"],
};
/** Settings whose values are not one number. */
const TEXTS = new Set(["hidden", "dropout", "betas"]);
const DEVICE_HELP = "What trains: a GPU by WebGPU, or the CPU engine in WebAssembly. [default: auto]\n\n" +
  "auto takes WebGPU where it is a GPU; gpu also takes an adapter that computes on the processor.";

/** @param {string} text of the program, whose options are settings here */
const withoutDashes = text => text.replaceAll("--", "");

/**
 * Controls of settings.
 * @param {string} prefix of their ids
 * @param {string[]} names of settings; "device" is one of the page
 * @param {Record<string, {default: string|null, help: string}>} help of all settings
 * @param {Record<string, string>} defaults shown where a control is empty
 * @param {Record<string, string>} [begun] values that controls begin with
 */
export function controls(prefix, names, help, defaults, begun = {}) {
  const fields = new Map(names.map(name => [name, field(`${prefix}-${name}`, name, help[name], defaults[name], begun[name])]));
  const all = element("div", { class: "fields" }, ...[...fields.values()].map(field => field.box));
  return {
    element: all,
    /** What is set, as the module takes it, and the device. */
    read() {
      const settings = {};
      for (const [name, { input }] of fields) {
        input.removeAttribute("aria-invalid");
        const value = input.value.trim();
        if (value !== "" && name !== "device") settings[name] = isNumber(name, value) ? Number(value) : value;
      }
      return { settings, device: fields.get("device")?.input.value || "auto" };
    },
    /** Marks the control that an error names, if one does. @param {string} message */
    blame(message) {
      const found = [...fields].find(([name]) => message.startsWith(`${name}:`) || message.includes(`${name} `));
      found?.[1].input.setAttribute("aria-invalid", "true");
      if (found && message.startsWith(`${found[0]}:`)) found[1].input.focus();
    },
    /** @param {boolean} isOff */
    disable(isOff) {
      for (const { input } of fields.values()) input.disabled = isOff;
    },
  };
}

const isNumber = (name, value) =>
  !TEXTS.has(name) && value !== "" && Number.isFinite(Number(value)) && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER;

function field(id, name, about, shown, begun) {
  const text = name === "device" ? DEVICE_HELP : about?.help ?? "";
  const input = CHOICES[name] ? select(id, name, shown) : entry(id, name, shown);
  input.value = address.given(name) ?? begun ?? (name === "device" ? "auto" : "");
  const note = element("p", { id: `${id}-help`, class: "help", hidden: true }, withoutDashes(text));
  const toggle = element("button", {
    type: "button", class: "ask", "aria-expanded": "false", "aria-controls": note.id, "aria-label": `What is ${name}?`,
    onclick() {
      note.hidden = !note.hidden;
      toggle.setAttribute("aria-expanded", String(!note.hidden));
    },
  }, "?");
  const box = element("div", { class: "field" },
    element("div", { class: "name" }, element("label", { for: id }, name), toggle), input, note);
  return { box, input };
}

function select(id, name, shown) {
  const usual = name === "device" ? [] : [element("option", { value: "" }, shown ? `default: ${shown}` : "default")];
  return element("select", { id, name }, ...usual, ...CHOICES[name].map(value => element("option", { value }, value)));
}

function entry(id, name, shown) {
  const mode = TEXTS.has(name) ? "text" : "decimal";
  return element("input", { id, name, type: "text", inputMode: mode, placeholder: shown ?? "default", autocomplete: "off", spellcheck: false });
}

/**
 * The default of a setting for plain runs, out of what the program says of it.
 * @param {Record<string, {default: string|null}>} help
 */
export const plainDefaults = help =>
  Object.fromEntries(Object.entries(help).map(([name, about]) => [name, about.default?.split(/; ?|, (?=for )/)[0] ?? "none"]));
