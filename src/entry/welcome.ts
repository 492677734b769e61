import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AppConfig } from '../platform/config/config.js';
import type { Walls } from './processes/messages.js';
import { keyFile } from './schema.js';
import { calledAt } from './service.js';

/** Prints what a person at a terminal needs after the start. Behind an orchestrator the log says the same. */
export function welcome(config: AppConfig, url: string, cwd: string, { kind, why }: Walls): void {
  if (config.role !== 'all') {
    console.log(`${config.role} ready on ${url}`);
    return;
  }
  const svc = client(cwd);
  // The configured address comes first: the service answers only to known host names, and a certificate is valid for some names only.
  const called = config.apiUrl ?? calledAt(url);
  const lines = [
    '',
    `  supervisor is ready${config.databaseUrl === undefined ? '' : ' (database: SVC_DATABASE_URL)'}`,
    '',
    `  Page    ${called}/ui/`,
    `  API     ${called}`,
    `  Guide   ${called}/guide`,
    `  Docs    ${called}/docs`,
    `  Data    ${config.dataDir}`,
    `  Agents  ${kind === 'none' ? `NOT isolated, they can do what you can: ${why ?? 'SVC_RUNNER_ISOLATION=none'}` : `isolated by ${kind}`}`,
    ...(config.auth === 'keys' ? [`  Key     ${firstKey(keyFile(config))}`] : []),
    ...(config.readOnly ? ['', '  read only: open to the network without keys; set SVC_AUTH=keys to allow changes'] : []),
    '',
    ...(config.dataDir === join(cwd, '.svc') ? [] : [`  export SVC_DATA_DIR=${quoted(config.dataDir)}`]),
    ...(config.readOnly ? [] : [`  ${svc} city create demo --provider loopback`]),
    `  ${svc} events --follow`,
    '',
    '  Ctrl-C stops it.',
    '',
  ];
  console.log(lines.join('\n'));
}

/** The key file is made only once. A file that was removed is not named as if it were there. */
function firstKey(file: string): string {
  return existsSync(file) ? file : `${file} is not there any more; docs/how-to/keys.md says how to make another`;
}

/** The command line of the client without an installation: `npm run` would cost seconds for each call. */
function client(cwd: string): string {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  // Built, this file lies one folder deeper than in the sources.
  const path = [here('../../../bin/svc'), here('../../bin/svc')].find((file) => existsSync(file)) ?? 'svc';
  const near = relative(cwd, path);
  return quoted(near.startsWith('..') ? path : near);
}

const quoted = (word: string): string => (/^[\w./@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
