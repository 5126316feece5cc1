// How the pictures of the docs are made: one after the other, against the real server with a team at work.
import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

export default defineConfig({
  ...base,
  testDir: "tests/screenshots",
  workers: 1,
  timeout: 300_000,
});
