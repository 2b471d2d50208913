// node e2e/run.mjs STORY: one story in the browser, against the server at CONSOLE_URL.
const [name] = process.argv.slice(2);
try {
  const { default: tell } = await import(`./${name}.mjs`);
  await tell();
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
