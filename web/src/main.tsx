import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import "./app/style.css";
import "./app/frame.css";
import "./app/parts.css";
import "./app/pages.css";
import { startLanguages } from "./i18n";
import { constructedSheets } from "./shell/sheets";

constructedSheets(document);

const root = document.getElementById("root");
if (root) {
  try {
    await startLanguages();
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    );
  } catch {
    // Without its words the console cannot even say in the right language what is wrong.
    root.textContent = "This page could not be loaded. Please load it again. 页面加载失败，请重新加载。";
  }
}
