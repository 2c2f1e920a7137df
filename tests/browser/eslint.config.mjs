// The linter's settings for the page's modules.

import js from "@eslint/js";

const browser = ["window", "document", "navigator", "atob", "Blob", "Response", "DecompressionStream", "getComputedStyle", "setTimeout", "clearTimeout", "DOMParser", "Element", "HTMLElement", "URL", "URLSearchParams"];

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
    rules: { "prefer-const": "error", "no-var": "error", eqeqeq: "error", "no-control-regex": "off", "no-shadow": "error" },
  },
];
