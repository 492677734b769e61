#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';

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

// An older Node cannot be told of an authority while it runs; the one that the project brings can.
const pinned = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const { SVC_CA_CERT, XDG_CONFIG_HOME, HOME } = process.env;
/** Whether a context has an authority of its own (`src/cli/contexts/file.ts`): which one counts is found out later. */
const ofContext = () => {
  try {
    return readFileSync(join(XDG_CONFIG_HOME || join(HOME, '.config'), 'svc', 'contexts.json'), 'utf8').includes('"ca_cert"');
  } catch {
    return false;
  }
};
const isOld = typeof tls.setDefaultCACertificates !== 'function';
const names = isOld && (!!SVC_CA_CERT || process.argv.some((arg) => /^--ca-cert(=|$)/.test(arg)) || ofContext());
if (names && existsSync(pinned)) {
  const child = spawn(pinned, process.argv.slice(1), { stdio: 'inherit' });
  // Ctrl-C at a terminal reaches both by itself.
  const relay = (signal) => (signal !== 'SIGINT' || process.stdin.isTTY !== true) && child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, relay);
  child.once('error', (error) => refuse(`cannot run ${pinned}: ${error.message}`));
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
} else await import(main.href);
