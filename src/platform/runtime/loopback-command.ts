import { fileURLToPath } from 'node:url';

/** How the shipped agent is started: built, or from the sources in tests and in development. */
export function loopbackCommand(): { readonly command: string; readonly args: readonly string[] } {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  if (import.meta.url.endsWith('.js')) return { command: process.execPath, args: [here('../../loopback/main.js')] };
  return { command: process.execPath, args: ['--import', here('../../../scripts/typescript.mjs'), here('../../loopback/main.ts')] };
}

/** The name by which configurations call it. */
export const LOOPBACK_COMMAND = 'svc-loopback-agent';
