#!/usr/bin/env node
import { existsSync } from 'node:fs';

// `engines` of package.json. An older Node would end somewhere in the middle, with words that help nobody.
const NEEDED = 20;
const main = new URL('../dist/src/cli/main.js', import.meta.url);
const refuse = (why) => {
  process.stderr.write(`svc: ${why}\n`);
  process.exit(1);
};
if (parseInt(process.versions.node, 10) < NEEDED)
  refuse(`needs Node.js ${NEEDED} or newer, and this is ${process.versions.node} (${process.execPath})`);
if (!existsSync(main)) refuse('not built yet: run `npm run build` first');
await import(main.href);
