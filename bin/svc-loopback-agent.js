#!/usr/bin/env node
import { existsSync } from 'node:fs';

const main = new URL('../dist/src/loopback/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('svc-loopback-agent: not built yet: run `npm run build` first\n');
  process.exit(1);
}
await import(main.href);
