import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { CSP } from "./csp.mjs";

const server = process.env.SUANLI_URL ?? "http://127.0.0.1:8080";
const proxy = { "/v1": { target: server, ws: true } };

export default defineConfig({
  plugins: [react()],
  server: { port: 5190, proxy },
  // The built console under the very policy that the real server sends.
  preview: { port: 5191, proxy, headers: { "Content-Security-Policy": CSP } },
  build: {
    target: "es2022",
    // A data: URL would need a wider policy for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    chunkSizeWarningLimit: 1200,
  },
  test: { environment: "node", include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
