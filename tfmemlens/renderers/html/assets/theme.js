// The page's frame: light or dark, and buttons that copy code.

// What fits between the margins of A4 or Letter, with the room beside the text that a screen has: pictures are drawn that wide.
const PAPER = "740px";

/** Let the button change between light and dark; what is drawn is drawn again. */
export function hearTheme(redraw) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = document.querySelector("#theme");
  const shown = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light"));
  const tell = () => (button.textContent = shown() === "dark" ? "Light" : "Dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    tell();
    redraw();
  });
  dark.addEventListener("change", () => (tell(), redraw()));
  tell();
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    document.body.style.width = PAPER;
    redraw();
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    document.body.style.width = "";
    redraw();
  });
}

/** Let the buttons beside code copy it. */
export function hearCopies() {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code").textContent;
      await copied(code);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 3000);
    });
  }
}

/** Into the clipboard, also where a page from a file may not ask for it. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const room = document.createElement("textarea");
    room.value = text;
    document.body.append(room);
    room.select();
    document.execCommand("copy");
    room.remove();
  }
}
