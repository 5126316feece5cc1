// Where the page begins: the token first, then the store, then everything that is seen.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { asProblem } from "./api/problem";
import { enter } from "./api/token";
import { store } from "./live/store";
import { applyTheme } from "./shell/theme";
import "./styles.css";

async function begin(): Promise<void> {
  applyTheme();
  const root = document.getElementById("app");
  if (root === null) return;
  let why: string | null = null;
  try {
    await enter();
  } catch (error) {
    why = asProblem(error).detail;
  }
  store.start();
  createRoot(root).render(
    <StrictMode>
      <App why={why} />
    </StrictMode>,
  );
}

void begin();
